//! Waiting for a device.

use crate::ops::support::arguments::ANY;
use crate::ops::support::moving::gather_map::{VIEWS, draw_x};
use crate::ops::support::reference_inputs::each;
use crate::ops::{Contract, Op, rule};

/// `Device::synchronize` of the device of `x`, and then `x` itself: in a sequence, the thread of a step waits for what it has started.
pub static SYNCHRONIZE: Op = Op {
    name: "state.synchronize",
    covers: &["Device::synchronize"],
    support: VIEWS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_x(draw, 0, 3),
    contract: &|case| match case.tensor("x") {
        Some(x) => Contract::accepts(x.dtype, &x.shape),
        None => Contract::Rejects(&rule::SHAPES),
    },
    call: &|call| {
        let x = call.tensor("x")?;
        x.device().synchronize()?;
        Ok(vec![x.clone()])
    },
    source: "x.device().synchronize()?;\nx.clone()",
    // PyTorch's threads share one stream of a device.
    torch: "",
    reference: Some(&|inputs| each(inputs, "x", |x| x)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "cuStreamSynchronize: all that the stream was given is done",
};
