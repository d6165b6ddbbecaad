//! Matrices of the params `dtype`, `rows` and `columns`: cases, contract and reference.

use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, rule, why};
use crate::tensor::{DType, Support, product};

/// Where the contract of these ops comes from.
pub const CREATED_PROMISE: &str = "candle-core/src/tensor.rs:193-460 (the documentation of each); torch.zeros, torch.ones and torch.full: no more \
    elements than memory can have";

/// The dtype that the case names.
pub fn dtype(case: &Case) -> DType {
    DType::named(case.text("dtype")).unwrap_or(DType::F32)
}

/// A case of a dtype and the shape `(rows, columns)`.
pub fn generate(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let (rows, columns) = (draw.size()?, draw.size()?);
    Ok(Case::default().param("dtype", dtype.name()).param("rows", rows).param("columns", columns))
}

/// The shape `(rows, columns)`.
pub fn shape(case: &Case) -> [usize; 2] {
    ["rows", "columns"].map(|name| case.size(name))
}

/// Accepts the shape `(rows, columns)` unless it is too large.
pub fn contract(case: &Case) -> Contract {
    let shape = shape(case);
    match product(&shape) {
        // Also where a factor is 0: the product of the others, a stride, overflows too.
        None => Contract::Rejects(&rule::TOO_MANY),
        Some(count) if count > 1 << 22 || shape.iter().any(|&n| n > 1 << 31) => Contract::Unspecified(why::TOO_LARGE),
        Some(_) => Contract::accepts(dtype(case), &shape),
    }
}

/// One output: `value` of the row and column of every element.
pub fn filled(case: &Case, value: impl Fn(usize, usize) -> f64) -> Vec<ArrayD<Num>> {
    let [rows, columns] = shape(case);
    vec![ArrayD::from_shape_fn(IxDyn(&[rows, columns]), |at| Num::exact(value(at[0], at[1])))]
}
