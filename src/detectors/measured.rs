//! The result: how many errors a detector found and missed, what it reported falsely, and how long that took.

use std::collections::BTreeMap;

use device_record::Kind;
use schemars::JsonSchema;
use serde::Serialize;

use super::label::{Class, Label};

/// What a detector made of a run.
#[derive(Debug, Clone)]
pub struct Judged {
    /// The command that runs it again.
    pub replay: String,
    /// What it reported; an error if the run proves nothing, with the reason.
    pub reported: Result<Vec<Kind>, String>,
    /// How long it took.
    pub seconds: f64,
    /// How long it takes without checkers, if that was measured.
    pub unchecked_seconds: Option<f64>,
}

/// The result of one detector.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Measured {
    /// The detector: `sim` or `compute-sanitizer`.
    pub detector: &'static str,
    /// By the class of the run.
    pub classes: Vec<Row>,
    /// By the size of the run.
    pub sizes: Vec<Row>,
    /// How often a kind of report is right.
    pub kinds: Vec<Precision>,
    /// The runs whose error was not reported.
    pub missed: Vec<Wrong>,
    /// The runs with a report of an error that they do not contain.
    pub falsely_reported: Vec<Wrong>,
    /// The runs that prove nothing: they did not end as a program does, or need what the device cannot do.
    pub not_run: Vec<NotRun>,
}

/// The counts of some runs.
#[derive(Debug, Clone, Default, Serialize, JsonSchema)]
pub struct Row {
    /// The class, or the size: `up to 32`.
    pub of: String,
    /// How many runs were judged.
    pub runs: usize,
    /// How many contain an error.
    pub with_error: usize,
    /// How many of these were found.
    pub found: usize,
    /// How many have a false report.
    pub falsely_reported: usize,
    /// How long they took, together.
    pub seconds: f64,
    /// How long they take without checkers, if that was measured.
    pub unchecked_seconds: Option<f64>,
}

/// How often a kind of report is right.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Precision {
    /// The kind.
    pub kind: &'static str,
    /// In how many runs it was reported.
    pub reported: usize,
    /// How many of these contain such an error.
    pub right: usize,
}

/// A run that was judged wrongly.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct Wrong {
    /// The class of the run.
    pub class: Class,
    /// The program that it is a variant of, if its label says so.
    pub template: Option<String>,
    /// The name of its error, if its label says so.
    pub bug: Option<String>,
    /// The kinds that were reported.
    pub reported: Vec<&'static str>,
    /// The command that runs it again.
    pub replay: String,
}

/// A run that proves nothing.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub struct NotRun {
    /// The reason.
    pub why: String,
    /// The command that runs it again.
    pub replay: String,
}

impl Measured {
    /// Judges what `detector` reported of each run.
    pub fn of(detector: &'static str, runs: &[(Label, Judged)]) -> Self {
        let (mut classes, mut sizes) = (BTreeMap::<Class, Row>::new(), BTreeMap::<Size, Row>::new());
        let (mut missed, mut falsely_reported, mut not_run) = (Vec::new(), Vec::new(), Vec::new());
        let mut kinds: Vec<Precision> =
            Kind::ALL.iter().map(|kind| Precision { kind: kind.name(), reported: 0, right: 0 }).collect();
        for (label, judged) in runs {
            let reported = match &judged.reported {
                Ok(reported) => reported,
                Err(why) => {
                    not_run.push(NotRun { why: why.clone(), replay: judged.replay.clone() });
                    continue;
                }
            };
            let (has_error, is_found) = (label.class != Class::None, label.finds(reported));
            let is_false = reported.iter().any(|kind| !label.allows(*kind));
            let class = classes.entry(label.class).or_insert_with(|| Row::named(label.class.name().to_string()));
            let size = Size::of(label.size);
            for row in [class, sizes.entry(size).or_insert_with(|| Row::named(size.to_string()))] {
                row.count(has_error, is_found, is_false, judged);
            }
            for (kind, precision) in Kind::ALL.iter().zip(&mut kinds).filter(|(kind, _)| reported.contains(kind)) {
                precision.reported += 1;
                precision.right += usize::from(label.allows(*kind));
            }
            let wrong = || Wrong::new(label, reported, judged);
            missed.extend((has_error && !is_found).then(wrong));
            falsely_reported.extend(is_false.then(wrong));
        }
        kinds.retain(|precision| precision.reported > 0);
        let (classes, sizes) = (classes.into_values().collect(), sizes.into_values().collect());
        Self { detector, classes, sizes, kinds, missed, falsely_reported, not_run }
    }

    /// True if each error was found and nothing else, apart from errors of classes that are `known` to be missed.
    pub fn is_perfect(&self, known: &[Class]) -> bool {
        self.missed.iter().all(|wrong| known.contains(&wrong.class)) && self.falsely_reported.is_empty()
    }

    /// How many runs were judged.
    pub fn runs(&self) -> usize {
        self.classes.iter().map(|row| row.runs).sum()
    }
}

impl Label {
    /// True if one of these kinds is the error that the run contains.
    fn finds(&self, reported: &[Kind]) -> bool {
        self.class.kinds().iter().any(|kind| reported.contains(kind))
    }

    /// True if a report of this kind is right.
    fn allows(&self, kind: Kind) -> bool {
        [self.class].iter().chain(&self.also).any(|class| class.kinds().contains(&kind))
    }
}

impl Row {
    fn named(of: String) -> Self {
        Self { of, ..Self::default() }
    }

    fn count(&mut self, has_error: bool, is_found: bool, is_false: bool, judged: &Judged) {
        self.runs += 1;
        self.with_error += usize::from(has_error);
        self.found += usize::from(is_found);
        self.falsely_reported += usize::from(is_false);
        self.seconds += judged.seconds;
        if let Some(seconds) = judged.unchecked_seconds {
            *self.unchecked_seconds.get_or_insert_default() += seconds;
        }
    }
}

impl Wrong {
    fn new(label: &Label, reported: &[Kind], judged: &Judged) -> Self {
        let reported = reported.iter().map(|kind| kind.name()).collect();
        let Label { class, template, bug, .. } = label.clone();
        Self { class, template, bug, reported, replay: judged.replay.clone() }
    }
}

/// A range of sizes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Size {
    UpTo(u64),
    Larger,
    Unknown,
}

/// The largest sizes of the ranges: tiny inputs, those within a warp, within a block of a few warps, and others.
const RANGES: [u64; 5] = [2, 5, 32, 128, 512];

impl Size {
    fn of(size: Option<u64>) -> Self {
        let Some(size) = size else { return Self::Unknown };
        RANGES.into_iter().find(|most| size <= *most).map_or(Self::Larger, Self::UpTo)
    }
}

impl std::fmt::Display for Size {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::UpTo(most) => write!(f, "up to {most}"),
            Self::Larger => f.write_str("larger"),
            Self::Unknown => f.write_str("unknown"),
        }
    }
}
