//! The score as Markdown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Difference, Fate, Mutant, Noticed, Score};
use crate::oracle::{ORACLES, OracleName};

/// The whole score: what was run, which oracles noticed which kinds of change, and every survivor.
pub fn markdown(score: &Score) -> String {
    let Score { chosen, host, mutants, .. } = score;
    let noticed = mutants.iter().filter(|mutant| mutant.is_noticed()).count();
    let idle =
        mutants.iter().filter(|mutant| mutant.survived().is_some_and(|seen| seen <= Difference::AnotherWay)).count();
    let mut text = format!(
        "# Mutation score\n\n{}\n\n**{noticed} of {} mutants are noticed{}**",
        made(score),
        mutants.len(),
        percent(noticed, mutants.len())
    );
    let reached = mutants.len() - idle;
    if reached > 0 {
        let share = 100.0 * noticed as f64 / reached as f64;
        let effect = if *host { "that some case reaches" } else { "that have an effect in some case" };
        let _ = write!(text, ", or {share:.1} % of the {reached} {effect}");
    }
    let changing = mutants.iter().filter(|one| one.survived().is_none_or(|seen| seen > Difference::NoneSeen));
    let _ = write!(text, ". {} change the behaviour of some case", changing.count());
    if let Some((median, ninth)) = of_noticed(mutants, |one| one.cases as f64) {
        let _ = write!(text, ". Half of these are noticed by case {median}, nine in ten by case {ninth}");
    }
    if let Some((median, ninth)) = of_noticed(mutants, |one| one.seconds) {
        let _ = write!(text, ", after {median:.1} and {ninth:.1} s");
    }
    text += ".\n\n";
    if mutants.len() < *chosen {
        let _ = write!(text, "Interrupted: {} mutants were not run.\n\n", chosen - mutants.len());
    }
    text += &by_change(mutants);
    text += &faults(mutants);
    text += &places(mutants, Difference::NotReached, "Not reached");
    text += &places(mutants, Difference::NoEffect, "No effect");
    text += &places(mutants, Difference::AnotherWay, "Another way to the same result");
    text += &survivors(mutants);
    text
}

/// How the score was made, and from what.
fn made(score: &Score) -> String {
    let Score { versions, host, devices, seed, ops, drawn, cases, changeable, changes, chosen, .. } = score;
    if *host {
        let devices: Vec<String> = devices.iter().map(ToString::to_string).collect();
        return format!(
            "Made by `snuffer lab score --host --device {} --mutants {chosen} --cases {cases} --seed {seed}` with {versions}. \
             {changes} changes can be made to {changeable} functions of candle's host code. From these, {chosen} are chosen. \
             {drawn} cases of {ops} ops were drawn, and each mutant is run on up to {cases} that reach it.",
            devices.join(",")
        );
    }
    format!(
        "Made by `snuffer lab score --mutants {chosen} --cases {cases} --seed {seed}` with {versions}. \
         {drawn} cases of {ops} ops launch {changeable} kernels, to which {changes} changes of one \
         instruction can be made. {equivalent} of them are known to make no difference. {further_rounds} others are in further \
         rounds of loops over the grid, which candle never starts: it launches a thread for each element. From the rest, {chosen} are \
         chosen, and each is run on up to {cases} cases that launch its kernel.",
        equivalent = score.equivalent,
        further_rounds = score.further_rounds,
    )
}

impl Mutant {
    fn noticed(&self) -> Option<&Noticed> {
        match &self.fate {
            Fate::Noticed(noticed) => Some(noticed),
            Fate::NotStarted | Fate::Survived(_) => None,
        }
    }

    fn is_noticed(&self) -> bool {
        self.survived().is_none()
    }

    fn survived(&self) -> Option<Difference> {
        match self.fate {
            Fate::Noticed(_) | Fate::NotStarted => None,
            Fate::Survived(difference) => Some(difference),
        }
    }
}

fn percent(some: usize, all: usize) -> String {
    if all == 0 { String::new() } else { format!(" ({:.1} %)", 100.0 * some as f64 / all as f64) }
}

/// What half and nine tenths of the noticed mutants need at most.
fn of_noticed(mutants: &[Mutant], need: impl Fn(&Mutant) -> f64) -> Option<(f64, f64)> {
    let mut needs: Vec<f64> = mutants.iter().filter(|mutant| mutant.noticed().is_some()).map(need).collect();
    needs.sort_unstable_by(f64::total_cmp);
    let at = |share: usize| needs.get((needs.len() * share).div_ceil(10).max(1) - 1).copied();
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
    let mut text =
        format!("| change | mutants | noticed | {} | survived | no effect | not reached |\n", names.join(" | "));
    text += &format!("|---|{}\n", "---|".repeat(oracles.len() + 5));
    for (change, mutants) in rows.into_iter().chain((!all.is_empty()).then_some(("all", all))) {
        let with = |difference| mutants.iter().filter(|one| one.survived() == Some(difference)).count();
        let without_effect = with(Difference::NoEffect) + with(Difference::AnotherWay);
        let unreached = with(Difference::NotReached);
        let noticed = mutants.iter().filter(|one| one.is_noticed()).count();
        let counts: Vec<String> = oracles.iter().map(|oracle| noticed_by(*oracle, &mutants).to_string()).collect();
        let (total, survived) = (mutants.len(), mutants.len() - noticed - without_effect - unreached);
        let counts = counts.join(" | ");
        text +=
            &format!("| {change} | {total} | {noticed} | {counts} | {survived} | {without_effect} | {unreached} |\n");
    }
    text
}

/// The kinds of faults, with counts, and how many mutants no worker starts with.
fn faults(mutants: &[Mutant]) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for noticed in mutants.iter().filter_map(Mutant::noticed).filter(|noticed| noticed.oracle == OracleName::Fault) {
        *kinds.entry(noticed.kind.name()).or_default() += 1;
    }
    let kinds: Vec<String> = kinds.into_iter().map(|(kind, count)| format!("{kind} {count}")).collect();
    let mut text = if kinds.is_empty() { String::new() } else { format!("\nFaults: {}.\n", kinds.join(", ")) };
    let unstarted = mutants.iter().filter(|mutant| mutant.fate == Fate::NotStarted).count();
    if unstarted > 0 {
        let _ = write!(text, "\nNo worker starts with {unstarted} of them, so any run would notice them at once.\n");
    }
    text
}

/// Every mutant that was executed but not noticed, the largest differences first.
fn survivors(mutants: &[Mutant]) -> String {
    let reached = |mutant: &Mutant| mutant.survived().filter(|difference| *difference > Difference::AnotherWay);
    let mut survivors: Vec<(Difference, &Mutant)> =
        mutants.iter().filter_map(|mutant| Some((reached(mutant)?, mutant))).collect();
    if survivors.is_empty() {
        return String::new();
    }
    survivors.sort_by(|(a, one), (b, other)| b.cmp(a).then_with(|| one.name.cmp(&other.name)));
    let mut text = "\n## Survivors\n\n| mutant | change | at | cases | seen |\n|---|---|---|---|---|\n".to_string();
    for (difference, Mutant { name, change, place, code, cases, .. }) in survivors {
        let code = code.as_ref().map_or_else(String::new, |code| format!(": `{}`", code.replace('|', "\\|")));
        text += &format!("| `{name}` | {change}{code} | {place} | {cases} | {} |\n", difference.words());
    }
    text
}

/// The files of the changes with this difference.
fn places(mutants: &[Mutant], difference: Difference, title: &str) -> String {
    let mut files: BTreeMap<&str, usize> = BTreeMap::new();
    for mutant in mutants.iter().filter(|mutant| mutant.survived() == Some(difference)) {
        *files.entry(mutant.place.rsplit_once(':').map_or("", |(file, _)| file)).or_default() += 1;
    }
    let files: Vec<String> = files.into_iter().map(|(file, count)| format!("{file} {count}")).collect();
    if files.is_empty() { String::new() } else { format!("\n{title}: {}.\n", files.join(", ")) }
}
