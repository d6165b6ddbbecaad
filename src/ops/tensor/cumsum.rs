//! Running sums.

use ndarray::Axis;

use crate::case::Case;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::ids::dim;
use crate::ops::support::reducing::reductions::{accumulate, overflows};
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `x.cumsum(dim)`: `out[i] = x[0] + .. + x[i]` along `dim`.
pub static CUMSUM: Op = Op {
    name: "tensor.cumsum",
    covers: &["Tensor::cumsum"],
    support: &Support::both("x", &DType::FLOATS),
    inputs: &[ANY],
    params: &[DIM],
    generate: &|draw| {
        let mut shape = draw.open_shape(0, 2)?;
        let dim = draw.between(0, shape.len())?;
        // A triangle of this size is the other operand.
        shape.insert(dim, draw.reduced()?.min(2048));
        let dtype = draw.dtype(CUMSUM.support)?;
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?).param("dim", dim);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let Some(dim) = dim(case, x) else { return Contract::Rejects(&rule::DIM) };
        if !x.dtype.is_float() && overflows(x, &[dim]) {
            return Contract::Unspecified(why::OVERFLOW);
        }
        if x.shape[dim].checked_mul(x.shape[dim]).is_none_or(|n| n > 1 << 22) {
            return Contract::Unspecified(why::TOO_LARGE);
        }
        Contract::accepts(x.dtype, &x.shape)
    },
    call: &|call| Ok(vec![call.tensor("x")?.cumsum(call.size("dim"))?]),
    source: "x.cumsum({{ dim }})?",
    torch: "x.cumsum({{ dim }})",
    reference: Some(&|inputs| {
        let mut x = inputs.array("x");
        let dim = inputs.case.size("dim");
        if !x.is_empty() {
            x.lanes_mut(Axis(dim)).into_iter().for_each(|lane| accumulate(lane.into_iter()));
        }
        vec![x]
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2838-2860; torch.cumsum",
};
