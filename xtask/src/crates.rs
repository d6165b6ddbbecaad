//! `cargo xtask crates`: the CUDA tests and examples of published crates, on the simulated device.
//!
//! Their code comes from the registry and is not kept. `cargo-snuffer/tests/crates.toml` says what is run of each, and what is known
//! to fail.

use std::time::Duration;

use anyhow::{Context, ensure};

use self::list::{Known, Listed, What};
use self::outcome::{Finished, Outcome};
use crate::known::KnownFailure;
use crate::set_up::step;

mod document;
mod fetch;
mod list;
mod outcome;
mod run;

/// The crates to run, and where to write the results.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only these crates.
    names: Vec<String>,
    /// Only list the crates, and the command for each.
    #[arg(long)]
    list: bool,
    /// Also write the results into docs/programs.md, where the rows of other crates stay.
    #[arg(long, conflicts_with = "list")]
    document: bool,
}

/// What became of a crate.
pub struct Row<'a> {
    /// What the list says of it.
    listed: &'a Listed,
    /// Its tests, or programs, with what they did.
    finished: Vec<Finished>,
    /// The failures that are not as listed, in words.
    unexpected: Vec<String>,
}

/// Runs the crates. Returns 1 if a crate did anything that the list does not say.
pub fn run(args: &Args) -> anyhow::Result<u8> {
    let list = list::read()?;
    let chosen: Vec<&Listed> =
        list.iter().filter(|it| args.names.is_empty() || args.names.contains(&it.name)).collect();
    for name in &args.names {
        ensure!(list.iter().any(|it| it.name == *name), "{} has no crate `{name}`; `--list` shows them", list::FILE);
    }
    if args.list {
        for listed in chosen {
            println!("{} {}: {}", listed.name, listed.version, listed.command());
        }
        return Ok(0);
    }
    let tools = run::Tools::ready()?;
    let mut rows = Vec::new();
    for listed in chosen {
        let row = match listed.what()? {
            What::Cannot(_) => Row { listed, finished: Vec::new(), unexpected: Vec::new() },
            What::Runs(_) => {
                let what = format!("{} {}: {}", listed.name, listed.version, listed.command());
                let finished = step(&what, "minutes the first time", || tools.run(listed))?;
                Row::compare(listed, finished)?
            }
        };
        println!("{}", row.line());
        row.unexpected.iter().for_each(|what| println!("    UNEXPECTED {what}"));
        rows.push(row);
    }
    let unexpected = rows.iter().map(|row| row.unexpected.len()).sum::<usize>();
    println!("{} crates; {unexpected} differ from {}", rows.len(), list::FILE);
    if args.document {
        document::write(&list, &rows)?;
    }
    Ok(u8::from(unexpected > 0))
}

impl<'a> Row<'a> {
    /// Compares what the tests did with what is known.
    fn compare(listed: &'a Listed, finished: Vec<Finished>) -> anyhow::Result<Self> {
        let mut unexpected = Vec::new();
        for test in &finished {
            let known = listed.known.iter().find(|entry| entry.is_of(&test.name));
            let failure = known.map(Known::failure).transpose()?;
            if let Some(what) = difference(&test.outcome, failure.as_ref()) {
                unexpected.push(format!("{}: {what}", test.name));
            }
        }
        let ran = |name: &String| finished.iter().any(|test| test.name == *name);
        for gone in listed.known.iter().flat_map(|entry| &entry.tests).filter(|name| !ran(name)) {
            unexpected.push(format!("{gone} did not run"));
        }
        if finished.is_empty() {
            unexpected.push("nothing ran".to_string());
        }
        Ok(Self { listed, finished, unexpected })
    }

    /// How many tests did this.
    fn count(&self, is_it: impl Fn(&Finished) -> bool) -> usize {
        self.finished.iter().filter(|test| is_it(test)).count()
    }

    /// How many tests passed.
    fn passed(&self) -> usize {
        self.count(|test| matches!(test.outcome, Outcome::Pass))
    }

    /// How many tests launched a kernel, or had a library work on the device.
    fn launching(&self) -> usize {
        self.count(|test| test.launches_work)
    }

    /// How many tests failed, but not because the device cannot do what they need.
    fn failed(&self) -> usize {
        self.count(|test| matches!(test.outcome, Outcome::Fail(_)))
    }

    /// What the device cannot do, each once.
    fn unsupported(&self) -> Vec<&str> {
        let mut names: Vec<&str> = self.finished.iter().filter_map(|test| test.outcome.unsupported()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The time that the tests took, one after the other.
    fn time(&self) -> Duration {
        self.finished.iter().map(|test| test.time).sum()
    }

    /// A row for the terminal.
    fn line(&self) -> String {
        let Listed { name, version, .. } = self.listed;
        if let Ok(What::Cannot(why)) = self.listed.what() {
            return format!("{name} {version}: cannot run: {why}");
        }
        format!(
            "{name} {version}: {} tests, {} launch work, {} pass, {} fail, unsupported: {}; {:.1} s",
            self.finished.len(),
            self.launching(),
            self.passed(),
            self.failed(),
            some(&self.unsupported()),
            self.time().as_secs_f64()
        )
    }
}

/// Names with commas, or a word for none.
fn some(names: &[&str]) -> String {
    if names.is_empty() { "nothing".to_string() } else { names.join(", ") }
}

/// How an outcome differs from what is known.
fn difference(outcome: &Outcome, known: Option<&KnownFailure>) -> Option<String> {
    match (outcome.problem(), known) {
        (None, None) => None,
        (None, Some(known)) => Some(format!("passes, but is known to fail: {}", known.cause)),
        (Some(why), Some(known)) if why.contains(known.fails) => None,
        (Some(why), Some(known)) => Some(format!("fails with {why}, and not with `{}`", known.fails)),
        (Some(why), None) => Some(format!("fails: {why}")),
    }
}

/// The folder with all that this command makes.
fn folder() -> anyhow::Result<std::path::PathBuf> {
    let folder = crate::target()?.join("crates");
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::list::{self, What};
    use super::{KnownFailure, Outcome, Row, difference};
    use crate::crates::outcome::Finished;

    #[test]
    fn the_list_is_complete() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).expect("the root");
        let list = list::read().expect("a valid list");
        let runs = list.iter().filter(|listed| matches!(listed.what(), Ok(What::Runs(_)))).count();
        assert!(runs >= 10, "{runs} crates run");
        for entry in list.iter().flat_map(|listed| &listed.known) {
            assert!(!entry.tests.is_empty(), "{entry:?} names no test");
            entry.failure().expect("how it fails, and why");
        }
    }

    #[test]
    fn an_outcome_is_compared_with_what_is_known() {
        let known = KnownFailure { fails: "out of bounds", cause: "it reads past the end" };
        let fails = |why: &str| Outcome::Fail(why.to_string());
        for (outcome, known, differs) in [
            (Outcome::Pass, None, false),
            (Outcome::Pass, Some(&known), true),
            (fails("out of bounds in add"), Some(&known), false),
            (fails("race in add"), Some(&known), true),
            (fails("race in add"), None, true),
            (Outcome::Unsupported("mma".into()), None, true),
        ] {
            assert_eq!(difference(&outcome, known).is_some(), differs, "{outcome:?}");
        }
    }

    #[test]
    fn a_known_failure_that_did_not_run_is_news() {
        let listed = toml::from_str(
            "name = 'a'\nversion = '1.0.0'\ntask = 'test'\nabout = ''\n[[known]]\ntests = ['gone']\nfails = 'x'\ncause = 'y'",
        );
        let listed = listed.expect("valid");
        let finished = Finished::passed("there");
        let row = Row::compare(&listed, vec![finished]).expect("comparable");
        assert_eq!(row.unexpected, ["gone did not run"]);
        assert_eq!((row.passed(), row.failed(), row.launching()), (1, 0, 0));
    }
}
