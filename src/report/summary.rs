//! What campaigns came to: how much ran and where, what nothing explains of the findings, and the known causes of the rest. The
//! end of a hunt, the summary of a CI job and the site show the same.

mod campaign;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use schemars::JsonSchema;
use serde::Serialize;

use super::markdown::text::inline;
use super::words;
use crate::causes::{Explanation, KnownFailures, RootCause};
use crate::oracle::Rank;
use crate::store::{Counts, Finding, Record, Tally, id};
pub(super) use campaign::description;
use campaign::row;

/// How many of the worst findings are listed.
const WORST: usize = 10;

/// A summary of campaigns and findings.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Summary {
    /// How much ran.
    pub ran: Ran,
    /// What was found.
    pub found: Found,
}

/// How much ran, and where.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Ran {
    /// How many campaigns.
    pub campaigns: usize,
    /// How many ops.
    pub ops: usize,
    /// On which devices.
    pub devices: BTreeSet<String>,
    /// How many cases, by verdict.
    pub counts: Counts,
    /// Seconds of work in all campaigns together.
    pub seconds: f64,
}

/// Findings by rank and by cause.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Found {
    /// How many findings there are.
    pub findings: usize,
    /// How many of them are known: a cause or a regression explains them.
    pub known: usize,
    /// How many there are of each rank.
    pub ranks: BTreeMap<Rank, usize>,
    /// How many of each rank are new: nothing explains them.
    pub new: BTreeMap<Rank, usize>,
    /// The known causes of the others, first those that most layers and models meet.
    pub causes: Vec<Group>,
    /// The ten worst: new ones before known ones, and one of each cause before the second of any.
    pub worst: Vec<Item>,
}

/// The findings of one known cause.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Group {
    /// The cause in words.
    pub cause: String,
    /// How much it matters: its rank, how ordinary the calls are that meet it, and how many models make such calls.
    pub impact: usize,
    /// How many findings it explains.
    pub findings: usize,
    /// Their worst rank.
    pub rank: Rank,
    /// The upstream issue or pull request of that cause or regression.
    pub upstream: Option<String>,
}

/// A finding in a line.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Item {
    /// Its name in the store.
    pub name: String,
    /// The short form of its name.
    pub id: String,
    /// How bad it is.
    pub rank: Rank,
    /// True if a cause or a regression explains it.
    pub known: bool,
    /// What happens, in plain words.
    pub sentence: String,
}

impl Summary {
    /// The summary of `records` and `findings`, explained by what is `known`.
    pub fn new(records: &[&Record], findings: &[(String, Finding)], known: &KnownFailures) -> Self {
        let tally = Tally::sum(records.iter().copied());
        let ran = Ran {
            campaigns: records.len(),
            ops: tally.ops.len(),
            devices: records.iter().flat_map(|record| record.devices.iter().cloned()).collect(),
            counts: tally.total,
            seconds: records.iter().map(|record| record.seconds).sum(),
        };
        Self { ran, found: Found::new(findings, known) }
    }

    /// Whether a finding of this rank or a worse one is new: nothing explains it.
    pub fn has_news(&self, least: Rank) -> bool {
        self.found.new.range(..=least).any(|(_, findings)| *findings > 0)
    }

    /// As Markdown, for the summary of a CI job: the campaigns, then what was found.
    pub fn markdown(&self, records: &[&Record]) -> String {
        let mut text = String::from(
            "| campaign | devices | cases | passed | partly judged | skipped | failed | canaries | seconds |\n",
        );
        text += "|---|---|---|---|---|---|---|---|---|\n";
        for record in records {
            text += &row(record);
        }
        let found = &self.found;
        let _ = write!(text, "\n{}.\n", found.sentence("finding"));
        if found.findings == 0 {
            return text;
        }
        let ranks = found.ranks.iter().map(|(rank, findings)| format!("| {rank} | {findings} |\n"));
        let _ = write!(text, "\n| rank | findings |\n|---|---|\n{}", ranks.collect::<String>());
        let _ = writeln!(text, "\n{}:\n", capitalized(found.headline()));
        for Item { name, id, rank, sentence, .. } in found.shown() {
            let _ = writeln!(text, "- **{rank}** {} (`{id}`, `{}`)", inline(sentence), inline(name));
        }
        let (shown, rest) = found.top_causes();
        if !shown.is_empty() {
            text += "\n| findings | known cause |\n|---|---|\n";
        }
        for group in shown {
            let _ = writeln!(text, "| {} | {} |", group.findings, inline(&group.text()));
        }
        if let Some(rest) = rest {
            let _ = writeln!(text, "\n{rest}");
        }
        text
    }
}

impl Found {
    fn new(findings: &[(String, Finding)], known: &KnownFailures) -> Self {
        let judged: Vec<Judged> = findings.iter().map(|(name, finding)| Judged::new(name, finding, known)).collect();
        let causes = causes(&judged);
        let by_rank = |counts: fn(&Judged) -> bool| {
            let count = |rank| judged.iter().filter(|judged| judged.rank == rank && counts(judged)).count();
            BTreeMap::from(Rank::ALL.map(|rank| (rank, count(rank))))
        };
        let (ranks, new) = (by_rank(|_| true), by_rank(|judged| !judged.is_known));
        let known = judged.iter().filter(|judged| judged.is_known).count();
        Self { findings: findings.len(), known, ranks, new, worst: worst(judged, &causes), causes }
    }

    /// How many findings there are, called `what`, and how many of them something explains.
    pub fn sentence(&self, what: &str) -> String {
        let count = |number: usize, what: &str| format!("{number} {what}{}", if number == 1 { "" } else { "s" });
        let (all, causes) = (count(self.findings, what), count(self.causes.len(), "known cause"));
        match (self.findings, self.findings - self.known) {
            (0, _) => all,
            (_, 0) => format!("{all}, all of {causes}"),
            (found, new) if found == new => format!("{all} without a known cause"),
            (_, new) => format!("{all}: {new} without a known cause, {} of {causes}", self.known),
        }
    }

    /// The worst findings that nothing explains, or else the worst of all.
    pub fn shown(&self) -> impl Iterator<Item = &Item> {
        let any_new = self.known < self.findings;
        self.worst.iter().filter(move |item| !(any_new && item.known))
    }

    /// The title of [`Self::shown`].
    pub fn headline(&self) -> &'static str {
        if self.known < self.findings {
            "findings without a known cause, worst first"
        } else {
            "the worst finding of each cause"
        }
    }

    /// The causes that most people meet, and what to say of the rest.
    pub fn top_causes(&self) -> (&[Group], Option<String>) {
        const SHOWN: usize = 8;
        let (shown, rest) = self.causes.split_at(self.causes.len().min(SHOWN));
        let findings: usize = rest.iter().map(|group| group.findings).sum();
        (shown, (!rest.is_empty()).then(|| format!("and {findings} findings of {} more causes", rest.len())))
    }
}

/// A title as a sentence begins.
fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

impl Group {
    /// The cause, with the upstream issue of its regression.
    pub fn text(&self) -> String {
        self.upstream.as_ref().map_or_else(|| self.cause.clone(), |upstream| format!("{} ({upstream})", self.cause))
    }
}

/// A finding, and who explains it.
struct Judged<'a> {
    name: &'a str,
    finding: &'a Finding,
    rank: Rank,
    is_known: bool,
    explanation: Explanation<'a>,
    cause: String,
}

impl<'a> Judged<'a> {
    fn new(name: &'a str, finding: &'a Finding, known: &'a KnownFailures) -> Self {
        let explanation = known.explain(finding);
        // Findings of one function are alike, whichever of them a regression has. A wrong value has no place of its own.
        let kept = || explanation.regression.map(|regression| regression.title.clone());
        let cause = explanation.shared().or_else(kept).unwrap_or_else(|| words::failure(&finding.signature));
        Self { name, finding, rank: finding.signature.rank(), is_known: explanation.is_known(), explanation, cause }
    }
}

/// The known findings by cause, first those that hit most people.
fn causes(judged: &[Judged]) -> Vec<Group> {
    let mut groups: BTreeMap<&str, Group> = BTreeMap::new();
    for Judged { rank, explanation, cause, .. } in judged.iter().filter(|judged| judged.is_known) {
        let impact = explanation.cause.map_or(0, RootCause::impact);
        let first = || Group { cause: cause.clone(), impact, findings: 0, rank: *rank, upstream: None };
        let group = groups.entry(cause).or_insert_with(first);
        group.findings += 1;
        group.rank = group.rank.min(*rank);
        group.upstream = group.upstream.take().or_else(|| explanation.link().map(ToString::to_string));
    }
    let mut groups: Vec<Group> = groups.into_values().collect();
    groups.sort_by_key(|group| (Reverse(group.impact), group.rank, Reverse(group.findings)));
    groups
}

/// The worst findings: new ones before known ones, and one of each cause before the second of any. Of two of the same rank,
/// the one whose cause comes first is worse, or else the one with the more frequent likely cause.
fn worst(mut judged: Vec<Judged>, causes: &[Group]) -> Vec<Item> {
    let place: BTreeMap<String, usize> = causes.iter().map(|group| group.cause.clone()).zip(0..).collect();
    let mut frequency: BTreeMap<String, usize> = BTreeMap::new();
    for one in &judged {
        *frequency.entry(one.cause.clone()).or_default() += 1;
    }
    let order = |judged: &Judged| {
        (judged.is_known, judged.rank, place.get(&judged.cause).copied(), Reverse(frequency[&judged.cause]))
    };
    judged.sort_by_key(order);
    let mut seen = BTreeSet::new();
    let (mut shown, more): (Vec<Judged>, Vec<Judged>) =
        judged.into_iter().partition(|judged| seen.insert(judged.cause.clone()));
    shown.extend(more);
    shown.sort_by_key(|judged| judged.is_known);
    shown.truncate(WORST);
    shown.sort_by_key(order);
    shown.iter().map(Item::new).collect()
}

impl Item {
    fn new(judged: &Judged) -> Self {
        let &Judged { name, finding, rank, is_known: known, .. } = judged;
        Self { name: name.to_string(), id: id(name), rank, known, sentence: words::sentence(&finding.signature) }
    }
}
