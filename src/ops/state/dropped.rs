//! Memory that is freed early.

use candle_core::Result;

use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::ANY;
use crate::ops::support::elements::nonempty_floats::{FLOATS, draw_floats, float_contract};
use crate::ops::support::reference_inputs::each;

/// `(2 x + 1)^2`, read after its inputs and intermediates are dropped and their memory is in use again.
pub static DROPPED: Op = Op {
    name: "state.dropped",
    covers: &["Tensor::affine", "Tensor::force_contiguous"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[],
    generate: &|draw| draw_floats(draw, &["x"]),
    contract: &float_contract,
    call: &|call| {
        let copy = call.tensor("x")?.force_contiguous()?;
        let line = copy.affine(2.0, 1.0)?;
        drop(copy);
        let square = (&line * &line)?;
        drop(line);
        let _reused = (0..3).map(|_| square.zeros_like()).collect::<Result<Vec<_>>>()?;
        Ok(vec![square])
    },
    source: r"
        let copy = x.force_contiguous()?;
        let line = copy.affine(2.0, 1.0)?;
        drop(copy);
        let square = (&line * &line)?;
        drop(line);
        let _reused = (0..3).map(|_| square.zeros_like()).collect::<Result<Vec<_>>>()?;
        square
    ",
    // This is about candle's own state.
    torch: "",
    reference: Some(&|inputs| {
        let (two, one) = (Num::exact(2.0), Num::exact(1.0));
        each(inputs, "x", |x| (two * x + one) * (two * x + one))
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: "Rust: a tensor keeps its values when other tensors are dropped",
};
