//! Candidate rules that group findings of different ops by cause.

use std::collections::{BTreeMap, BTreeSet};

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, WorkerSpec};
use snuffer::oracle::Violation;
use snuffer::store::Cause;
use snuffer::tensor::DType;

use super::pairs::Pairs;
use super::planted::Noticed;

/// Kernels by name.
pub type Kernels = BTreeSet<String>;

/// A finding of a planted bug, with the properties that rules compare.
struct Finding<'a> {
    bug: &'a str,
    op: &'a str,
    /// The source line in its site.
    place: Option<String>,
    /// The kernel that the device reports.
    at_fault: Option<String>,
    /// The cause that the violation names.
    cause: Option<Cause>,
    /// Its message without numbers and dtypes.
    message: String,
    /// The kernels that the minimized case launches.
    launches: Kernels,
    /// The launched kernel that the fewest ops launch.
    rarest: Option<String>,
    /// The launched kernel that best separates the failing cases of the signature from passing cases of the op; of several,
    /// the rarest.
    telling: Option<String>,
}

/// A rule that groups findings.
type Rule = fn(&Finding, &Finding) -> bool;

/// All candidate rules.
const RULES: &[(&str, Rule)] = &[
    ("same place in candle's code", |a, b| same(a.place.as_ref(), b.place.as_ref())),
    ("same kernel at fault, as the device says", |a, b| same(a.at_fault.as_ref(), b.at_fault.as_ref())),
    ("what `snuffer findings similar` says", |a, b| a.cause.is_some() && a.cause == b.cause),
    ("same message without numbers and dtypes", |a, b| a.message == b.message),
    ("the minimized cases launch the same kernels", |a, b| !a.launches.is_empty() && a.launches == b.launches),
    ("same rarest kernel of the minimized case", |a, b| same(a.rarest.as_ref(), b.rarest.as_ref())),
    ("same kernel that tells failing cases from passing ones best", |a, b| {
        same(a.telling.as_ref(), b.telling.as_ref())
    }),
    ("kernel at fault, else the rarest", |a, b| same(a.at_fault_or_rarest(), b.at_fault_or_rarest())),
    ("kernel at fault, else the one that tells best", |a, b| same(a.at_fault_or_telling(), b.at_fault_or_telling())),
];

impl Finding<'_> {
    fn at_fault_or_rarest(&self) -> Option<&String> {
        self.at_fault.as_ref().or(self.rarest.as_ref())
    }

    fn at_fault_or_telling(&self) -> Option<&String> {
        self.at_fault.as_ref().or(self.telling.as_ref())
    }
}

fn same(a: Option<&String>, b: Option<&String>) -> bool {
    a.is_some() && a == b
}

/// Precision and recall of each rule over pairs of findings of different ops. `launched` has the kernels of each op.
pub fn table(bugs: &[(&str, Noticed)], launched: &BTreeMap<String, Kernels>) -> anyhow::Result<String> {
    let users = |kernel: &String| launched.values().filter(|kernels| kernels.contains(kernel)).count();
    let mut findings = Vec::new();
    for (bug, noticed) in bugs {
        findings.extend(of_bug(bug, noticed, &users)?);
    }
    let mut text =
        format!("\n{} findings\n\n| findings of different ops | precision | recall |\n|---|---|---|\n", findings.len());
    for (name, rule) in RULES {
        let pairs = Pairs::of(&findings, |a, b| a.op != b.op, rule, |a, b| a.bug == b.bug);
        text += &format!("| {name} | {} |\n", pairs.row());
    }
    Ok(text)
}

fn of_bug<'a>(
    bug: &'a str,
    noticed: &'a Noticed,
    users: &dyn Fn(&String) -> usize,
) -> anyhow::Result<Vec<Finding<'a>>> {
    let passing = noticed.passes.iter().map(|drawn| Ok((&drawn.op, kernels(&drawn.case())?)));
    let passing: Vec<(&String, Kernels)> = passing.collect::<anyhow::Result<_>>()?;
    let mut findings = Vec::new();
    for (signature, (case, violation)) in &noticed.findings {
        let launches = kernels(case)?;
        let failing: Vec<_> = noticed.failures.iter().filter(|(_, of)| of.to_string() == *signature).collect();
        let ops: BTreeSet<&String> = failing.iter().map(|(drawn, _)| &drawn.op).collect();
        let failing = failing.iter().map(|(drawn, _)| kernels(&drawn.case()));
        let failing: Vec<Kernels> = failing.collect::<anyhow::Result<_>>()?;
        let passing: Vec<&Kernels> = passing.iter().filter(|(op, _)| ops.contains(op)).map(|(_, all)| all).collect();
        let tells = |kernel: &&String| telling(kernel, &failing, &passing);
        let best = launches.iter().map(|kernel| tells(&kernel)).max();
        let rarest = |kernels: &mut dyn Iterator<Item = &String>| kernels.min_by_key(|kernel| users(kernel)).cloned();
        findings.push(Finding {
            bug,
            op: &case.op,
            place: place(&violation.site),
            at_fault: at_fault(violation),
            cause: Cause::of(violation),
            message: without_numbers(&violation.detail),
            rarest: rarest(&mut launches.iter()),
            telling: rarest(&mut launches.iter().filter(|kernel| Some(tells(kernel)) == best)),
            launches,
        });
    }
    Ok(findings)
}

/// How well a kernel separates failing cases from passing ones, in thousandths: Ochiai's coefficient.
fn telling(kernel: &str, failing: &[Kernels], passing: &[&Kernels]) -> u64 {
    let failed = failing.iter().filter(|kernels| kernels.contains(kernel)).count() as f64;
    let passed = passing.iter().filter(|kernels| kernels.contains(kernel)).count() as f64;
    let all = failing.len() as f64 * (failed + passed);
    if all == 0.0 { 0 } else { (1000.0 * failed / all.sqrt()) as u64 }
}

/// The kernels that `case` launches without a planted bug.
fn kernels(case: &Case) -> anyhow::Result<Kernels> {
    let mut executor = Executor::start(&[Device::Sim(0)], &WorkerSpec::default())?;
    executor.observe(case, Deadline::Short)?;
    Ok(executor.finish()?.kernels.into_keys().map(|(_, kernel)| kernel).collect())
}

/// The function in a site, such as `gather (candle-kernels/src/indexing.cu)`.
fn place(site: &str) -> Option<String> {
    let place = site.split_inclusive(')').next()?;
    [".rs)", ".cu)", ".cuh)"].iter().any(|end| place.ends_with(end)).then(|| place.to_string())
}

/// The kernel in a sanitizer's report, such as `is_u32_f32`.
fn at_fault(violation: &Violation) -> Option<String> {
    let (_, rest) = violation.detail.split_once("; at ")?;
    Some(rest.split_once('(')?.0.to_string())
}

fn without_numbers(message: &str) -> String {
    let words = message.split(|c: char| !c.is_alphabetic()).filter(|word| !word.is_empty());
    let mut words: Vec<&str> = words.collect();
    words.retain(|word| DType::ALL.iter().all(|dtype| dtype.name().trim_end_matches(char::is_numeric) != *word));
    words.join(" ")
}
