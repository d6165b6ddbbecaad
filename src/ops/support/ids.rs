//! Contract rules that several families share.

use crate::case::Case;
use crate::ops::{Contract, in_range, is_sentinel, why};
use crate::tensor::{DType, Tensor};

/// The param `dim`, if `x` has that dimension.
pub fn dim(case: &Case, x: &Tensor) -> Option<usize> {
    let dim = usize::try_from(case.int("dim", 0)).unwrap_or(0);
    (dim < x.shape.len()).then_some(dim)
}

/// Whether some id is no position of a dimension of this size and no sentinel either.
pub fn bad_id(ids: &Tensor, size: usize) -> bool {
    ids.ints().iter().any(|&id| !in_range(id, size) && !is_sentinel(id, ids.dtype, size))
}

/// `accepts` for ids that are positions of a dimension of this size; what else ids may be is refused.
pub fn id_rules(ids: &Tensor, size: usize, accepts: Contract) -> Contract {
    if ids.dtype.is_float() {
        return Contract::Rejects(why::ID_DTYPE);
    }
    if bad_id(ids, size) {
        return Contract::Rejects(why::ID);
    }
    accepts.may_refuse(!DType::IDS.contains(&ids.dtype), why::DTYPE)
}
