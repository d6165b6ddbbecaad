//! Writing at ids: `index_add`, `scatter` and `scatter_add`.

use ndarray::{ArrayD, Dimension};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::ids::{bad_id, dim, id_rules};
use crate::ops::tensor::indexing::skipped;
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor, Value, Values, View};

/// `x.index_add(ids, src, dim)`: the slices of `src` along `dim` added to those of `x` that `ids` names.
pub static INDEX_ADD: Op = Op {
    name: "tensor.index_add",
    covers: &["Tensor::index_add"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let x = draw.shape(1, 3)?;
        let dim = draw.between(0, x.len() - 1)?;
        let count = if x[dim] == 0 { 0 } else { draw.size()? };
        let (dtype, id_dtype) = (draw.dtype(INDEX_ADD.support)?, draw.id_dtype()?);
        let ids = draw.ids(id_dtype, &[count], x[dim])?;
        let mut src = x.clone();
        src[dim] = count;
        writing(draw, dtype, &x, &src, dim, ids)
    },
    contract: |case| {
        let Some((x, ids, src)) = arguments(case) else { return Contract::Rejects(why::SHAPES) };
        if ids.shape.len() != 1 {
            return Contract::Rejects(why::RANK);
        }
        contract(case, x, ids, src, &|src_dim| ids.shape[0] == src_dim)
    },
    call: |call| {
        let (ids, src) = (call.tensor("ids")?, call.tensor("src")?);
        Ok(vec![call.tensor("x")?.index_add(ids, src, call.size("dim", 0))?])
    },
    source: "x.index_add(&ids, &src, {{ dim|default(0) }})?",
    torch: r#"x.index_add({{ dim|default(0) }}, {{ ids("ids") }}, src)"#,
    reference: Some(|inputs| {
        let dim = usize::try_from(inputs.case.int("dim", 0)).unwrap_or(0);
        let ids = inputs.ids("ids");
        written(inputs, |index| ids.get([index[dim]].as_slice()).copied(), |old, new| old + new)
    }),
    promise: "candle-core/src/tensor.rs:1819-1861; torch.Tensor.index_add_; an id that equals its dtype's maximum and \
              lies outside the dimension writes nothing by design (candle PR #2940)",
    ulps: 4.0,
    differentiable: &["src", "x"],
};

/// `x.scatter(ids, src, dim)`: `out[.., ids[.., i, ..], ..] = src[.., i, ..]`.
pub static SCATTER: Op = Op {
    name: "tensor.scatter",
    covers: &["Tensor::scatter"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let (dtype, x, src, dim, id_dtype) = scatter_shapes(draw)?;
        let mut ids = draw.ids(id_dtype, &src, x[dim])?;
        // Ids that name one place twice leave the winner open: count upwards along the dimension instead.
        let start = draw.between(0, x[dim].saturating_sub(src[dim]))?;
        ids.view = View { broadcast: Vec::new(), ..ids.view };
        let inner: usize = src[dim + 1..].iter().product();
        let along = |position: usize| (start + position / inner.max(1) % src[dim].max(1)) as i64;
        ids.values = Values::List((0..src.iter().product()).map(|position| Value::Int(along(position))).collect());
        writing(draw, dtype, &x, &src, dim, ids)
    },
    contract: |case| {
        let Some((x, ids, src)) = arguments(case) else { return Contract::Rejects(why::SHAPES) };
        if ids.shape != src.shape {
            return Contract::Rejects(why::SHAPES);
        }
        let contract = contract(case, x, ids, src, &|_| true);
        match dim(case, x) {
            Some(dim) if matches!(contract, Contract::Accepts { .. }) && writes_twice(ids, dim, x.shape[dim]) => {
                Contract::Unspecified("scatter writes one place twice")
            }
            _ => contract,
        }
    },
    call: |call| {
        let (ids, src) = (call.tensor("ids")?, call.tensor("src")?);
        Ok(vec![call.tensor("x")?.scatter(ids, src, call.size("dim", 0))?])
    },
    source: "x.scatter(&ids, &src, {{ dim|default(0) }})?",
    torch: r#"x.scatter({{ dim|default(0) }}, {{ ids("ids") }}, src)"#,
    reference: Some(|inputs| {
        let ids = inputs.ids("ids");
        written(inputs, |index| ids.get(index).copied(), |_, new| new)
    }),
    promise: "candle-core/src/tensor.rs:1638-1692; torch.Tensor.scatter_; the largest id of its dtype as for index_add",
    ulps: 4.0,
    differentiable: &["src", "x"],
};

/// `x.scatter_add(ids, src, dim)`: as `scatter`, adding to what is there.
pub static SCATTER_ADD: Op = Op {
    name: "tensor.scatter_add",
    covers: &["Tensor::scatter_add"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let (dtype, x, src, dim, id_dtype) = scatter_shapes(draw)?;
        let ids = draw.ids(id_dtype, &src, x[dim])?;
        writing(draw, dtype, &x, &src, dim, ids)
    },
    contract: |case| {
        let Some((x, ids, src)) = arguments(case) else { return Contract::Rejects(why::SHAPES) };
        if ids.shape != src.shape {
            return Contract::Rejects(why::SHAPES);
        }
        contract(case, x, ids, src, &|_| true)
    },
    call: |call| {
        let (ids, src) = (call.tensor("ids")?, call.tensor("src")?);
        Ok(vec![call.tensor("x")?.scatter_add(ids, src, call.size("dim", 0))?])
    },
    source: "x.scatter_add(&ids, &src, {{ dim|default(0) }})?",
    torch: r#"x.scatter_add({{ dim|default(0) }}, {{ ids("ids") }}, src)"#,
    reference: Some(|inputs| {
        let ids = inputs.ids("ids");
        written(inputs, |index| ids.get(index).copied(), |old, new| old + new)
    }),
    promise: "candle-core/src/tensor.rs:1711-1731; torch.Tensor.scatter_add_; the largest id of its dtype as for index_add",
    ulps: 4.0,
    differentiable: &["src", "x"],
};

/// What a scatter is drawn from: dtype, the shapes of `x` and `src`, the dimension, and the dtype of ids.
type Shapes = (DType, Vec<usize>, Vec<usize>, usize, DType);

fn scatter_shapes(draw: &mut Draw) -> arbitrary::Result<Shapes> {
    let x = draw.shape(1, 3)?;
    let dim = draw.between(0, x.len() - 1)?;
    let mut src = x.clone();
    if draw.one_in(2)? {
        src[dim] = draw.between(x[dim].min(1), x[dim])?;
    }
    let dtype = draw.dtype(SCATTER.support)?;
    // Ids that count upwards must fit their dtype.
    let id_dtype = if x[dim] > 255 { DType::I64 } else { draw.id_dtype()? };
    Ok((dtype, x, src, dim, id_dtype))
}

fn writing(
    draw: &mut Draw,
    dtype: DType,
    x: &[usize],
    src: &[usize],
    dim: usize,
    ids: Tensor,
) -> arbitrary::Result<Case> {
    let (x, src) = (draw.tensor(dtype, x)?, draw.tensor(dtype, src)?);
    let mut case = Case::default().input("x", x).input("ids", ids).input("src", src).param("dim", dim);
    case.backward = draw.backward()?;
    Ok(case)
}

fn arguments(case: &Case) -> Option<(&Tensor, &Tensor, &Tensor)> {
    Some((case.tensor("x")?, case.tensor("ids")?, case.tensor("src")?))
}

fn contract(case: &Case, x: &Tensor, ids: &Tensor, src: &Tensor, fits: &dyn Fn(usize) -> bool) -> Contract {
    if src.shape.len() != x.shape.len() {
        return Contract::Rejects(why::RANK);
    }
    let Some(dim) = dim(case, x) else { return Contract::Rejects(why::DIM) };
    let others_differ = x.shape.iter().zip(&src.shape).enumerate().any(|(d, (x, src))| d != dim && x != src);
    if others_differ || !fits(src.shape[dim]) {
        return Contract::Rejects(why::SHAPES);
    }
    if x.dtype != src.dtype {
        return Contract::Rejects(why::MIXED);
    }
    if src.elements() == Some(0) && !ids.dtype.is_float() && bad_id(ids, x.shape[dim]) {
        return Contract::Unspecified("an id out of range where nothing is written");
    }
    let sums_of_integers = !x.dtype.is_float() && case.op != SCATTER.name;
    if sums_of_integers && may_overflow(x, src) {
        return Contract::Unspecified("integer overflow");
    }
    let strided = !ids.view.is_contiguous() || !src.view.is_contiguous();
    let contract = id_rules(ids, x.shape[dim], Contract::accepts(x.dtype, &x.shape));
    contract.may_refuse(strided, why::CONTIGUOUS)
}

/// Whether an integer sum could leave the dtype: all of `src` on top of the largest of `x`.
fn may_overflow(x: &Tensor, src: &Tensor) -> bool {
    let (low, high) = x.dtype.int_range().unwrap_or((0, 0));
    let largest = |t: &Tensor| t.values.listed().iter().map(|v| i128::from(v.as_i64()).abs()).max().unwrap_or(0).max(1);
    let bound = largest(x) + largest(src) * src.elements().unwrap_or(0) as i128;
    bound > i128::from(high) || (low < 0 && -bound < i128::from(low))
}

/// Whether two ids of one line along `dim` name the same place.
fn writes_twice(ids: &Tensor, dim: usize, size: usize) -> bool {
    let values = ids.ints();
    let inner: usize = ids.shape[dim + 1..].iter().product();
    let line = inner * ids.shape[dim];
    let mut seen = std::collections::HashSet::new();
    values.iter().enumerate().any(|(position, &id)| {
        let place = (position / line.max(1), position % inner.max(1), id);
        crate::ops::in_range(id, size) && !seen.insert(place)
    })
}

/// `x` with every element of `src` combined into the place that its id names.
fn written(
    inputs: &ReferenceInputs,
    id_at: impl Fn(&[usize]) -> Option<i64>,
    combine: impl Fn(Num, Num) -> Num,
) -> Vec<ArrayD<Num>> {
    let dim = usize::try_from(inputs.case.int("dim", 0)).unwrap_or(0);
    let (mut out, src) = (inputs.array("x"), inputs.array("src"));
    for (index, &value) in src.indexed_iter() {
        let mut index = index.slice().to_vec();
        let Some(id) = id_at(&index) else { continue };
        if skipped(inputs, id, out.shape()[dim]) {
            continue;
        }
        index[dim] = usize::try_from(id).unwrap_or(usize::MAX);
        if let Some(place) = out.get_mut(index.as_slice()) {
            *place = combine(*place, value);
        }
    }
    vec![out]
}
