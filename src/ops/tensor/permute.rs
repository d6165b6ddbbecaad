//! `Tensor::permute`.

use crate::case::{Case, ParamSpec};
use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{VIEWS, contract, draw_x, gathered, shape_of};
use crate::ops::{Contract, Op, rule};

/// `x.permute([d0, d1, ..])`: dimension `i` of the output is dimension `di` of `x`.
pub static PERMUTE: Op = Op {
    name: "tensor.permute",
    covers: &["Tensor::permute"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[ParamSpec::sizes("dims", "The dimension of `x` for each dimension of the output.")],
    generate: &|draw| {
        let case = draw_x(draw, 1, 4)?;
        let order = draw.permutation(shape_of(&case).len())?;
        Ok(case.param("dims", order))
    },
    contract: &|case| contract(case, permuted),
    call: &|call| Ok(vec![call.tensor("x")?.permute(call.case.sizes("dims"))?]),
    source: "x.permute([{{ list('dims') }}])?",
    torch: "x.permute({{ shape('dims') }})",
    reference: Some(&|inputs| {
        gathered(inputs, permuted, |case, x, index| {
            let mut origin = vec![0; x.len()];
            case.sizes("dims").iter().zip(index).for_each(|(&d, &i)| origin[d] = i);
            Some(origin)
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2313-2346; torch.permute",
};

fn permuted(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let order = case.sizes("dims");
    if order.len() != x.len() || (0..x.len()).any(|d| !order.contains(&d)) {
        return Err(Contract::Rejects(&rule::PERMUTATION));
    }
    Ok(order.into_iter().map(|d| x[d]).collect())
}
