//! `Tensor::unfold`, and its shape for a dimension of millions.

use candle_core::Tensor as Candle;
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::number::Num;
use crate::ops::support::arguments::{ANY, DIM};
use crate::ops::support::moving::gather_map::{TOO_LARGE, VIEWS, contract, draw_x_of, gathered};
use crate::ops::{Contract, Op, rule};
use crate::tensor::{DType, Support};

/// `x.unfold(dim, size, step)`: windows of `size` entries of a dimension, one every `step`, as a last dimension.
pub static UNFOLD: Op = Op {
    name: "tensor.unfold",
    covers: &["Tensor::unfold"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[
        DIM,
        ParamSpec::size("size", 0, "The size of a window."),
        ParamSpec::size("step", 0, "The distance between windows."),
    ],
    generate: &|draw| {
        let mut shape = draw.open_shape(0, 2)?;
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.reduced()?);
        let (size, step) = (draw.between(1, shape[dim].min(4))?, draw.between(1, 3)?);
        Ok(draw_x_of(draw, &shape)?.param("dim", dim).param("size", size).param("step", step))
    },
    contract: &|case| contract(case, unfolded),
    call: &|call| {
        let (dim, size, step) = (call.size("dim"), call.size("size"), call.size("step"));
        Ok(vec![call.tensor("x")?.unfold(dim, size, step)?])
    },
    source: "x.unfold({{ dim }}, {{ size }}, {{ step }})?",
    torch: "x.unfold({{ dim }}, {{ size }}, {{ step }})",
    reference: Some(&|inputs| {
        gathered(inputs, unfolded, |case, x, index| {
            let dim = case.size("dim");
            let mut origin = index[..x.len()].to_vec();
            origin[dim] = index[dim] * case.size("step") + index[x.len()];
            Some(origin)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2965-3008, which cites PyTorch's; torch.Tensor.unfold",
};

fn unfolded(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let (dim, length) = (case.size("dim"), case.size("size"));
    let Some(&n) = x.get(dim) else {
        return Err(if x.is_empty() {
            Contract::Unspecified("windows of a scalar")
        } else {
            Contract::Rejects(&rule::DIM)
        });
    };
    let count = windows(n, length, case.size("step"))?;
    let mut shape = x.to_vec();
    shape[dim] = count;
    shape.push(length);
    Ok(shape)
}

/// How many windows of `length` entries start in a dimension of size `n`.
fn windows(n: usize, length: usize, step: usize) -> Result<usize, Contract> {
    let Some(room) = n.checked_sub(length) else { return Err(Contract::Rejects(&rule::WINDOW)) };
    match step {
        0 => Err(Contract::Rejects(&rule::ZERO_STEP)),
        step if step > 1 << 31 => Err(TOO_LARGE),
        _ => Ok(room / step + 1),
    }
}

/// The shape of `x.broadcast_as(count).unfold(0, size, step)` for an `x` of one element. These are views
/// for any count.
pub static UNFOLD_SHAPE: Op = Op {
    name: "tensor.unfold_shape",
    covers: &["Tensor::unfold"],
    support: &Support::both("x", &DType::ALL),
    inputs: &[InputSpec::new("x", "one element")],
    params: &[
        ParamSpec::size("count", 0, "The size of the broadcast dimension."),
        ParamSpec::size("size", 0, "The size of a window."),
        ParamSpec::size("step", 0, "The distance between windows."),
    ],
    generate: &|draw| {
        let x = draw.dtype(UNFOLD_SHAPE.support)?;
        let power = draw.between(0, 31)?;
        let count = (1_usize << power) + draw.between(0, 5)?;
        let (size, step) = (draw.between(1, count.min(4))?, draw.between(1, 3)?);
        let case = Case::default().input("x", draw.tensor(x, &[1])?);
        Ok(case.param("count", count).param("size", size).param("step", step))
    },
    contract: &|case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
        let count = case.size("count");
        if !x.shape.is_empty() && x.shape != [1] && x.shape != [count] {
            return Contract::Rejects(&rule::SHAPES);
        }
        if count > 1 << 32 {
            return TOO_LARGE;
        }
        match windows(count, case.size("size"), case.size("step")) {
            Ok(_) => Contract::accepts(DType::I64, &[2]),
            Err(contract) => contract,
        }
    },
    call: &|call| {
        let x = call.tensor("x")?.broadcast_as(call.size("count"))?;
        let windows = x.unfold(0, call.size("size"), call.size("step"))?;
        let shape: Vec<i64> = windows.dims().iter().map(|&n| n as i64).collect();
        Ok(vec![Candle::new(shape, x.device())?])
    },
    source: r"
        let x = x.broadcast_as({{ count }})?;
        let windows = x.unfold(0, {{ size }}, {{ step }})?;
        let shape: Vec<i64> = windows.dims().iter().map(|&n| n as i64).collect();
        Tensor::new(shape, &device)?
    ",
    torch: "torch.tensor(x.expand({{ count }}).unfold(0, {{ size }}, {{ step }}).shape)",
    reference: Some(&|inputs| {
        let length = inputs.case.size("size");
        let count = windows(inputs.case.size("count"), length, inputs.case.size("step")).unwrap_or(0);
        let shape = [count, length].map(|n| Num::exact(n as f64)).to_vec();
        vec![ArrayD::from_shape_vec(IxDyn(&[2]), shape).expect("two numbers")]
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: UNFOLD_PROMISE,
};

const UNFOLD_PROMISE: &str = "candle-core/src/tensor.rs:2965-3008; torch.Tensor.unfold: (n - size) / step + 1 windows, in \
                              integers";
