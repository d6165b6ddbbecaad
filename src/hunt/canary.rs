//! Proof that a campaign would notice: every fault that the canary can plant must come back as the right violation.

use std::time::Duration;

use crate::device::Device;
use crate::exec::{Build, Deadline, Executor, Limits};
use crate::ops::canary::{CANARY, Fault, case, faults};
use crate::oracle::{Evidence, Kind, Verdict, judge};

/// What became of the canary.
#[derive(Debug)]
pub struct Checked {
    /// How many faults were planted, on all devices together.
    pub faults: usize,
    /// The faults that nobody noticed.
    pub missed: Vec<String>,
    /// Whether every worker has debug assertions and overflow checks.
    pub overflow_checks: bool,
}

/// Plants every fault on every device, under tight limits; what was not noticed then may have been late on a busy machine, and
/// has ten times as long.
pub fn check(devices: &[Device]) -> anyhow::Result<Checked> {
    let limits = Limits { deadline: Duration::from_secs(2), memory_mib: 1024, sound: true, ..Limits::default() };
    let patient = Limits { deadline: limits.deadline * 10, ..limits };
    let mut checked = Checked { faults: 0, missed: Vec::new(), overflow_checks: true };
    let harmless = case("none");
    for &device in devices {
        let mut executor = Executor::start(&[device], Build::Checked, limits)?;
        for fault in faults(&[device]) {
            checked.faults += 1;
            let start_again = || Executor::start(&[device], Build::Checked, patient);
            if !noticed(&mut executor, fault)? && !noticed(&mut start_again()?, fault)? {
                checked.missed.push(format!("{} was planted on {device} and not noticed", fault.name));
            }
            // And nothing of it may stick to the next case.
            let after = executor.observe(&harmless, Deadline::Full)?;
            if judge(&Evidence::new(&CANARY, &harmless, &after)) != Verdict::Pass {
                checked.missed.push(format!("{} was charged to the case after it on {device}", fault.name));
            }
        }
        checked.overflow_checks &= executor.hellos().all(|hello| hello.checked);
    }
    Ok(checked)
}

/// Whether the planted fault comes back as the violation that it is, on every device.
pub fn noticed(executor: &mut Executor, fault: Fault) -> anyhow::Result<bool> {
    let case = case(fault.name);
    let observations = executor.observe(&case, Deadline::Full)?;
    Ok(observations.iter().all(|observation| {
        let alone = std::slice::from_ref(observation);
        matches!(judge(&Evidence::new(&CANARY, &case, alone)), Verdict::Fail(violation) if violation.kind == Kind::from(fault.kind))
    }))
}

/// The fault to plant at `index`, where `inject` of each kind are planted at every other case.
pub fn planted(devices: &[Device], inject: u64, index: u64) -> Option<Fault> {
    let faults = faults(devices);
    let (turn, kinds) = (index / 2, faults.len() as u64);
    (index % 2 == 1 && turn < inject.saturating_mul(kinds)).then(|| faults[(turn % kinds) as usize])
}
