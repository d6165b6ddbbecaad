//! The reports of all kept regressions keep the rules that a maintainer holds them to.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use snuffer::causes::{KnownFailures, Sighting};
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, Limits, Ran};
use snuffer::investigate::ablation;
use snuffer::ops;
use snuffer::oracle::{Evidence, Kind, judge};
use snuffer::outcome::{Death, Fault, Observation, Outcome, Panic, Phase, Place, Refusal};
use snuffer::program::{ProgramOptions, outputs, program};
use snuffer::report::Report;
use snuffer::store::Finding;
use snuffer::store::regression::Regression;
use snuffer::tensor::View;

use crate::finding::finding;
use crate::kept::regressions;

/// A report and what it is about.
struct Written<'a> {
    text: String,
    title: String,
    finding: &'a Finding,
    known: &'a KnownFailures,
}

impl Written<'_> {
    /// The section with this heading, up to the next one.
    fn section(&self, heading: &str) -> &str {
        let from = self.text.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_default();
        from.split("\n## ").next().unwrap_or_default()
    }

    /// What a person wrote: everything outside of blocks of code.
    fn prose(&self) -> String {
        self.text.split("```").step_by(2).collect()
    }

    fn outcome(&self) -> &Outcome {
        let own = self.finding.violation.device;
        &self.finding.observations.iter().find(|seen| seen.device == own).expect("it fails there").outcome
    }
}

/// A rule as a sentence, and whether a report keeps it.
type Rule = (&'static str, fn(&Written) -> bool);

const RULES: [Rule; 11] = [
    ("it names no path of a machine", |it| {
        let own = env!("CARGO_MANIFEST_DIR");
        ["/tmp/", "/home/", "/root/", own].iter().all(|path| !it.text.contains(path))
    }),
    ("its title fits into a list of issues", |it| it.title.len() <= 120),
    ("what should happen is not what did happen", |it| {
        let Outcome::Returned(returned) = it.outcome() else { return true };
        let happened = returned.outputs.iter().map(|output| format!("{}{:?}", output.dtype, output.shape));
        let happened = format!("Ok with {}.", happened.collect::<Vec<_>>().join(", "));
        let happened = happened.trim_end_matches('.');
        let comments = it.text.lines().filter(|line| line.starts_with("// expected: "));
        !it.section("What should happen").contains(&format!("{happened}."))
            && comments.into_iter().all(|line| !line.ends_with(happened))
    }),
    ("a wrong value stands beside the expected one", |it| {
        let judged = ["reference", "gradient"].contains(&it.finding.signature.oracle.name());
        let is_wrong = judged && it.finding.signature.kind.name() == "wrong value";
        let section = it.section("What should happen");
        let is_beside = |line: &str| {
            line.contains("| expected |")
                || line.contains(" should print ")
                || line.contains(" should be ") && line.contains(", not ")
        };
        is_wrong == section.lines().any(is_beside)
    }),
    ("it allows no error below 1e-30", |it| {
        let tiny = |text: &str| text.split_once("e-").is_some_and(|(_, power)| digits(power) > 30);
        let bounds = it.text.split("± ").skip(1).map(|rest| rest.split([' ', ',', '\n']).next().unwrap_or_default());
        let listed = it.text.lines().find(|line| line.contains("(place, expected, within) in")).unwrap_or_default();
        let listed = listed.split("), (").map(|one| one.rsplit(", ").next().unwrap_or_default());
        !bounds.chain(listed).any(tiny)
    }),
    ("a bad label or id is said to assert in PyTorch on CUDA, too", |it| {
        let asserts = it.finding.signature.kind.name() == "assert";
        !asserts || it.section("What should happen").contains("on the CPU, and asserts on CUDA, too")
    }),
    ("it links what is known upstream", |it| {
        let upstream = it.known.upstream(&Sighting::of(it.finding));
        upstream.is_none_or(|upstream| upstream.urls().all(|url| it.text.contains(url)))
    }),
    ("it says where 80 comes from", |it| {
        let is_around = |view: &View| !view.before.is_empty() || !view.after.is_empty() || !view.step.is_empty();
        let margin = it.finding.case.inputs.values().any(|tensor| is_around(&tensor.view));
        !(margin && it.text.contains("80.0")) || it.text.contains("outside the view")
    }),
    ("it lists no condition that bounds nothing", |it| {
        !it.text.contains("- any ") || it.text.contains("- any number of ")
    }),
    ("it prints an assertion once in its sentences", |it| it.prose().matches("Assertion `").count() <= 1),
    ("it names the largest id of a dtype only if the case has one", |it| {
        let ids = it.finding.case.inputs.values().filter(|tensor| !tensor.dtype.is_float());
        let mut ids = ids.flat_map(|tensor| tensor.ints().into_iter().map(|id| (id, tensor.dtype)));
        let has_largest = ids.any(|(id, dtype)| dtype.int_range().is_some_and(|(_, largest)| id == largest));
        has_largest || !it.prose().contains("largest id") && !it.prose().contains("dtype's maximum")
    }),
];

/// The number that `text` begins with.
fn digits(text: &str) -> u32 {
    text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

#[test]
fn every_report_keeps_every_rule() {
    let known = KnownFailures::new(regressions()).expect("causes");
    let limits = Limits { deadline: Duration::from_secs(20), memory_mib: 1024, ..Limits::default() };
    let mut executor = Executor::start(&[Device::Cpu], &limits.into()).expect("a worker starts");
    let (mut broken, mut written, mut ablated) = (Vec::new(), 0, BTreeSet::new());
    for (name, regression) in known.regressions.iter().filter(|(_, regression)| regression.signature.is_some()) {
        let Some(finding) = found(&mut executor, name, regression) else { continue };
        let op = ops::find(&finding.case.op).expect(name);
        let evidence = Evidence::new(op, &finding.case, &finding.observations);
        // An ablation takes some forty runs: one for each of these ops is enough.
        let family = ["cache", "loss"].iter().any(|family| op.name.starts_with(family));
        let with_ablation = family && ablated.insert(op.name);
        let (text, title) = report(&finding, &evidence, &known, with_ablation.then_some(limits));
        let report = Written { text, title, finding: &finding, known: &known };
        written += 1;
        for (rule, keeps) in RULES {
            if !keeps(&report) {
                broken.push(format!("== {name}: not true that {rule}\n{}", report.text));
            }
        }
    }
    assert!(broken.is_empty(), "{} rules broken\n{}", broken.len(), broken.join("\n"));
    assert!(written >= 100, "only {written} reports");
}

/// The finding that a regression was: seen on the CPU, or else as its snapshot of the simulated device says.
fn found(executor: &mut Executor, name: &str, regression: &Regression) -> Option<Finding> {
    let (signature, case) = (regression.signature.as_ref()?, &regression.case);
    let op = ops::find(&case.op).expect(name);
    // Nobody waits long for what is known to hang.
    let deadline = if signature.kind == Kind::Hang { Deadline::Short } else { Deadline::Full };
    let mut observations = executor.observe(case, deadline).expect("the harness survives");
    observations
        .extend(snapshot(name, &signature.site.to_string()).map(|outcome| Observation::new(Device::Sim(0), outcome)));
    let verdict = judge(&Evidence::new(op, case, &observations));
    let shown = verdict.violations().iter().find(|it| it.signature(op.name) == signature.on_one_device());
    shown.map(|violation| Finding {
        signature: signature.clone(),
        violation: violation.clone(),
        promise: op.promise.into(),
        case: case.clone(),
        observations,
        ..finding("")
    })
}

/// What the simulated device did according to the snapshot, except values.
fn snapshot(name: &str, site: &str) -> Option<Outcome> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/regressions").join(name).join("replay.snap");
    let text = std::fs::read_to_string(path).expect(name);
    let did = text.lines().find_map(|line| line.strip_prefix("sim:0     "))?;
    let (phase, in_backward) = (Phase::Forward, " in backward at ");
    if let Some(message) = did.strip_prefix("Err: ") {
        return Some(Outcome::Rejected(Refusal { variant: site.into(), message: message.into() }));
    }
    if did.starts_with("died") {
        return Some(Outcome::Died(Death { phase, signal: 11, stderr: String::new() }));
    }
    let (kind, rest) = did.split_once(" in forward at ").or_else(|| did.split_once(in_backward))?;
    let phase = if did.contains(in_backward) { Phase::Backward } else { phase };
    let (place, message) = rest.split_once(": ")?;
    let (place, message) = (Place::from(place), message.to_string());
    Some(match kind {
        "panic" => Outcome::Panicked(Panic { phase, place, message }),
        kind => Outcome::Faulted(Fault { phase, kind: kind.to_string().into(), place, message }),
    })
}

/// The report and its title, with a program that seems to have run, and with an ablation under `limits`.
fn report(finding: &Finding, evidence: &Evidence, known: &KnownFailures, limits: Option<Limits>) -> (String, String) {
    let (op, case, device) = (evidence.op, &finding.case, finding.violation.device);
    let seen = finding.observations.iter().find(|seen| seen.device == device).expect("it fails there");
    let comments = Report::comments(evidence, finding, false);
    let options = ProgramOptions { device, comments: &comments, outputs: &outputs(&seen.outcome) };
    let program = program(op, case, &options);
    let ran = Ran { ended: true, code: Some(0), stdout: String::new(), stderr: String::new() };
    let quick = matches!(seen.outcome, Outcome::Returned(_) | Outcome::Rejected(_) | Outcome::Panicked(_));
    let matters = match (device, limits) {
        (Device::Cpu, Some(limits)) if quick => {
            ablation(finding, limits, Duration::from_secs(600), &|_| ()).expect("the harness survives")
        }
        _ => Vec::new(),
    };
    let report = Report {
        program: program.as_deref().map(|text| (text, &ran)).map_err(String::as_str),
        ablation: &matters,
        ..Report::new(finding, evidence, known)
    };
    (report.markdown(), report.title())
}
