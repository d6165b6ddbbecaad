//! The page of where contracts leave a result open, and why, measured by a hunt.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde::Deserialize;

use crate::shell::target;

/// What the table says of each reason.
const REASONS: &str = "src/ops/reasons.toml";

/// The seed of the cases.
const SEED: &str = "27";

#[derive(Deserialize)]
struct Reasons {
    reason: Vec<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    name: String,
    because: String,
    ground: Option<String>,
    torch: Option<String>,
    says: Option<String>,
}

/// The part of a campaign's record that is used.
#[derive(Deserialize)]
struct Record {
    tally: Tally,
}

#[derive(Deserialize)]
struct Tally {
    total: BTreeMap<String, u64>,
    #[serde(default)]
    reasons: BTreeMap<String, BTreeMap<String, u64>>,
}

/// Hunts for `cases` cases, without minimizing, and returns the page.
pub fn page(root: &Path, cases: u64) -> anyhow::Result<String> {
    let reasons: Reasons = toml::from_str(&fs::read_to_string(root.join(REASONS))?).context(REASONS)?;
    let store = target()?.join("promises");
    if store.exists() {
        fs::remove_dir_all(&store)?;
    }
    let mut hunt = Command::new(target()?.join("debug/snuffer"));
    hunt.args(["hunt", "--device", "cpu", "--device", "sim:0", "--seed", SEED, "--minimize", "0s"]);
    hunt.args(["--cases", &cases.to_string(), "--store"]).arg(&store).current_dir(root);
    let status = hunt.status().context("target/debug/snuffer does not start")?;
    if !matches!(status.code(), Some(0 | 2)) {
        bail!("the hunt failed: {status}");
    }
    Ok(table(&read(&store.join("campaigns"))?, &reasons))
}

fn read(campaigns: &Path) -> anyhow::Result<Tally> {
    for entry in fs::read_dir(campaigns)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "toml") {
            let record: Record = toml::from_str(&fs::read_to_string(&path)?).context("a record of a hunt")?;
            return Ok(record.tally);
        }
    }
    bail!("the hunt left no record in {}", campaigns.display())
}

/// The counts, then a row for each reason, the most frequent first.
fn table(tally: &Tally, reasons: &Reasons) -> String {
    let count = |name: &str| tally.total.get(name).copied().unwrap_or(0);
    let cases = count("cases").max(1);
    let share = |cases_of: u64| format!("{:.2} %", 100.0 * cases_of as f64 / cases as f64);
    let [partly, skipped] = [count("partly"), count("skipped")];
    let mut text = format!(
        "# Where a contract leaves the result open\n\nOf {cases} cases (seed {SEED}, half of them broken on purpose) \
         {} are judged against a value, a shape or an expected Err, {} in part,\nand {} not at all. PyTorch was run \
         for {} of the {} reasons.\n\n| why | per million | cpu | sim:0 | PyTorch 2.15, or the ground | because \
         |\n|---|---|---|---|---|---|\n",
        share(cases - partly - skipped),
        share(partly),
        share(skipped),
        reasons.reason.iter().filter(|reason| reason.torch.is_some()).count(),
        reasons.reason.len(),
    );
    let none = BTreeMap::new();
    let mut rows: Vec<(u64, &Reason, &BTreeMap<String, u64>)> = Vec::new();
    for reason in &reasons.reason {
        let outcomes = tally.reasons.get(&reason.name).unwrap_or(&none);
        let on_cpu = outcomes.iter().filter(|(name, _)| name.starts_with("cpu "));
        rows.push((on_cpu.map(|(_, cases)| cases).sum(), reason, outcomes));
    }
    rows.sort_by_key(|(cases, reason, _)| (std::cmp::Reverse(*cases), reason.name.clone()));
    for (count, reason, outcomes) in rows {
        let torch = match (&reason.torch, &reason.says) {
            (Some(torch), Some(says)) => format!("`{torch}`: {says}"),
            _ => reason.ground.clone().unwrap_or_default(),
        };
        let [cpu, sim] = ["cpu ", "sim:0 "].map(|device| shares(outcomes, device));
        let million = count * 1_000_000 / cases;
        let _ = writeln!(
            text,
            "| {} | {million} | {cpu} | {sim} | {} | {} |",
            reason.name,
            torch.replace('|', "\\|"),
            reason.because
        );
    }
    text
}

/// The outcomes on one device, the most frequent first: `returned 80 %, rejected 20 %`.
fn shares(outcomes: &BTreeMap<String, u64>, device: &str) -> String {
    let mut own: Vec<(&str, u64)> =
        outcomes.iter().filter_map(|(name, cases)| Some((name.strip_prefix(device)?, *cases))).collect();
    own.sort_by_key(|(name, cases)| (std::cmp::Reverse(*cases), *name));
    let all: u64 = own.iter().map(|(_, cases)| cases).sum();
    let shown = own.iter().map(|(name, cases)| format!("{name} {:.0} %", 100.0 * *cases as f64 / all as f64));
    shown.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::{Reason, Reasons, Tally, table};

    #[test]
    fn every_reason_has_a_row_and_the_most_frequent_is_first() {
        let reasons: Reasons = toml::from_str(include_str!("../../src/ops/reasons.toml")).expect("reasons");
        let Reason { name, because, .. } = &reasons.reason[7];
        let tally = format!(
            "[total]\ncases = 200\npartly = 4\n[reasons.\"{name}\"]\n'cpu returned' = 3\n'cpu panicked' = 1\n'sim:0 rejected' = 4"
        );
        let tally: Tally = toml::from_str(&tally).expect("a tally");
        let text = table(&tally, &reasons);
        assert!(text.contains("98.00 % are judged against"), "{text}");
        let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("| ")).skip(1).collect();
        assert_eq!(rows.len(), reasons.reason.len());
        let shares = "| 20000 | returned 75 %, panicked 25 % | rejected 100 % |";
        assert!(
            rows[0].starts_with(&format!("| {name} {shares}")) && rows[0].ends_with(&format!("| {because} |")),
            "{}",
            rows[0]
        );
    }
}
