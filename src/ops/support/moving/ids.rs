//! What ops that read or write at ids share: drawing, contract rules and references.

use std::collections::BTreeMap;

use ndarray::{ArrayD, ArrayViewD, Dimension, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::moving::gather_map::COPIES;
use crate::ops::{Contract, ReferenceInputs, in_range, is_sentinel, rule, why};
use crate::tensor::{DType, Tensor};

/// The param `dim`, if `x` has that dimension.
pub fn dim(case: &Case, x: &Tensor) -> Option<usize> {
    let dim = case.size("dim");
    (dim < x.shape.len()).then_some(dim)
}

/// Whether some id is neither a position of a dimension of this size nor a sentinel.
pub fn bad_id(ids: &Tensor, size: usize) -> bool {
    ids.ints().iter().any(|&id| !in_range(id, size) && !is_sentinel(id, ids.dtype, size))
}

/// `accepts`, if the ids are integers and positions of a dimension of this size.
pub fn id_rules(ids: &Tensor, size: usize, accepts: Contract) -> Contract {
    if ids.dtype.is_float() {
        return Contract::Rejects(&rule::ID_DTYPE);
    }
    if bad_id(ids, size) {
        return Contract::Rejects(&rule::ID);
    }
    accepts.may_refuse(!DType::IDS.contains(&ids.dtype), why::DTYPE)
}

/// A case that reads a drawn `x` of this shape at drawn ids along `dim`.
pub fn draw_reads(draw: &mut Draw, x: &[usize], ids: &[usize], dim: usize) -> arbitrary::Result<Case> {
    let (dtype, id_dtype) = (draw.dtype(COPIES)?, draw.id_dtype()?);
    let ids: Tensor = draw.ids(id_dtype, ids, x[dim])?;
    let mut case = Case::default().input("x", draw.tensor(dtype, x)?).input("ids", ids).param("dim", dim);
    case.backward = draw.backward()?;
    Ok(case)
}

/// The slices of `x` along `dim` at `ids`; zeros for the sentinel.
pub fn selected(x: &ArrayViewD<Num>, ids: &[i64], dim: usize) -> ArrayD<Num> {
    let mut shape = x.shape().to_vec();
    shape[dim] = ids.len();
    let mut times = BTreeMap::new();
    for id in ids {
        *times.entry(id).or_default() += 1;
    }
    ArrayD::from_shape_fn(IxDyn(&shape), |index| {
        let mut index = index.slice().to_vec();
        let id = ids[index[dim]];
        index[dim] = usize::try_from(id).unwrap_or(usize::MAX);
        x.get(index.as_slice()).map_or(Num::exact(0.0), |x| x.read_often(times[&id]))
    })
}

/// Whether `id` is a sentinel of `ids`, which writes nothing by design.
pub fn writes_nothing(inputs: &ReferenceInputs, id: i64, size: usize) -> bool {
    inputs.case.tensor("ids").is_some_and(|ids| is_sentinel(id, ids.dtype, size))
}
