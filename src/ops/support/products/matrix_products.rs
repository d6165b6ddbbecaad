//! Products of stacks of matrices: cases, contract and reference.

use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reference_inputs::broadcast_shape;
use crate::ops::{Contract, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor, View, product};

/// The dtypes of these ops.
pub const PRODUCT_SUPPORT: &Support = &Support::both("x", &DType::FLOATS);

/// Where the contract of these ops comes from.
pub const PRODUCT_PROMISE: &str = "candle-core/src/tensor.rs:1489-1594: the documentation of both (equal batch \
    dimensions b1, .., bi; broadcasting of the rest), zeros for a product without elements (tensor.rs:1524-1535); \
    Error::MatMulUnexpectedStriding for strides that BLAS cannot take; torch.matmul";

/// A case of stacks of matrices with these batch dimensions.
pub fn generate(draw: &mut Draw, x_batch: &[usize], rhs_batch: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(PRODUCT_SUPPORT)?;
    let (rows, inner, columns) = (draw.size()?, draw.reduced()?, draw.size()?);
    let x = stack(draw, dtype, &[x_batch, &[rows, inner]].concat())?;
    let rhs = stack(draw, dtype, &[rhs_batch, &[inner, columns]].concat())?;
    let mut case = Case::default().input("x", x).input("rhs", rhs);
    case.backward = draw.backward()?;
    Ok(case)
}

/// A stack of matrices, often in the views that models multiply: transposed, or one matrix for the whole batch.
fn stack(draw: &mut Draw, dtype: DType, shape: &[usize]) -> arbitrary::Result<Tensor> {
    let rank = shape.len();
    let mut view = View::default();
    match draw.between(0, 5)? {
        0 => {
            view.order = (0..rank).collect();
            view.order.swap(rank - 2, rank - 1);
        }
        1 => view.broadcast = (0..rank - 2).collect(),
        _ => return draw.tensor(dtype, shape),
    }
    draw.tensor_in(dtype, shape, view.normalized())
}

/// Accepts a product where `joint` has a shape of both batches; otherwise rejects for the reason `otherwise`.
pub fn contract(
    case: &Case,
    joint: impl Fn(&[usize], &[usize]) -> Option<Vec<usize>>,
    otherwise: &'static str,
) -> Contract {
    let (Some(x), Some(rhs)) = (case.tensor("x"), case.tensor("rhs")) else { return Contract::Rejects(why::SHAPES) };
    let batch_rank = |tensor: &Tensor| tensor.shape.len().checked_sub(2);
    let (Some(x_rank), Some(rhs_rank)) = (batch_rank(x), batch_rank(rhs)) else { return Contract::Rejects(why::RANK) };
    if x.shape[x_rank + 1] != rhs.shape[rhs_rank] {
        return Contract::Rejects(why::SHAPES);
    }
    let Some(batch) = joint(&x.shape[..x_rank], &rhs.shape[..rhs_rank]) else { return Contract::Rejects(otherwise) };
    if x.dtype != rhs.dtype {
        return Contract::Rejects(why::MIXED);
    }
    let shape = [&batch[..], &[x.shape[x_rank], rhs.shape[rhs_rank + 1]]].concat();
    let work = product(&[&shape[..], &[rhs.shape[rhs_rank].max(1)]].concat());
    if work.is_none_or(|work| work > 1 << 22) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    Contract::accepts(x.dtype, &shape).may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
}

/// The product of `x` and `rhs`.
pub fn reference(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    vec![multiply(&inputs.array("x"), &inputs.array("rhs"))]
}

/// The product of two stacks of matrices whose batches broadcast.
pub fn multiply(x: &ArrayD<Num>, rhs: &ArrayD<Num>) -> ArrayD<Num> {
    let (x_rank, rhs_rank) = (x.ndim() - 2, rhs.ndim() - 2);
    let batch = broadcast_shape(&x.shape()[..x_rank], &rhs.shape()[..rhs_rank]).unwrap_or_default();
    let inner = x.shape()[x_rank + 1];
    let shape = [&batch[..], &[x.shape()[x_rank], rhs.shape()[rhs_rank + 1]]].concat();
    // The batch position in an operand, which may have fewer dimensions, or size 1 in some.
    let own = |array: &ArrayD<Num>, position: &[usize]| -> Vec<usize> {
        let sizes = &array.shape()[..array.ndim() - 2];
        let position = &position[batch.len() - sizes.len()..batch.len()];
        position.iter().zip(sizes).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect()
    };
    ArrayD::from_shape_fn(IxDyn(&shape), |position| {
        let position = position.slice();
        let (row, column) = (position[batch.len()], position[batch.len() + 1]);
        let (x_batch, rhs_batch) = (own(x, position), own(rhs, position));
        Num::dot((0..inner).map(|k| {
            let (x_at, rhs_at) = ([&x_batch[..], &[row, k]].concat(), [&rhs_batch[..], &[k, column]].concat());
            (x[x_at.as_slice()], rhs[rhs_at.as_slice()])
        }))
    })
}
