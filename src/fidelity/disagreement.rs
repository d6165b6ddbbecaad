//! A disagreement: minimized as a finding is, and kept in a folder.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use schemars::JsonSchema;
use serde::Serialize;

use super::Plan;
use super::difference::{Difference, Element};
use super::judge::{Judged, Standing, judge};
use super::pair::Pair;
use super::plan::Item;
use super::values::Values;
use crate::case::Case;
use crate::ops::Op;
use crate::settle::minimize::minimize;
use crate::store::write_atomically;

/// How many candidates the minimizer may try.
const ATTEMPTS: usize = 5_000;

/// How often the minimized case is run in new processes.
const TRIES: u32 = 3;

/// What makes two disagreements one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Key {
    op: &'static str,
    standing: Standing,
    what: String,
}

impl Key {
    /// The key of a difference of this op.
    pub fn new(op: &'static Op, judged: &Judged) -> Self {
        let what = match &judged.difference {
            Difference::End(left, right) => format!("{left} against {right}"),
            Difference::Shape(_) => "shapes differ".to_string(),
            Difference::Values(_) => "values differ".to_string(),
        };
        Self { op: op.name, standing: judged.standing, what }
    }
}

/// A minimized disagreement.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Disagreement {
    /// What it means.
    pub standing: Standing,
    /// The op.
    pub op: String,
    /// How the outcomes differ, in a few words.
    pub what: String,
    /// How they differ in the minimized case.
    pub difference: String,
    /// The element that is furthest off, if values differ.
    pub element: Option<Element>,
    /// What allows the difference, or what does not.
    pub why: String,
    /// The kernels and library functions that the minimized case launches, the most suspect first.
    pub kernels: Vec<String>,
    /// The outcome on the simulated device, in a line.
    pub simulated: String,
    /// The outcome on the other device, in a line.
    pub other: String,
    /// The index of the case in which it was found.
    pub index: u64,
    /// How often the minimized case was run in new processes.
    pub tries: u32,
    /// How often it differed in the same way.
    pub differed: u32,
    /// Whether no pass can make the case simpler; false if the minimizer ran out of time.
    pub minimal: bool,
    /// The file with the minimized case.
    pub file: PathBuf,
    #[serde(skip)]
    case: Case,
}

/// Minimizes the case of a difference and runs the result in new processes.
pub fn settle(
    pair: &mut Pair,
    plan: &Plan,
    Item { op, case, index }: Item,
    judged: Judged,
    key: &Key,
    stop: &AtomicBool,
) -> anyhow::Result<Disagreement> {
    let (started, mut attempts) = (Instant::now(), 0);
    let minimized = minimize(case, |candidate| -> anyhow::Result<Option<bool>> {
        attempts += 1;
        if started.elapsed() > plan.minimize || attempts > ATTEMPTS || stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        Ok(Some(op.check(candidate).is_ok() && differs(pair, candidate, op, key)?.is_some()))
    })?;
    let (mut last, mut differed) = (judged, 0);
    for _ in 0..TRIES {
        pair.restart()?;
        if let Some(again) = differs(pair, &minimized.case, op, key)? {
            last = again;
            differed += 1;
        }
    }
    let both = pair.run(&minimized.case)?;
    let Key { op, standing, what } = key.clone();
    let element = match &last.difference {
        Difference::Values(element) => Some(element.clone()),
        Difference::End(..) | Difference::Shape(_) => None,
    };
    Ok(Disagreement {
        standing,
        op: op.to_string(),
        file: plan.into.join(standing.words().replace(' ', "-")).join(format!("{op}--{}.toml", slug(&what))),
        what,
        difference: last.difference.to_string(),
        element,
        why: last.why,
        kernels: both.launched.kernels.into_iter().chain(both.launched.libraries).collect(),
        simulated: both.simulated.outcome.summary(),
        other: both.other.outcome.summary(),
        index,
        tries: TRIES,
        differed,
        minimal: minimized.finished,
        case: minimized.case,
    })
}

/// How `case` differs, if it does in the way of `key`.
fn differs(pair: &mut Pair, case: &Case, op: &'static Op, key: &Key) -> anyhow::Result<Option<Judged>> {
    let both = pair.run(case)?;
    let judged = judge(&mut pair.simulated, case, &both, &mut Values::default())?;
    Ok(judged.filter(|judged| Key::new(op, judged) == *key))
}

/// `what` as a part of a file's name.
fn slug(what: &str) -> String {
    let words = what.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let mut slug = words.collect::<Vec<_>>().join("-").to_lowercase();
    slug.truncate(120);
    slug
}

impl Disagreement {
    /// The minimized case.
    pub fn case(&self) -> &Case {
        &self.case
    }

    /// Writes the file: the case, which `snuffer replay` takes, below comments that say how it differs.
    pub fn keep(&self, plan: &Plan) -> anyhow::Result<()> {
        let [simulated, other] = plan.devices;
        let lines = [
            format!("{}: {}: {}", self.standing.words(), self.op, self.what),
            self.difference.clone(),
            self.why.clone(),
            format!("{simulated}: {}", self.simulated),
            format!("{other}: {}", self.other),
            format!("launches {}", self.kernels.join(", ")),
            format!("differed in {} of {} new processes", self.differed, self.tries),
            format!("seed {}, case {}", plan.seed, self.index),
        ];
        let comments: Vec<String> = lines.iter().map(|line| format!("# {}", line.replace('\n', " "))).collect();
        write_atomically(&self.file, format!("{}\n\n{}", comments.join("\n"), self.case.to_text()).as_bytes())
    }
}
