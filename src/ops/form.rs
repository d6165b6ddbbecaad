//! One PTX instruction on given operands, so that a device's own results can be recorded. No hunt draws it.

#[cfg(feature = "cuda")]
mod device;

use candle_core::{Error, Result, Tensor};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::ops::{Call, Contract, Op};
use crate::tensor::{DType, Support, Tensor as Data, Value};

/// Executes PTX that reads `%a0`, `%a1`, … and writes `%d0`, …, one tuple of operands per thread.
pub static FORM: Op = Op {
    name: "form",
    covers: &[],
    support: &Support::both("x", &[DType::I64]),
    inputs: &[InputSpec::new("x", "(N, operands): the bits of the operands of each thread, N a multiple of 32")],
    params: &[
        ParamSpec::text("code", "The PTX."),
        ParamSpec::text("from", "The types of the operands, with spaces between them."),
        ParamSpec::text("to", "The types of the results, with spaces between them."),
    ],
    generate: &|_| Ok(case("neg.s32 %d0, %a0;", "s32", "s32", &vec![vec![1]; 32])),
    contract: &|_| Contract::Unspecified("a single PTX instruction"),
    call: &call,
    source: "x.clone()",
    // PyTorch executes no PTX.
    torch: "",
    // The instruction decides.
    reference: None,
    ulps: 1.0,
    differentiable: &[],
    promise: "the PTX ISA",
};

/// The case that executes `code` on these tuples of operands.
pub fn case(code: &str, from: &str, to: &str, tuples: &[Vec<u64>]) -> Case {
    let values = tuples.iter().flatten().map(|&bits| Value::Int(bits as i64)).collect();
    let x = Data::new(DType::I64, vec![tuples.len(), from.split(' ').count()], values);
    Case::new(FORM.name).param("code", code).param("from", from).param("to", to).input("x", x)
}

#[cfg(feature = "cuda")]
fn call(call: &Call) -> Result<Vec<Tensor>> {
    let x = call.tensor("x")?;
    match x.device() {
        candle_core::Device::Cuda(cuda) => {
            let text = |name: &str| call.case.text(name).to_string();
            let kernel = device::Instruction { code: text("code"), from: text("from"), to: text("to") };
            Ok(vec![kernel.run(x, cuda)?])
        }
        _ => Err(Error::Msg("PTX runs on CUDA devices only".to_string())),
    }
}

#[cfg(not(feature = "cuda"))]
fn call(_: &Call) -> Result<Vec<Tensor>> {
    Err(Error::Msg("PTX runs on CUDA devices only".to_string()))
}
