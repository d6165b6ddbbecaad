//! Workarounds that a change of the call expresses: the changed call passes where the call fails.

use std::collections::BTreeMap;

use snuffer::case::Case;
use snuffer::causes::{RootCause, Sighting, cause_of};
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, Limits};
use snuffer::ops;
use snuffer::oracle::{Evidence, Verdict, Violation, judge};

use crate::kept::regressions;
use crate::known;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Each: a_workaround_passes_where_a_call_fails_for_its_cause];

fn a_workaround_passes_where_a_call_fails_for_its_cause(device: Device) {
    let causes = RootCause::own().expect("causes");
    let both = [Device::Cpu, device];
    let devices = if device == Device::Cpu { &both[1..] } else { &both[..] };
    let mut executor = Executor::start(devices, &Limits::default().into()).expect("a worker starts");
    let mut tried: BTreeMap<&str, usize> = BTreeMap::new();
    let mut wrong = Vec::new();
    for (cause, case) in failing(&causes, device) {
        let Some(changed) = cause.instead.as_ref().and_then(|instead| instead.of(&case)) else { continue };
        let op = ops::find(&changed.op).expect("an op");
        let observations = executor.observe(&changed, Deadline::Full).expect("the harness survives");
        let verdict = judge(&Evidence::new(op, &changed, &observations));
        let is_the_same = |found: &Violation| {
            let signature = &found.signature(op.name);
            let failure = Sighting { signature, case: &changed, devices: found.devices().collect(), candle: None };
            // The call may run into something else.
            cause_of(&causes, &failure).is_none_or(|other| other.name == cause.name)
        };
        if verdict.violations().iter().any(is_the_same) {
            wrong.push(format!("{}: {verdict:?}\n{}", cause.name, changed.to_text()));
        }
        let is_judged = !matches!(verdict, Verdict::Skip(_));
        *tried.entry(&cause.name).or_default() += usize::from(is_judged);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let kind = if device == Device::Cpu { "cpu" } else { "cuda" };
    let is_here = |cause: &&RootCause| cause.on().contains(&kind);
    let claimed = causes.iter().filter(|cause| cause.instead.is_some()).filter(is_here);
    let untried: Vec<&str> = claimed
        .map(|cause| cause.name.as_str())
        .filter(|name| tried.get(name).is_none_or(|judged| *judged == 0))
        .collect();
    assert!(untried.is_empty(), "no kept call shows that these workarounds help: {}", untried.join(", "));
}

/// The kept calls that fail on `device`, each with its cause.
fn failing(causes: &[RootCause], device: Device) -> Vec<(&RootCause, Case)> {
    let regressions = regressions();
    let kept = regressions.iter().filter_map(|(_, kept)| Sighting::kept(kept));
    let known: Vec<known::Failure> = ops::ALL.iter().flat_map(|op| known::of(op.name)).collect();
    let on =
        |failure: &known::Failure| [Device::Cpu, Device::Sim(0)].into_iter().filter(|on| failure.is_on(*on)).collect();
    let known = known.iter().map(|failure| Sighting {
        signature: &failure.signature,
        case: &failure.case,
        devices: on(failure),
        candle: None,
    });
    let is_here = |failure: &Sighting| failure.devices.iter().any(|on| (*on == Device::Cpu) == (device == Device::Cpu));
    let all = kept.chain(known).filter(is_here);
    all.filter_map(|failure| Some((cause_of(causes, &failure)?, failure.case.clone()))).collect()
}
