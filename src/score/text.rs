//! The score as Markdown, for people and for `docs/score.md`.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Difference, Fate, Mutant, Noticed, Score};
use crate::oracle::{ORACLES, OracleName};

/// The whole score: what was run, which oracles noticed which kinds of change, and every survivor.
pub fn markdown(score: &Score) -> String {
    let Score { versions, seed, ops, drawn, cases, kernels, changes, equivalent, chosen, mutants } = score;
    let noticed = mutants.iter().filter(|mutant| mutant.noticed().is_some()).count();
    let idle = of_difference(mutants, Difference::NotReached);
    let mut text = format!(
        "# Mutation score\n\nMade by `snuffer score --mutants {chosen} --cases {cases} --seed {seed}` with {versions}. \
         {drawn} cases of {ops} ops launch {kernels} kernels, to which {changes} changes of one \
         instruction can be made; {equivalent} of them are known to make no difference and are left out. From the rest, {chosen} \
         are chosen, and each is run on up to {cases} cases that launch its kernel.\n\n**{noticed} of {} mutants are noticed{}**",
        mutants.len(),
        percent(noticed, mutants.len())
    );
    let reached = mutants.len() - idle;
    if reached > 0 {
        let share = 100.0 * noticed as f64 / reached as f64;
        let _ = write!(text, ", or {share:.1} % of the {reached} that some case executes");
    }
    if let Some((median, ninth)) = cases_to_notice(mutants) {
        let _ = write!(text, ". Half of the noticed ones are noticed by case {median}, nine in ten by case {ninth}");
    }
    text += ".\n\n";
    if mutants.len() < *chosen {
        let _ = write!(text, "Interrupted: {} mutants were not run.\n\n", chosen - mutants.len());
    }
    text += &by_change(mutants);
    text += &faults(mutants);
    text += &unreached(mutants);
    text += &survivors(mutants);
    text
}

impl Mutant {
    fn noticed(&self) -> Option<&Noticed> {
        match &self.fate {
            Fate::Noticed(noticed) => Some(noticed),
            Fate::Survived(_) => None,
        }
    }

    fn survived(&self) -> Option<Difference> {
        match self.fate {
            Fate::Noticed(_) => None,
            Fate::Survived(difference) => Some(difference),
        }
    }
}

fn of_difference(mutants: &[Mutant], difference: Difference) -> usize {
    mutants.iter().filter(|mutant| mutant.survived() == Some(difference)).count()
}

fn percent(some: usize, all: usize) -> String {
    if all == 0 { String::new() } else { format!(" ({:.1} %)", 100.0 * some as f64 / all as f64) }
}

/// The numbers of cases by which half and nine tenths of the noticed mutants are noticed.
fn cases_to_notice(mutants: &[Mutant]) -> Option<(usize, usize)> {
    let mut cases: Vec<usize> =
        mutants.iter().filter(|mutant| mutant.noticed().is_some()).map(|one| one.cases).collect();
    cases.sort_unstable();
    let at = |share: usize| cases.get((cases.len() * share).div_ceil(10).max(1) - 1).copied();
    Some((at(5)?, at(9)?))
}

/// A table with a row for each kind of change, and columns for the oracles that noticed any and for the ways to survive.
fn by_change(mutants: &[Mutant]) -> String {
    let mut rows: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        rows.entry(&mutant.change).or_default().push(mutant);
    }
    let noticed_by = |oracle: OracleName, mutants: &[&Mutant]| {
        mutants.iter().filter(|one| one.noticed().is_some_and(|noticed| noticed.oracle == oracle)).count()
    };
    let all: Vec<&Mutant> = mutants.iter().collect();
    let oracles = ORACLES.iter().map(|oracle| oracle.name);
    let oracles: Vec<OracleName> = oracles.filter(|oracle| noticed_by(*oracle, &all) > 0).collect();
    let names: Vec<&str> = oracles.iter().map(|oracle| oracle.name()).collect();
    let mut text = format!("| change | mutants | noticed | {} | survived | not reached |\n", names.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(oracles.len() + 4));
    for (change, mutants) in rows.into_iter().chain((!all.is_empty()).then_some(("all", all))) {
        let idle = mutants.iter().filter(|one| one.survived() == Some(Difference::NotReached)).count();
        let noticed = mutants.iter().filter(|one| one.noticed().is_some()).count();
        let counts: Vec<String> = oracles.iter().map(|oracle| noticed_by(*oracle, &mutants).to_string()).collect();
        let (total, survived) = (mutants.len(), mutants.len() - noticed - idle);
        text += &format!("| {change} | {total} | {noticed} | {} | {survived} | {idle} |\n", counts.join(" | "));
    }
    text
}

/// The kinds of faults, with counts.
fn faults(mutants: &[Mutant]) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for noticed in mutants.iter().filter_map(Mutant::noticed).filter(|noticed| noticed.oracle == OracleName::Fault) {
        *kinds.entry(noticed.kind.name()).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    if kinds.is_empty() { String::new() } else { format!("\nFaults: {}.\n", kinds.join(", ")) }
}

/// Every mutant that was executed but not noticed, the largest differences first.
fn survivors(mutants: &[Mutant]) -> String {
    let reached = |mutant: &Mutant| mutant.survived().filter(|difference| *difference > Difference::NotReached);
    let mut survivors: Vec<(Difference, &Mutant)> =
        mutants.iter().filter_map(|mutant| Some((reached(mutant)?, mutant))).collect();
    if survivors.is_empty() {
        return String::new();
    }
    survivors.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name.cmp(&other.name)));
    let mut text = "\n## Survivors\n\n| mutant | change | at | cases | seen |\n|---|---|---|---|---|\n".to_string();
    for (difference, Mutant { name, change, place, cases, .. }) in survivors {
        text += &format!("| `{name}` | {change} | {place} | {cases} | {} |\n", difference.words());
    }
    text
}

/// The files of the changes that no case executes.
fn unreached(mutants: &[Mutant]) -> String {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for mutant in mutants.iter().filter(|mutant| mutant.survived() == Some(Difference::NotReached)) {
        *files.entry(mutant.place.rsplit_once(':').map_or("", |(file, _)| file)).or_default() += 1;
    }
    let files: Vec<String> = files.into_iter().map(|(file, count)| format!("{file} {count}")).collect();
    if files.is_empty() { String::new() } else { format!("\nNot reached: {}.\n", files.join(", ")) }
}
