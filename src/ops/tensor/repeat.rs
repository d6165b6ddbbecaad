//! `Tensor::repeat`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{COPIES, TOO_LARGE, contract, draw_x, gathered, shape_of};
use crate::ops::{Contract, Op};

/// `x.repeat((n0, n1, ..))`: repeats `x` that often along each dimension; more factors add dimensions in
/// front.
pub static REPEAT: Op = Op {
    name: "tensor.repeat",
    covers: &["Tensor::repeat"],
    support: COPIES,
    inputs: &[ANY],
    params: &[ParamSpec::sizes("factors", "How often along each dimension.")],
    generate: &|draw| {
        let case = draw_x(draw, 0, 3)?;
        let more = draw.between(0, 1)?;
        let factors = (0..shape_of(&case).len() + more).map(|_| draw.choose(&[1, 1, 2, 2, 3, 0]).copied());
        let factors = factors.collect::<arbitrary::Result<Vec<usize>>>()?;
        Ok(case.param("factors", factors))
    },
    contract: &|case| contract(case, repeated),
    call: &|call| Ok(vec![call.tensor("x")?.repeat(call.case.sizes("factors"))?]),
    source: "x.repeat({{ shape('factors') }})?",
    torch: "x.repeat({{ shape('factors') }})",
    reference: Some(&|inputs| {
        gathered(inputs, repeated, |_, x, index| {
            let own = &index[index.len() - x.len()..];
            Some(own.iter().zip(x).map(|(&i, &n)| i % n).collect())
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:689-713 (\"Similar to PyTorch\"); torch.Tensor.repeat",
};

fn repeated(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let factors = case.sizes("factors");
    let Some(more) = factors.len().checked_sub(x.len()) else {
        return Err(Contract::Unspecified("fewer factors than dimensions"));
    };
    if factors.iter().any(|&n| n > 1 << 10) {
        return Err(TOO_LARGE);
    }
    let size = |(place, &factor): (usize, &usize)| {
        if place < more { Some(factor) } else { x[place - more].checked_mul(factor) }
    };
    factors.iter().enumerate().map(size).collect::<Option<_>>().ok_or(TOO_LARGE)
}
