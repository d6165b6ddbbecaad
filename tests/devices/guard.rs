//! The guard, which checks a call before a GPU sees it: what it lets through loses no device.

use std::time::Duration;

use candle_core::Device as CandleDevice;
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, Limits};
use snuffer::guard;
use snuffer::ops::{self, Op};
use snuffer::outcome::{CudaError, Outcome};
use snuffer::run::to_candle;

use crate::kept::{regressions, scenarios};
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Cuda: the_guard_refuses_every_kept_call_that_asserts];

/// Valid calls that assert all the same: candle reads beside a view. No guard of arguments can know.
const VALID: [&str; 1] = ["token-ids-from-a-column-of-a-matrix"];

fn the_guard_refuses_every_kept_call_that_asserts(device: Device) {
    let limits = Limits { deadline: Duration::from_secs(10), ..Limits::default() };
    let mut executor = Executor::start(&[device], &limits.into()).expect("a worker starts");
    let (mut asserted, mut passed) = (0, Vec::new());
    for (name, kept) in regressions().into_iter().chain(scenarios()) {
        if !kept.case.steps.is_empty() {
            continue;
        }
        let op = ops::find(&kept.case.op).expect(&name);
        let seen = executor.observe(&kept.case, Deadline::Short).expect("the harness survives");
        let asserts = matches!(&seen[0].outcome, Outcome::Faulted(fault) if fault.kind == CudaError::Assert);
        if asserts {
            asserted += 1;
            if !refuses(op, &kept.case, device) {
                passed.push(name);
            }
        }
    }
    assert_eq!(passed, VALID, "the guard lets other calls through that assert on {device}");
    assert!(asserted >= 5, "only {asserted} kept calls assert on {device}");
}

/// Whether the guard refuses the call of `case`.
fn refuses(op: &Op, case: &Case, device: Device) -> bool {
    let tensor = |data| to_candle(data, &CandleDevice::Cpu).expect("a tensor");
    let made: Vec<_> = case.inputs.iter().map(|(name, data)| (name, tensor(data))).collect();
    let mut call = guard::Call::new(op.name).on(device);
    for (name, tensor) in &made {
        call = call.input(name, tensor);
    }
    for (name, param) in &case.params {
        call = call.param(name, param.clone());
    }
    call.check().is_err()
}
