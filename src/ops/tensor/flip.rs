//! `Tensor::flip`.

use crate::case::Case;
use crate::ops::support::arguments::{ANY, DIMS};
use crate::ops::support::moving::gather_map::{COPIES, contract, draw_x, gathered, shape_of};
use crate::ops::{Contract, Op, rule, why};

/// `x.flip(&[d0, ..])`: reverses the order of the elements along these dimensions.
pub static FLIP: Op = Op {
    name: "tensor.flip",
    covers: &["Tensor::flip"],
    support: COPIES,
    inputs: &[ANY],
    params: &[DIMS],
    generate: &|draw| {
        let case = draw_x(draw, 1, 3)?;
        let mut dims = draw.permutation(shape_of(&case).len())?;
        dims.truncate(draw.between(1, 3)?);
        Ok(case.param("dims", dims))
    },
    contract: &|case| {
        let strided = case.tensor("x").is_some_and(|x| !x.view.is_contiguous());
        contract(case, flipped).may_refuse(strided, why::CONTIGUOUS)
    },
    call: &|call| Ok(vec![call.tensor("x")?.flip(&call.case.sizes("dims"))?]),
    source: "x.flip(&[{{ list('dims') }}])?",
    torch: "x.flip([{{ list('dims') }}])",
    reference: Some(&|inputs| {
        gathered(inputs, flipped, |case, x, index| {
            let dims = case.sizes("dims");
            let turned = |(d, (&i, &n)): (usize, (&usize, &usize))| if dims.contains(&d) { n - 1 - i } else { i };
            Some(index.iter().zip(x).enumerate().map(turned).collect())
        })
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-core/src/tensor.rs:2943-2963; torch.flip",
};

fn flipped(case: &Case, x: &[usize]) -> Result<Vec<usize>, Contract> {
    let dims = case.sizes("dims");
    if dims.iter().any(|&d| d >= x.len()) {
        return Err(Contract::Rejects(&rule::DIM));
    }
    if (1..dims.len()).any(|place| dims[..place].contains(&dims[place])) {
        return Err(Contract::Rejects(&rule::DIM_TWICE));
    }
    Ok(x.to_vec())
}
