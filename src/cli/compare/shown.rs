//! What a comparison says: each difference with its sentence, its case in a file, and the commands that run it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::{Args, StoreArg};
use crate::candles::{Changed, Crates, Named};
use crate::causes::{KnownFailures, Sighting};
use crate::compare::{self, Compared, Plan, Reach};
use crate::console::Shell;
use crate::device::Device;
use crate::exec::CandleUnderTest;
use crate::oracle::Signature;
use crate::report::{Comparison, Difference, Turned, changed};
use crate::store::keep_case;

/// The comparison of two candles from which the same workers are built.
pub fn unchanged(args: &Args, devices: &[Device], crates: &[Crates; 2], changed: &Changed) -> Comparison {
    let others: Vec<&str> = changed.others.iter().map(String::as_str).collect();
    let note = match () {
        () if !others.is_empty() => format!("no worker is built from what differs: {}", others.join(", ")),
        () if crates[0].digest() == crates[1].digest() => "the sources of both are the same".to_string(),
        () => "the sources that workers are built from are the same".to_string(),
    };
    Comparison { note: Some(note), ..of([&args.base, &args.head].map(|named| format!("candle {named}")), devices) }
}

fn of([base, head]: [String; 2], devices: &[Device]) -> Comparison {
    Comparison { base, head, devices: devices.iter().map(ToString::to_string).collect(), ..Comparison::default() }
}

/// What was compared by `plan`, with its cases in files.
pub fn comparison(
    args: &Args,
    store: &StoreArg,
    (plan, reaches): (&Plan, &BTreeMap<&'static str, Reach>),
    compared: &Compared,
    (ops, left_out, changed): (usize, Vec<String>, Changed),
) -> anyhow::Result<Comparison> {
    let [base, head] = [&args.base, &args.head].map(|named| Named::parse(named).map(|named| named.folder()));
    let folder = store.within("compared").path().join(format!("{}..{}", base?, head?));
    let known = args.known.failures()?;
    let near = |op: &str| reaches.get(op).and_then(|reach| reach.change.clone());
    let shells = plan.specs.each_ref().map(|spec| Shell::new(None).on(spec.candle.as_deref(), None));
    let turned = |it: &compare::Turned| Turned {
        name: it.name.clone(),
        title: it.title.clone(),
        device: it.device.to_string(),
        before: it.does[0].clone(),
        after: it.does[1].clone(),
        replay: shells.each_ref().map(|shell| shell.on_the_same(&format!("replay {}", args.known.to_replay(&it.name)))),
    };
    Ok(Comparison {
        seed: plan.seed,
        ops,
        left_out,
        changed: changed.files.into_iter().collect(),
        cases: compared.cases,
        seconds: compared.seconds,
        unsteady: compared.unsteady.iter().cloned().collect(),
        broken: compared.broken,
        regressions: compared.turned.iter().map(turned).collect(),
        differences: compared
            .differences
            .iter()
            .map(|it| difference(it, near(&it.case.op), &known, (&folder, &shells)))
            .collect::<Result<_, _>>()?,
        ..of(plan.specs.each_ref().map(|spec| CandleUnderTest::described(spec.candle.as_deref())), &plan.devices)
    })
}

/// A difference, with its case in a file of `folder`. It is due to the change that its op is nearest to; far from all, to a known cause.
fn difference(
    it: &compare::Difference,
    change: Option<String>,
    known: &KnownFailures,
    (folder, shells): (&Path, &[Shell; 2]),
) -> anyhow::Result<Difference> {
    let what = changed(&it.case.op, &it.change);
    let file: PathBuf = keep_case(folder, &slug(&format!("{} {what}", it.change.class.name())), &it.case)?;
    let does = |side: &compare::Side| {
        let own = side.observations.iter().find(|seen| seen.device == it.change.device);
        own.map_or_else(String::new, |seen| seen.outcome.summary())
    };
    let [before, after] = it.seen.each_ref().map(does);
    let device = it.change.device;
    let cause = it.change.signature.as_ref().and_then(|signature| {
        let case = &it.case;
        known.cause_of(&Sighting { signature, case, devices: [device].into(), candle: None })
    });
    Ok(Difference {
        due_to: change.or_else(|| cause.map(|cause| format!("the cause “{}”", cause.title))),
        class: it.change.class,
        what,
        op: it.case.op.clone(),
        rank: it.change.signature.as_ref().map(Signature::rank),
        signature: it.change.signature.clone(),
        device: it.change.device.to_string(),
        detail: it.change.detail.clone(),
        before,
        after,
        case: it.case.to_text(),
        replay: shells.each_ref().map(|shell| shell.replay(&file)),
        file: file.display().to_string(),
        minimal: it.minimal,
        after_cases: it.after_cases,
    })
}

/// A text as the name of a file.
fn slug(text: &str) -> String {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '.' || c == '_'));
    words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-").to_lowercase()
}
