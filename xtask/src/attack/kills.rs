//! Hunts that are killed at any moment, any number of times, and resumed: each case is counted once, and no finding is lost.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use anyhow::{Context, ensure};
use rand_core::Rng;
use rand_pcg::Pcg64Mcg;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::ground::{DEADLINE, Ground, files, listed};
use super::judge::{DOCUMENTED, run, start};
use super::mutate::{below, one_of};
use super::read;

const CASES: u64 = 400;

/// Kills a hunt up to three times, resumes it to its end, and counts.
pub fn experiment(ground: &Ground, rng: &mut Pcg64Mcg) -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let (ops, seed) =
        (one_of(rng, &["loss.*", "op.*", "tensor.exp,tensor.sum", "layer.*"]), rng.next_u32().to_string());
    let hunt = |state: State| -> Command {
        let cases = CASES.to_string();
        let what = match state {
            State::Begun(_) => vec!["--resume"],
            State::None => vec!["--ops", ops, "--seed", &seed, "--device", "cpu", "--cases", &cases],
        };
        let how = ["hunt", "--store", "store", "--jobs", "2", "--minimize", "300ms"];
        ground.command(folder.path(), &[&how[..], &what].concat())
    };
    let store = folder.path().join("store");
    let mut kept = BTreeSet::new();
    for _ in 0..=below(rng, 2) {
        let state = State::of(&store)?;
        if state == State::Begun(CASES) {
            break;
        }
        let running = start(&mut hunt(state))?;
        // The self-check takes two seconds, and the cases take one.
        sleep(Duration::from_millis(below(rng, 4000) as u64));
        let signal = [Signal::KILL, Signal::KILL, Signal::TERM, Signal::INT][below(rng, 4)];
        kill_process(Pid::from_child(&running.child), signal)?;
        let ended = running.end(DEADLINE)?;
        if signal != Signal::KILL {
            ended.survived(&[&DOCUMENTED[..], &[130, 143]].concat())?;
        }
        if store.is_dir() {
            kept.append(&mut listed(&ground.list(folder.path())?)?);
        }
    }
    let state = State::of(&store)?;
    if state != State::Begun(CASES) {
        run(&mut hunt(state), DEADLINE)?.survived(&[0, 2])?;
    }
    let after = listed(&ground.list(folder.path())?)?;
    ensure!(kept.is_subset(&after), "lost {:?}", kept.difference(&after).collect::<Vec<_>>());
    counted_once(&store)
}

/// How far a campaign is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// None is recorded.
    None,
    /// So many cases are done.
    Begun(u64),
}

impl State {
    fn of(store: &Path) -> anyhow::Result<Self> {
        record(store)?.map_or(Ok(Self::None), |record| Ok(Self::Begun(number(&record, &["next"])?)))
    }
}

/// The record of the latest campaign.
fn record(store: &Path) -> anyhow::Result<Option<toml::Value>> {
    let campaigns = store.join("campaigns");
    let records = if campaigns.is_dir() { files(&campaigns, ".toml")? } else { Vec::new() };
    records.last().map(|path| Ok(toml::from_str(&read(path)?)?)).transpose()
}

/// The number at this path of a record.
fn number(record: &toml::Value, path: &[&str]) -> anyhow::Result<u64> {
    let found = path.iter().try_fold(record, |value, name| value.get(name));
    let number = found.and_then(toml::Value::as_integer).with_context(|| format!("a record has no {path:?}"))?;
    Ok(u64::try_from(number)?)
}

/// Every case is counted once, and every failure of one is listed once.
fn counted_once(store: &Path) -> anyhow::Result<()> {
    let record = record(store)?.context("no campaign was recorded")?;
    let count = |name| number(&record, &["tally", "total", name]);
    let [cases, failed, skipped] = [count("cases")?, count("failed")?, count("skipped")?];
    ensure!(number(&record, &["next"])? == CASES && cases == CASES, "{cases} cases are counted, not {CASES}");
    ensure!(count("passed")? + count("partly")? + failed + skipped == cases, "the counts do not add up: {record}");
    let mut lines = Vec::new();
    for path in files(&store.join("campaigns"), ".jsonl")? {
        for line in read(&path)?.lines() {
            let line: Value = serde_json::from_str(line)?;
            lines.push((line["index"].as_u64(), line["verdict"] == "fail", line["why"].to_string()));
        }
    }
    // A case may fail in several ways.
    let once: BTreeSet<_> = lines.iter().collect();
    ensure!(once.len() == lines.len(), "{} failures are listed in {} lines", once.len(), lines.len());
    let fails: BTreeSet<_> = lines.iter().filter(|(_, fails, _)| *fails).map(|(index, ..)| index).collect();
    ensure!(fails.len() as u64 == failed, "{} cases that failed are listed, and {failed} are counted", fails.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_case_that_is_counted_or_listed_twice_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let campaigns = folder.path().join("campaigns");
        std::fs::create_dir(&campaigns).expect("made");
        let counted = |cases: u64, list: &str| {
            let record = format!(
                "next = 400\n[tally.total]\ncases = {cases}\npassed = {}\npartly = 0\nskipped = 0\nfailed = 1\n",
                cases - 1
            );
            std::fs::write(campaigns.join("1-1-1.toml"), record).expect("written");
            std::fs::write(campaigns.join("1-1-1.failures.jsonl"), list).expect("written");
            counted_once(folder.path()).map_err(|problem| problem.to_string())
        };
        let line = "{\"index\":4,\"verdict\":\"fail\"}\n";
        assert_eq!(counted(400, line), Ok(()));
        assert!(counted(401, line).is_err_and(|shown| shown == "401 cases are counted, not 400"));
        assert!(counted(400, &line.repeat(2)).is_err_and(|shown| shown == "1 failures are listed in 2 lines"));
        assert!(counted(400, "").is_err_and(|shown| shown == "0 cases that failed are listed, and 1 are counted"));
    }
}
