//! `matmul` and `broadcast_matmul` in any batch and any view.

use ndarray::{ArrayD, Dimension, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor, View, product};

/// `x (.., M, K)` times `rhs (.., K, N)` with the same batch: `out[.., i, j] = sum(x[.., i, k] * rhs[.., k, j])`.
pub static MATMUL: Op = Op {
    name: "tensor.matmul",
    covers: &["Tensor::matmul"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let batch = draw.shape(0, 2)?;
        generate(draw, &batch, &batch)
    },
    contract: |case| contract(case, |x, rhs| (x == rhs).then(|| x.to_vec()), "other batch dimensions"),
    call: |call| Ok(vec![call.tensor("x")?.matmul(call.tensor("rhs")?)?]),
    source: "x.matmul(&rhs)?",
    torch: "x @ rhs",
    reference: Some(reference),
    ulps: 4.0,
    differentiable: &["rhs", "x"],
    promise: PRODUCT_PROMISE,
};

/// The same where the batches are broadcast against each other.
pub static BROADCAST_MATMUL: Op = Op {
    name: "tensor.broadcast_matmul",
    covers: &["Tensor::broadcast_matmul"],
    support: &Support::both("x", &DType::FLOATS),
    generate: |draw| {
        let batch = draw.shape(0, 2)?;
        let mut batches = [batch.clone(), batch];
        for batch in &mut batches {
            // Each side leaves out leading dimensions, or has 1 where the other has more.
            let cut = draw.between(0, batch.len())?;
            if draw.one_in(2)? {
                batch.drain(..cut);
            }
            for size in batch {
                *size = if draw.one_in(3)? { 1 } else { *size };
            }
        }
        generate(draw, &batches[0], &batches[1])
    },
    contract: |case| contract(case, broadcast, "batches that do not broadcast"),
    call: |call| Ok(vec![call.tensor("x")?.broadcast_matmul(call.tensor("rhs")?)?]),
    source: "x.broadcast_matmul(&rhs)?",
    torch: "x @ rhs",
    reference: Some(reference),
    ulps: 4.0,
    differentiable: &["rhs", "x"],
    promise: PRODUCT_PROMISE,
};

/// Where the contract of these ops comes from.
pub const PRODUCT_PROMISE: &str = "candle-core/src/tensor.rs:1489-1594: the documentation of both (equal batch dimensions b1, .., bi; \
              broadcasting of the rest), zeros for a product without elements (tensor.rs:1524-1535); \
              Error::MatMulUnexpectedStriding for strides that BLAS cannot take; torch.matmul";
/// The dtypes of these ops.
pub const PRODUCT_SUPPORT: &Support = &Support::both("x", &DType::FLOATS);

fn generate(draw: &mut Draw, left: &[usize], right: &[usize]) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(PRODUCT_SUPPORT)?;
    let (rows, inner, columns) = (draw.size()?, draw.reduced()?, draw.size()?);
    let x = stack(draw, dtype, &[left, &[rows, inner]].concat())?;
    let rhs = stack(draw, dtype, &[right, &[inner, columns]].concat())?;
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

/// The shape of both batches together, `None` where they do not broadcast.
fn broadcast(left: &[usize], right: &[usize]) -> Option<Vec<usize>> {
    let rank = left.len().max(right.len());
    let size = |batch: &[usize], d: usize| (d + batch.len()).checked_sub(rank).map_or(1, |d| batch[d]);
    let joint = |d| match (size(left, d), size(right, d)) {
        (a, b) if a == b || b == 1 => Some(a),
        (1, b) => Some(b),
        _ => None,
    };
    (0..rank).map(joint).collect()
}

fn contract(
    case: &Case,
    joint: impl Fn(&[usize], &[usize]) -> Option<Vec<usize>>,
    otherwise: &'static str,
) -> Contract {
    let (Some(x), Some(rhs)) = (case.tensor("x"), case.tensor("rhs")) else { return Contract::Rejects(why::SHAPES) };
    let matrix = |tensor: &Tensor| tensor.shape.len().checked_sub(2);
    let (Some(left), Some(right)) = (matrix(x), matrix(rhs)) else { return Contract::Rejects(why::RANK) };
    if x.shape[left + 1] != rhs.shape[right] {
        return Contract::Rejects(why::SHAPES);
    }
    let Some(batch) = joint(&x.shape[..left], &rhs.shape[..right]) else { return Contract::Rejects(otherwise) };
    if x.dtype != rhs.dtype {
        return Contract::Rejects(why::MIXED);
    }
    let shape = [&batch[..], &[x.shape[left], rhs.shape[right + 1]]].concat();
    let work = product(&[&shape[..], &[rhs.shape[right].max(1)]].concat());
    if work.is_none_or(|work| work > 1 << 22) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    Contract::accepts(x.dtype, &shape).may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
}

fn reference(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    vec![multiply(&inputs.array("x"), &inputs.array("rhs"))]
}

/// The product of two stacks of matrices whose batches broadcast.
pub fn multiply(x: &ArrayD<Num>, rhs: &ArrayD<Num>) -> ArrayD<Num> {
    let (left, right) = (x.ndim() - 2, rhs.ndim() - 2);
    let batch = broadcast(&x.shape()[..left], &rhs.shape()[..right]).unwrap_or_default();
    let inner = x.shape()[left + 1];
    let shape = [&batch[..], &[x.shape()[left], rhs.shape()[right + 1]]].concat();
    // Where the element of a batch lies in an operand that may have fewer dimensions, or 1 in some.
    let own = |array: &ArrayD<Num>, place: &[usize]| -> Vec<usize> {
        let sizes = &array.shape()[..array.ndim() - 2];
        let place = &place[batch.len() - sizes.len()..batch.len()];
        place.iter().zip(sizes).map(|(&i, &n)| if n == 1 { 0 } else { i }).collect()
    };
    ArrayD::from_shape_fn(IxDyn(&shape), |place| {
        let place = place.slice();
        let (row, column) = (place[batch.len()], place[batch.len() + 1]);
        let (x_batch, rhs_batch) = (own(x, place), own(rhs, place));
        Num::sum((0..inner).map(|k| {
            x[[&x_batch[..], &[row, k]].concat().as_slice()] * rhs[[&rhs_batch[..], &[k, column]].concat().as_slice()]
        }))
    })
}
