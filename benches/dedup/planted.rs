//! Runs drawn cases with one planted bug, and settles the failures as a hunt does.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::examine::{Patience, violation};
use snuffer::exec::{Build, Executor, Limits};
use snuffer::generate::random;
use snuffer::generate::{Draw, Mode};
use snuffer::hunt::Sample;
use snuffer::ops::{self, canary};
use snuffer::oracle::{Kind, Signature, Violation};
use snuffer::settle::{Settings, Source, canonical, settle};
use snuffer::tensor::DType;

/// As in hunts.
pub const DEVICES: [Device; 2] = [Device::Cpu, Device::Sim(0)];

/// How many failures, and how many passing cases, to take per op.
const FAILURES: usize = 10;

/// How many ops to take: the first with a failure.
const OPS: usize = 4;

/// A drawn case by its op and index, and its failure without the bug.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Drawn {
    pub op: String,
    pub index: u64,
    pub healthy: Option<Signature>,
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
    /// Each failing case with the signature of its canonical form.
    pub failures: Vec<(Drawn, Signature)>,
    /// Passing cases of the same ops.
    pub passes: Vec<Drawn>,
    /// The minimized case of each signature, and its violation.
    pub findings: BTreeMap<String, (Case, Violation)>,
}

/// Runs `drawn` with a planted bug, up to a number of failures.
pub fn notice(drawn: Vec<Drawn>) -> anyhow::Result<Noticed> {
    let mut executor = Executor::start(&DEVICES, Build::Checked, Limits::default())?;
    let mut noticed = Noticed::default();
    let (mut failed, mut passed) = (BTreeMap::<String, usize>::new(), BTreeMap::<String, usize>::new());
    // A case that is late without the bug may only be slow, so it proves nothing.
    let late = |drawn: &Drawn| drawn.healthy.as_ref().is_some_and(|signature| signature.kind == Kind::Hang);
    for drawn in drawn.into_iter().filter(|drawn| !late(drawn)) {
        let count = failed.get(&drawn.op).copied();
        if count.map_or(failed.len() >= OPS, |count| count >= FAILURES) {
            continue;
        }
        let case = drawn.case();
        let Some(signature) = fails(&mut executor, &case)? else {
            let passed = passed.entry(drawn.op.clone()).or_default();
            *passed += 1;
            if *passed <= FAILURES {
                noticed.passes.push(drawn);
            }
            continue;
        };
        if Some(&signature) != drawn.healthy.as_ref() {
            *failed.entry(drawn.op.clone()).or_default() += 1;
            let signature = kept(&mut executor, &mut noticed, case, signature)?;
            noticed.failures.push((drawn, signature));
        }
    }
    let ops: BTreeSet<&String> = failed.keys().collect();
    noticed.passes.retain(|drawn| ops.contains(&drawn.op));
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
        let Some(signature) = fails(executor, &case)? else { continue };
        let drawn = Drawn { op: case.op.clone(), index, healthy: None };
        let signature = kept(executor, &mut noticed, case, signature)?;
        noticed.failures.push((drawn, signature));
    }
    Ok(noticed)
}

/// The signature of `case`, if it fails.
pub fn fails(executor: &mut Executor, case: &Case) -> anyhow::Result<Option<Signature>> {
    let op = ops::find(&case.op).expect("an op of this build");
    let found = violation(executor, op, case, Patience::Short)?;
    Ok(found.map(|violation| violation.signature(op.name)))
}

/// The signature under which a hunt keeps the failure. The first failure of each signature is minimized.
fn kept(executor: &mut Executor, into: &mut Noticed, case: Case, signature: Signature) -> anyhow::Result<Signature> {
    let (case, signature) = canonical(executor, case, signature)?;
    if let Entry::Vacant(entry) = into.findings.entry(signature.to_string()) {
        let settings = Settings { time: Duration::from_secs(3), tries: 1, ..Settings::default() };
        if let Some(finding) = settle(executor, case, &signature, &settings, Source::default())?.finding {
            entry.insert((finding.case, finding.violation));
        }
    }
    Ok(signature)
}
