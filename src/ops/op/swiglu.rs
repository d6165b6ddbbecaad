//! `swiglu`.

use candle_nn::ops;

use crate::case::{Case, InputSpec};
use crate::ops::support::dtypes::FLOATS_AND_F8;
use crate::ops::support::elements::activation::swiglu;
use crate::ops::support::elements::elementwise::of_floats;
use crate::ops::{Contract, Op, rule};
use crate::tensor::Tensor;

/// `candle_nn::ops::swiglu(x)`: `silu` of the first half of the last dimension times the second half.
pub static SWIGLU: Op = Op {
    name: "op.swiglu",
    covers: &["ops::swiglu"],
    support: FLOATS_AND_F8,
    inputs: &[InputSpec::new("x", "(.., 2 H): the gates before the values")],
    params: &[],
    generate: &|draw| {
        let dtype = draw.dtype(FLOATS_AND_F8)?;
        let mut shape = draw.open_shape(0, 2)?;
        shape.push(2 * draw.positive()?);
        let mut case = Case::default().input("x", draw.tensor(dtype, &shape)?);
        case.backward = draw.backward()?;
        Ok(case)
    },
    contract: &|case| match case.tensor("x") {
        Some(x) if x.dtype.is_float() => halved(x),
        _ => of_floats(case),
    },
    call: &|call| Ok(vec![ops::swiglu(call.tensor("x")?)?]),
    source: "candle_nn::ops::swiglu(&x)?",
    torch: r"
        gate, value = x.chunk(2, dim=-1)
        F.silu(gate) * value
    ",
    reference: Some(&swiglu),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "candle-nn/src/ops.rs:45-48; Shazeer, GLU Variants Improve Transformer (2020); torch.nn.functional.glu: an odd \
              dimension has no halves",
};

/// Accepts an even last dimension and halves it.
fn halved(x: &Tensor) -> Contract {
    let mut shape = x.shape.clone();
    match shape.last_mut() {
        None => Contract::Rejects(&rule::DIM),
        Some(size) if *size % 2 == 1 => Contract::Rejects(&rule::ODD_LAST),
        Some(size) => {
            *size /= 2;
            Contract::accepts(x.dtype, &shape)
        }
    }
}
