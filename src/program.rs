//! A case as a program: the candle code that a person would write for the call, to run or to paste into an issue.

mod agreement;
mod body;
mod comparison;
mod imports;
mod main_program;
mod memory;
mod python;
mod rust;
mod rustfmt;
mod templates;
mod test;
mod test_file;
mod test_text;
mod torch;

use crate::case::{Backward, Case, DeviceObject};
use crate::device::Device;
use crate::ops::sequence::{self, Step};
use crate::ops::{Op, wants_other};
use crate::outcome::Outcome;
use crate::tensor::DType;

pub use agreement::{Agreement, agreement, agrees};
pub use imports::{Imports, imports_of};
pub use templates::torch_call;
pub use test::test;
pub use test_text::Test;
pub use torch::torch;

use body::Body;

/// What a program contains besides the call.
#[derive(Debug, Clone, Copy)]
pub struct ProgramOptions<'a> {
    /// Where it runs.
    pub device: Device,
    /// Comments at its top.
    pub comments: &'a [String],
    /// The dtype and rank of each output: values of known dtype are printed in full.
    pub outputs: &'a [(DType, usize)],
}

/// The `main.rs` of `case`. An `Err` says why there is none, such as ten thousand elements to write.
pub fn program(op: &Op, case: &Case, options: &ProgramOptions) -> Result<String, String> {
    // As in the worker, other dtypes have no gradients.
    let backward =
        if options.outputs.iter().all(|(dtype, _)| dtype.is_float()) { case.backward } else { Backward::None };
    let host = if options.device == Device::Cpu { rust::DEVICE } else { rust::HOST };
    let body = Body::new(op, case, backward, options.device, host)?;
    main_program::main_program(body, backward, options).map(|text| rustfmt::formatted(&text))
}

/// What a program must know to print the returned outputs: the dtype and rank of each.
pub fn outputs(outcome: &Outcome) -> Vec<(DType, usize)> {
    let Outcome::Returned(returned) = outcome else { return Vec::new() };
    returned.outputs.iter().map(|output| (output.dtype, output.shape.len())).collect()
}

/// The call itself in a few lines, or every call of a sequence. Written for the CPU unless it needs two devices.
pub fn call(op: &'static Op, case: &Case) -> String {
    let device = if wants_other(case) { Device::Cuda(0) } else { Device::Cpu };
    let steps = sequence::steps(case);
    let calls = if steps.is_empty() { vec![Step::new(op, case.clone(), None)] } else { steps };
    let lines = |Step { op, call, thread, device: object, times, .. }: &Step| {
        let lines = templates::rust_call(op, call, device).unwrap_or_else(|_| vec![op.covers.join(", ")]);
        let in_thread = (*thread > 0).then(|| format!("// In thread {thread}:"));
        let on_object =
            (*object != DeviceObject::Own).then(|| format!("// On another device object, {}:", object.word()));
        let again = (times.get() > 1).then(|| format!("// {} times, each time on its own output:", times.get()));
        [in_thread, on_object, again].into_iter().flatten().chain(lines).collect::<Vec<_>>().join("\n")
    };
    calls.iter().map(lines).collect::<Vec<_>>().join("\n")
}

/// Which candle a program is built with.
#[derive(Debug, Clone, Copy)]
pub enum Candle<'a> {
    /// A release.
    Release(&'a str),
    /// A checkout of its repository.
    Checkout(&'a str),
}

impl Candle<'_> {
    /// The release that this build tests.
    pub const TESTED: Self = Self::Release(crate::CANDLE);
}

/// The manifest of a program's crate, with CUDA if its device needs it.
pub fn manifest(name: &str, program: &str, device: Device, candle: Candle) -> String {
    let cuda = if device == Device::Cpu { "" } else { ", features = [\"cuda\"]" };
    let mut text = format!(
        "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[workspace]\n\n\
         [dependencies]\n"
    );
    for krate in ["candle-core", "candle-nn"] {
        text += &match candle {
            Candle::Release(version) => format!("{krate} = {{ version = \"={version}\"{cuda} }}\n"),
            Candle::Checkout(path) => format!("{krate} = {{ path = \"{path}/{krate}\"{cuda} }}\n"),
        };
    }
    let half = if let Candle::Release(version) = candle { half_for(version) } else { None };
    for (krate, version) in [("half", half.unwrap_or("2")), ("float8", "0.7"), ("rayon", "1")] {
        if program.contains(&format!("{krate}::")) || half.is_some() && krate == "half" {
            text += &format!("{krate} = \"{version}\"\n");
        }
    }
    text
}

/// The releases of `half` that a release of candle compiles with, if later ones do not do.
pub fn half_for(candle: &str) -> Option<&'static str> {
    matches!(candle, "0.8.0" | "0.8.1" | "0.8.2" | "0.8.3").then_some("~2.4")
}
