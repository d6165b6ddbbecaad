//! The canary: proves that a campaign notices failures. Every fault it plants must come back as the right violation.

use std::sync::Arc;
use std::time::Duration;

use crate::device::Device;
use crate::exec::{CandleUnderTest, Deadline, DeviceBehaviour, Executor, Limits, WorkerSpec};
use crate::ops::canary::{CANARY, Fault, case, faults};
use crate::oracle::{Evidence, Kind, Verdict, judge};

/// The result of planting all faults.
#[derive(Debug)]
pub struct CanaryReport {
    /// How many faults were planted on all devices.
    pub faults: usize,
    /// The faults that were not noticed.
    pub missed: Vec<String>,
    /// Whether every worker has debug assertions and overflow checks.
    pub overflow_checks: bool,
}

/// Plants every fault on every device, in workers with this candle, under tight limits. A fault that is not noticed, or spoils the case after it,
/// gets a second try with ten times the deadline: on a busy machine the first one may have been too short.
pub fn check(devices: &[Device], candle: Option<Arc<CandleUnderTest>>) -> anyhow::Result<CanaryReport> {
    let behaviour = DeviceBehaviour { ignore_overrides: true, ..DeviceBehaviour::default() };
    // Whether a GPU has memory for its workers is not this function's to say.
    let (deadline, memory_mib, gpu_memory_mib) = (Duration::from_millis(500), 1024, 0);
    let limits = Limits { deadline, memory_mib, gpu_memory_mib, ..Limits::default() };
    let spec = WorkerSpec { candle, limits, behaviour, ..WorkerSpec::default() };
    let patient = WorkerSpec { limits: Limits { deadline: deadline * 10, ..limits }, ..spec.clone() };
    let mut report = CanaryReport { faults: 0, missed: Vec::new(), overflow_checks: true };
    for &device in devices {
        let mut executor = Executor::start(&[device], &spec)?;
        for fault in faults(&[device]) {
            report.faults += 1;
            if problem(&mut executor, fault)?.is_none() {
                continue;
            }
            if let Some(problem) = problem(&mut Executor::start(&[device], &patient)?, fault)? {
                report.missed.push(format!("{} was planted on {device} but {problem}", fault.name));
            }
        }
        report.overflow_checks &= executor.hellos().all(|hello| hello.checked);
    }
    Ok(report)
}

/// What went wrong with a planted fault and the harmless case after it.
fn problem(executor: &mut Executor, fault: Fault) -> anyhow::Result<Option<&'static str>> {
    let is_noticed = is_noticed(executor, fault)?;
    let harmless = case("none");
    let after = executor.observe(&harmless, Deadline::Full)?;
    let is_charged_alone = judge(&Evidence::new(&CANARY, &harmless, &after)) == Verdict::Pass;
    Ok(match (is_noticed, is_charged_alone) {
        (true, true) => None,
        (false, _) => Some("not noticed"),
        (true, false) => Some("charged to the case after it"),
    })
}

/// Whether the planted fault comes back as the right violation on every device.
pub fn is_noticed(executor: &mut Executor, fault: Fault) -> anyhow::Result<bool> {
    let case = case(fault.name);
    let observations = executor.observe(&case, Deadline::Full)?;
    Ok(observations.iter().all(|observation| {
        let own = std::slice::from_ref(observation);
        judge(&Evidence::new(&CANARY, &case, own))
            .violations()
            .first()
            .is_some_and(|it| it.kind == Kind::from(fault.kind))
    }))
}

/// The fault to plant at `index`: every other case is a fault, until `inject` of each kind are planted.
pub fn fault_at(devices: &[Device], inject: u64, index: u64) -> Option<Fault> {
    let faults = faults(devices);
    let (turn, kinds) = (index / 2, faults.len() as u64);
    (index % 2 == 1 && turn < inject.saturating_mul(kinds)).then(|| faults[(turn % kinds) as usize])
}
