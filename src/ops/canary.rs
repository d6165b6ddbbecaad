//! The canary: an op that fails on request in every way an op can fail, so that a campaign can prove that it notices.

mod beside;
#[cfg(feature = "cuda")]
mod device;

use std::mem;
use std::sync::atomic::{AtomicU32, Ordering};

use candle_core::{Error, Result, Tensor};
use rustix::process::{Signal, getpid, kill_process};

use crate::case::{Case, ParamSpec, Repeat};
use crate::device::Device;
use crate::ops::support::arguments::ANY;
use crate::ops::{Call, Contract, Op, rule};
use crate::tensor::{DType, Support, Tensor as Data, Value};

/// A fault that the canary can plant.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    /// The value of the param `fault` that plants it.
    pub name: &'static str,
    /// The kind of the violation that must be reported.
    pub kind: &'static str,
}

const fn fault(name: &'static str, kind: &'static str) -> Fault {
    Fault { name, kind }
}

/// Faults on every device.
const FAULTS: [Fault; 9] = [
    fault("panic", "panic"),
    fault("abort", "died"),
    fault("stack overflow", "stack overflow"),
    fault("signal", "died"),
    fault("hang", "hang"),
    fault("allocate without end", "out of memory"),
    fault("wrong value", "wrong value"),
    fault("nondeterministic", "differs"),
    fault(KEPT, "growing memory"),
];

/// The fault that shows when its call is repeated.
const KEPT: &str = "keep memory";

/// Faults on CUDA devices, each a kernel of `canary/faults.ptx`.
const DEVICE_FAULTS: [Fault; 5] = [
    fault("canary_assert", "assert"),
    fault("canary_out_of_bounds", "illegal address"),
    fault("canary_misaligned", "misaligned address"),
    fault("canary_trap", "launch failed"),
    fault("canary_hang", "hang"),
];

/// Faults that only the checkers of a simulated device notice.
pub const CHECKED_FAULTS: [Fault; 2] =
    [fault("canary_uninitialized", "uninitialized read"), fault("canary_race", "race")];

/// Faults that only the fence around allocations on the CPU notices.
pub const FENCED_FAULTS: [Fault; 4] = [
    fault("read after the end", "out of bounds"),
    fault("write after the end", "out of bounds"),
    fault("read after free", "use after free"),
    fault("write after free", "use after free"),
];

/// The faults that can be planted on every one of `devices`.
pub fn faults(devices: &[Device]) -> Vec<Fault> {
    let all = |is: fn(&Device) -> bool| devices.iter().all(is);
    let cuda = DEVICE_FAULTS.into_iter().filter(|_| all(|device| *device != Device::Cpu));
    let simulated = CHECKED_FAULTS.into_iter().filter(|_| all(|device| matches!(device, Device::Sim(_))));
    let fenced = FENCED_FAULTS.into_iter().filter(|_| all(|device| *device == Device::Cpu));
    FAULTS.into_iter().chain(cuda).chain(simulated).chain(fenced).collect()
}

/// Returns its input, or plants a fault.
pub static CANARY: Op = Op {
    name: "canary",
    covers: &[],
    support: &Support::both("x", &[DType::F32]),
    inputs: &[ANY],
    params: &[ParamSpec::text("fault", "The fault to plant.")],
    generate: &|_| Ok(case("none")),
    contract: &|case| match case.tensor("x") {
        Some(x) => Contract::accepts(x.dtype, &x.shape),
        None => Contract::Rejects(&rule::CANARY),
    },
    call: &call,
    source: "x.clone()",
    // The op is part of this suite.
    torch: "",
    reference: Some(&|inputs| vec![inputs.array("x")]),
    ulps: 1.0,
    differentiable: &[],
    promise: "this file: the canary returns its input",
};

/// The case that plants `fault`.
pub fn case(fault: &str) -> Case {
    let x = Data::new(DType::F32, vec![2], vec![Value::Float(1.0), Value::Float(2.0)]);
    let repeat = (fault == KEPT).then_some(Repeat::LEAST);
    Case { repeat, ..Case::new(CANARY.name).param("fault", fault).input("x", x) }
}

fn call(call: &Call) -> Result<Vec<Tensor>> {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let x = call.tensor("x")?;
    match call.case.text("fault") {
        "none" => Ok(vec![x.clone()]),
        "panic" => panic!("the canary panics"),
        "abort" => std::process::abort(),
        "stack overflow" => Ok(vec![(x * f64::from(recurse(1)))?]),
        "signal" => end_by(Signal::ILL),
        // No planted fault: it looks as if the machine did it.
        "kill" => end_by(Signal::KILL),
        "hang" => hang(),
        "allocate without end" => allocate(),
        "wrong value" => Ok(vec![(x + 1.0)?]),
        KEPT => {
            mem::forget(vec![0_u8; 1024]);
            Ok(vec![x.clone()])
        }
        // Right every other time, so that the two runs of a case always differ.
        "nondeterministic" => Ok(vec![(x * f64::from(1 + CALLS.fetch_add(1, Ordering::Relaxed) % 2))?]),
        access if access.starts_with("read ") || access.starts_with("write ") => {
            beside::access(access, x)?;
            Ok(vec![x.clone()])
        }
        #[cfg(feature = "cuda")]
        kernel if kernel.starts_with("canary_") || kernel.starts_with("mark_") => {
            device::launch(kernel, x)?;
            Ok(vec![x.clone()])
        }
        other => Err(Error::Msg(format!("the canary has no fault `{other}`; see src/ops/canary.rs"))),
    }
}

/// Ends the process by a signal that nothing catches.
fn end_by(signal: Signal) -> Result<Vec<Tensor>> {
    kill_process(getpid(), signal).map_err(Error::wrap)?;
    hang()
}

fn hang() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

fn allocate() -> ! {
    let mut hoard: Vec<Vec<u8>> = Vec::new();
    loop {
        // Reserved and never touched: the limit is on address space, and touching pages is slow.
        hoard.push(Vec::with_capacity(64 << 20));
        std::hint::black_box(&hoard);
    }
}

#[allow(unconditional_recursion)]
fn recurse(depth: u32) -> u32 {
    let frame = std::hint::black_box([depth; 1024]);
    recurse(frame[0] + 1) + frame[512]
}
