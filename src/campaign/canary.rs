//! Proof that a campaign would notice: every fault that the canary can plant must come back as the right violation.

use std::time::Duration;

use crate::device::Device;
use crate::exec::{Build, Executor, Limits};
use crate::ops::canary::{CANARY, FAULTS, case};
use crate::oracle::{Evidence, Verdict, judge};

/// What became of the canary.
#[derive(Debug)]
pub struct Checked {
    /// How many faults were planted on each device.
    pub faults: usize,
    /// The faults that nobody noticed.
    pub missed: Vec<String>,
    /// Whether every worker has debug assertions and overflow checks.
    pub overflow_checks: bool,
}

/// Plants every fault on every device, under tight limits.
pub fn check(devices: &[Device]) -> anyhow::Result<Checked> {
    let limits = Limits { deadline: Duration::from_secs(2), memory_mib: 1024 };
    let mut executor = Executor::start(devices, Build::Checked, limits)?;
    let mut missed = Vec::new();
    let harmless = case("none");
    for fault in FAULTS {
        if !noticed(&mut executor, fault)? {
            missed.push(format!("{} was planted and not noticed", fault.0));
        }
        // And nothing of it may stick to the next case.
        let after = executor.observe(&harmless)?;
        if judge(&Evidence::new(&CANARY, &harmless, &after)) != Verdict::Pass {
            missed.push(format!("{} was charged to the case after it", fault.0));
        }
    }
    let overflow_checks = executor.hellos().all(|hello| hello.checked);
    Ok(Checked { faults: FAULTS.len(), missed, overflow_checks })
}

/// Whether the planted fault comes back as the violation that it is, on every device.
pub fn noticed(executor: &mut Executor, (fault, kind): (&str, &str)) -> anyhow::Result<bool> {
    let case = case(fault);
    let observations = executor.observe(&case)?;
    Ok(observations.iter().all(|observation| {
        let alone = std::slice::from_ref(observation);
        matches!(judge(&Evidence::new(&CANARY, &case, alone)), Verdict::Fail(violation) if violation.kind == kind)
    }))
}

/// The fault to plant at `index`, where `inject` of each kind are planted at every other case.
pub fn planted(inject: u64, index: u64) -> Option<(&'static str, &'static str)> {
    let turn = index / 2;
    let kinds = FAULTS.len() as u64;
    (index % 2 == 1 && turn < inject * kinds).then(|| FAULTS[(turn % kinds) as usize])
}
