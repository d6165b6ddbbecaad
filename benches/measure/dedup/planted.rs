//! Runs drawn cases with one planted bug, and settles the failures as a hunt does.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::examine::{Patience, violations};
use snuffer::exec::{Executor, WorkerSpec};
use snuffer::generate::random;
use snuffer::generate::{Draw, Mode};
use snuffer::hunt::Sample;
use snuffer::ops::{self, canary};
use snuffer::oracle::{Kind, Signature, Violation};
use snuffer::settle::{Settings, canonical, settle};
use snuffer::tensor::DType;

/// As in hunts.
pub const DEVICES: [Device; 2] = [Device::Cpu, Device::Sim(0)];

/// How many failures to take per op.
const FAILURES: usize = 10;

/// How many ops to take: the first with a failure.
const OPS: usize = 4;

/// A drawn case by its op and index, and its failures without the bug.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Drawn {
    pub op: String,
    pub index: u64,
    pub healthy: Vec<Signature>,
}

impl Drawn {
    /// The case.
    pub fn case(&self) -> Case {
        let op = ops::find(&self.op).expect("an op of this build");
        Sample::nth(&[op], &Mode::ALL, 1, self.index).drawn.case
    }
}

/// The failures that one planted bug causes.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Noticed {
    /// Each failing case with the main signature under which a hunt keeps it, of those that it does not have without the bug.
    pub failures: Vec<(Drawn, Signature)>,
    /// The signatures of all that a hunt keeps.
    pub signatures: BTreeSet<Signature>,
    /// The minimized case of each signature, and its violation.
    pub findings: BTreeMap<String, (Case, Violation)>,
}

/// Runs `drawn` with a planted bug, up to a number of failures.
pub fn notice(drawn: Vec<Drawn>) -> anyhow::Result<Noticed> {
    let mut executor = Executor::start(&DEVICES, &WorkerSpec::default())?;
    let mut noticed = Noticed::default();
    let mut failed = BTreeMap::<String, usize>::new();
    // A case that is late without the bug may only be slow, so it proves nothing.
    let late = |drawn: &Drawn| drawn.healthy.iter().any(|signature| signature.kind == Kind::Hang);
    for drawn in drawn.into_iter().filter(|drawn| !late(drawn)) {
        let count = failed.get(&drawn.op).copied();
        if count.map_or(failed.len() >= OPS, |count| count >= FAILURES) {
            continue;
        }
        let case = drawn.case();
        let mut found = fails(&mut executor, &case)?;
        found.retain(|signature| !drawn.healthy.contains(signature));
        if !found.is_empty() {
            *failed.entry(drawn.op.clone()).or_default() += 1;
            settle_all(&mut executor, &mut noticed, drawn, &case, found)?;
        }
    }
    Ok(noticed)
}

/// The failures that a fault of the canary causes, with tensors of all kinds.
pub fn canary_fault(executor: &mut Executor, fault: &str) -> anyhow::Result<Noticed> {
    let mut noticed = Noticed::default();
    for index in 0..FAILURES as u64 {
        let bytes = random("canary", 1, index);
        let mut draw = Draw::new(&bytes);
        let shape = draw.shape(1, 3)?;
        let case = canary::case(fault).input("x", draw.tensor(DType::F32, &shape)?);
        let found = fails(executor, &case)?;
        let drawn = Drawn { op: case.op.clone(), index, healthy: Vec::new() };
        settle_all(executor, &mut noticed, drawn, &case, found)?;
    }
    Ok(noticed)
}

/// How `case` fails, the main signature first.
pub fn fails(executor: &mut Executor, case: &Case) -> anyhow::Result<Vec<Signature>> {
    let op = ops::find(&case.op).expect("an op of this build");
    let found = violations(executor, op, case, Patience::Short)?;
    Ok(found.iter().map(|violation| violation.signature(op.name)).collect())
}

/// Keeps the signatures `found` of a failing case as a hunt does.
fn settle_all(
    executor: &mut Executor,
    into: &mut Noticed,
    drawn: Drawn,
    case: &Case,
    found: Vec<Signature>,
) -> anyhow::Result<()> {
    let mut all = Vec::new();
    for signature in found {
        all.push(kept(executor, into, case.clone(), signature)?);
    }
    into.failures.extend(all.into_iter().next().map(|main| (drawn, main)));
    Ok(())
}

/// The signature under which a hunt keeps the failure. The first failure of each signature is minimized, and each that a simpler
/// case may not need.
fn kept(executor: &mut Executor, into: &mut Noticed, case: Case, signature: Signature) -> anyhow::Result<Signature> {
    let (case, signature) = canonical(executor, case, signature)?;
    let covering = |into: &Noticed, signature: &Signature| {
        let exact = into.signatures.contains(signature).then_some(signature);
        exact.or_else(|| into.signatures.iter().find(|known| known.covers(signature))).cloned()
    };
    if let Some(known) = covering(into, &signature).filter(|known| !known.may_shrink()) {
        return Ok(known);
    }
    let settings = Settings { time: Duration::from_secs(3), tries: 1, ..Settings::default() };
    let Some(finding) = settle(executor, case, &signature, settings)?.finding else {
        return Ok(signature);
    };
    if let Some(known) = covering(into, &finding.signature) {
        return Ok(known);
    }
    into.findings.entry(finding.signature.to_string()).or_insert((finding.case, finding.violation));
    into.signatures.insert(finding.signature.clone());
    Ok(finding.signature)
}
