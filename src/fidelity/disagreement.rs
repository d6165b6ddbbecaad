//! A disagreement: minimized as a finding is, and kept in a folder.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use schemars::JsonSchema;
use serde::Serialize;

use super::Plan;
use super::difference::{Difference, Element};
use super::judge::{Judged, Standing, judge};
use super::pair::Pair;
use super::plan::Item;
use super::values::Values;
use crate::case::Case;
use crate::examine::Patience;
use crate::ops::{Contract, Op};
use crate::settle::{Budget, Effort, Failure, Problem, Seen, Simplest, simplest};
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

/// Both devices, whose disagreements are settled.
struct Disagreeing<'a> {
    pair: &'a mut Pair,
    stop: &'a AtomicBool,
}

impl Failure for Key {
    fn is_same(&self, other: &Self) -> bool {
        self == other
    }

    fn covers(&self, other: &Self) -> bool {
        self == other
    }

    fn plain_form<'a>(&self, found: &'a [Self]) -> Option<&'a Self> {
        found.iter().find(|other| self == *other)
    }
}

impl Disagreeing<'_> {
    fn judged(&mut self, case: &Case) -> anyhow::Result<Option<Judged>> {
        let both = self.pair.run(case)?;
        judge(&mut self.pair.simulated, case, &both, &mut Values::default())
    }
}

impl Problem for Disagreeing<'_> {
    type Failure = Key;
    /// The last difference, and how often it showed.
    type Proof = (Judged, u32);

    /// [`Pair::run`] has patience of its own.
    fn failures(&mut self, op: &'static Op, case: &Case, _: Patience) -> anyhow::Result<Seen<Key>> {
        let key = self.judged(case)?.map(|judged| Key::new(op, &judged));
        Ok(Seen { failures: key.into_iter().collect(), is_late: false })
    }

    fn prove(&mut self, op: &'static Op, case: &Case, key: &Key, _: Effort) -> anyhow::Result<Option<(Judged, u32)>> {
        let mut proof = None;
        for _ in 0..TRIES {
            self.pair.restart()?;
            if let Some(again) = self.judged(case)?.filter(|judged| Key::new(op, judged) == *key) {
                proof = Some((again, proof.map_or(1, |(_, differed)| differed + 1)));
            }
        }
        Ok(proof)
    }

    /// Devices are compared without any contract.
    fn keeps(&self, _: &Contract, _: &Contract) -> bool {
        true
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
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
    let budget = Budget { time: plan.minimize, attempts: ATTEMPTS };
    let Simplest { minimized, proof, .. } = simplest(&mut Disagreeing { pair, stop }, op, case, key, budget)?;
    let (last, differed) = proof.unwrap_or((judged, 0));
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
