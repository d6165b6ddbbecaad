//! What ops that write at ids share: `index_add` and the scatters.

use std::collections::HashSet;

use ndarray::{ArrayD, Dimension};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::support::moving::ids::{bad_id, dim, id_rules, writes_nothing};
use crate::ops::{Contract, ReferenceInputs, rule, why};
use crate::tensor::{DType, Tensor};

/// The drawn parts of a scatter: dtype, the shapes of `x` and `src`, the dimension, and the dtype of ids.
pub type Shapes = (DType, Vec<usize>, Vec<usize>, usize, DType);

/// Draws them.
pub fn scatter_shapes(draw: &mut Draw) -> arbitrary::Result<Shapes> {
    let x = draw.open_shape(1, 3)?;
    let dim = draw.between(0, x.len() - 1)?;
    let mut src = x.clone();
    if draw.one_in(2)? {
        src[dim] = draw.between(x[dim].min(1), x[dim])?;
    }
    let dtype = draw.dtype(COPIES)?;
    // Ids that count upwards must fit their dtype.
    let id_dtype = if x[dim] > 255 { DType::I64 } else { draw.id_dtype()? };
    Ok((dtype, x, src, dim, id_dtype))
}

/// A case that writes a drawn `src` of this shape into a drawn `x` at `ids`.
pub fn draw_scatter(
    draw: &mut Draw,
    dtype: DType,
    x: &[usize],
    src: &[usize],
    dim: usize,
    ids: Tensor,
) -> arbitrary::Result<Case> {
    // Nothing is promised of integers that overflow.
    let tensor = |draw: &mut Draw, shape: &[usize]| {
        if dtype.is_float() || draw.one_in(4)? { draw.tensor(dtype, shape) } else { draw.ordinary_tensor(dtype, shape) }
    };
    let (x, src) = (tensor(draw, x)?, tensor(draw, src)?);
    let mut case = Case::default().input("x", x).input("ids", ids).input("src", src).param("dim", dim);
    case.backward = draw.backward()?;
    Ok(case)
}

/// The inputs `x`, `ids` and `src`, if the case has them.
pub fn arguments(case: &Case) -> Option<[&Tensor; 3]> {
    Some([case.tensor("x")?, case.tensor("ids")?, case.tensor("src")?])
}

/// Whether `ids` fit into `src`, and beside the dimension `dim` into `x`: what `torch.Tensor.scatter_` requires.
pub fn covered([x, ids, src]: [&Tensor; 3], dim: usize) -> bool {
    let fits = |d: usize| ids.shape[d] <= src.shape[d] && (d == dim || ids.shape[d] <= x.shape[d]);
    ids.shape.len() == src.shape.len() && (0..src.shape.len()).all(fits)
}

/// Whether `x` and `src` differ at most in the dimension `dim`.
pub fn alike([x, _, src]: [&Tensor; 3], dim: usize) -> bool {
    x.shape.iter().zip(&src.shape).enumerate().all(|(d, (x, src))| d == dim || x == src)
}

/// Accepts these inputs: `adds` says whether the op sums, and `fit` whether the sizes along and beside a dimension are right.
pub fn scatter_contract(
    case: &Case,
    [x, ids, src]: [&Tensor; 3],
    adds: bool,
    fit: impl Fn([&Tensor; 3], usize) -> bool,
) -> Contract {
    if src.shape.len() != x.shape.len() {
        return Contract::Rejects(&rule::RANK);
    }
    let Some(dim) = dim(case, x) else { return Contract::Rejects(&rule::DIM) };
    if !fit([x, ids, src], dim) {
        return Contract::Rejects(&rule::SHAPES);
    }
    if x.dtype != src.dtype {
        return Contract::Rejects(&rule::MIXED);
    }
    if src.elements() == Some(0) && !ids.dtype.is_float() && bad_id(ids, x.shape[dim]) {
        return Contract::Unspecified("an id out of range, but nothing to write");
    }
    if adds && !x.dtype.is_float() && may_overflow(x, src, dim) {
        return Contract::Unspecified(why::OVERFLOW);
    }
    let strided = !ids.view.is_contiguous() || !src.view.is_contiguous();
    let contract = id_rules(ids, x.shape[dim], Contract::accepts(x.dtype, &x.shape));
    contract.may_refuse(strided, why::CONTIGUOUS)
}

/// Whether an integer sum could leave the dtype: as many of the largest of `src` as it has along `dim`, on top of the largest of
/// `x`.
fn may_overflow(x: &Tensor, src: &Tensor, dim: usize) -> bool {
    let (low, high) = x.dtype.int_range().unwrap_or((0, 0));
    let largest = |t: &Tensor| t.values.listed().iter().map(|v| i128::from(v.as_i64()).abs()).max().unwrap_or(0).max(1);
    let bound = largest(x) + largest(src) * src.shape[dim] as i128;
    bound > i128::from(high) || (low < 0 && -bound < i128::from(low))
}

/// `x` with every element of `src` combined into the place that its id names: `combine` gets what is there, the element, and whether an
/// element went there before.
pub fn scattered(
    inputs: &ReferenceInputs,
    id_at: impl Fn(&[usize]) -> Option<i64>,
    combine: impl Fn(Num, Num, bool) -> Num,
) -> Vec<ArrayD<Num>> {
    let dim = inputs.case.size("dim");
    let (mut out, src) = (inputs.array("x"), inputs.array("src"));
    let mut written = HashSet::new();
    for (index, &value) in src.indexed_iter() {
        let mut index = index.slice().to_vec();
        let Some(id) = id_at(&index) else { continue };
        if writes_nothing(inputs, id, out.shape()[dim]) {
            continue;
        }
        index[dim] = usize::try_from(id).unwrap_or(usize::MAX);
        if let Some(place) = out.get_mut(index.as_slice()) {
            *place = combine(*place, value, !written.insert(index));
        }
    }
    vec![out]
}
