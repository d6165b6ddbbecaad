//! `snuffer history`: queries the campaigns of one or more stores.

use std::path::{Path, PathBuf};

use anyhow::Context;
use serde_json::Value;

use super::{UsageError, existing};
use crate::causes::{RootCause, Sighting, cause_of};
use crate::console;
use crate::exit_code::Exit;
use crate::store::Finding;
use crate::store::history::{Answer, CampaignRow, CauseRow, Filter, History, HistoryError, SignatureRow, Table};

/// Arguments of `snuffer history`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Store to read new campaigns from; repeatable with `--history`. By default `findings`, or none with `--history`.
    #[arg(long, env = "SNUFFER_FINDINGS")]
    store: Vec<PathBuf>,
    /// The database; created if missing. It keeps the campaigns of stores that no longer exist. By default
    /// `history.sqlite` in the store.
    #[arg(long)]
    history: Option<PathBuf>,
    /// Only signatures of ops whose name matches, such as `loss.*`.
    #[arg(long = "ops", alias = "op")]
    op: Option<String>,
    /// Only signatures of this kind, such as `assert`, `panic` or `wrong value`.
    #[arg(long)]
    kind: Option<String>,
    /// Only signatures and causes first seen (or gone) and campaigns since a date, `2026-11-21`, or in the last days, `30d`.
    #[arg(long)]
    since: Option<String>,
    /// Only signatures that no longer occur although enough cases of their op ran.
    #[arg(long)]
    gone: bool,
    #[command(flatten)]
    instead: Instead,
    /// Run this read-only query; docs/history.md describes the tables.
    #[arg(long, conflicts_with_all = ["campaigns", "causes", "op", "kind", "since", "gone"])]
    sql: Option<String>,
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// What is listed instead of signatures.
#[derive(Debug, clap::Args)]
struct Instead {
    /// List the root causes of the findings that the stores have; with `--since`, those that are new.
    #[arg(long, conflicts_with_all = ["op", "kind", "gone", "campaigns"])]
    causes: bool,
    /// List the campaigns.
    #[arg(long, conflicts_with_all = ["op", "kind", "gone"])]
    campaigns: bool,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let mut exit = Exit::Clean;
    let path = up_to_date(args, &mut exit)?;
    let answer = answer(args, &path).map_err(usage)?;
    if args.json {
        println!("{}", serde_json::to_string(&answer)?);
        return Ok(exit);
    }
    match answer {
        Answer::Signatures(rows) => print!("{}", signatures(&rows)),
        Answer::Causes(rows) => print!("{}", table(&causes(&rows))),
        Answer::Campaigns(rows) => print!("{}", table(&campaigns(&rows))),
        Answer::Table(answer) => print!("{}", table(&answer)),
    }
    Ok(exit)
}

/// Reads new campaigns of the stores, and returns the path of the history. Damaged files are left out and set `Harness`.
fn up_to_date(args: &Args, exit: &mut Exit) -> anyhow::Result<PathBuf> {
    let default = [PathBuf::from("findings")];
    let stores = if args.store.is_empty() && args.history.is_none() { &default[..] } else { &args.store };
    let path = match (&args.history, stores) {
        (Some(path), _) => path.clone(),
        (None, [store]) => store.join("history.sqlite"),
        (None, _) => {
            return Err(
                UsageError("several stores need a history of their own: add `--history FILE`".to_string()).into()
            );
        }
    };
    if stores.is_empty() {
        return Ok(path);
    }
    for store in stores {
        existing(store)?;
    }
    let mut history = History::open(&path)?;
    let causes = RootCause::all().map_err(UsageError)?;
    let title_of = |finding: &Finding| Some(cause_of(&causes, &Sighting::of(finding))?.title.as_str());
    for store in stores {
        let left_out =
            history.add(store, title_of).with_context(|| format!("cannot read the store {}", store.display()))?;
        for problem in left_out {
            *exit = Exit::Harness;
            eprintln!("left out: {}", problem.lines().next().unwrap_or_default());
        }
    }
    Ok(path)
}

fn answer(args: &Args, path: &Path) -> Result<Answer, HistoryError> {
    let history = History::read_only(path)?;
    if let Some(sql) = &args.sql {
        return Ok(Answer::Table(history.sql(sql)?));
    }
    let since = args.since.as_deref().map(|since| history.date(since)).transpose()?;
    if args.instead.causes {
        return Ok(Answer::Causes(history.causes(since.as_deref())?));
    }
    if args.instead.campaigns {
        return Ok(Answer::Campaigns(history.campaigns(since.as_deref())?));
    }
    let filter = Filter { op: args.op.clone(), kind: args.kind.clone(), since, gone: args.gone };
    Ok(Answer::Signatures(history.signatures(&filter)?))
}

/// A wrong question is the user's mistake; a bad file is not.
fn usage(error: HistoryError) -> anyhow::Error {
    match error {
        HistoryError::Query(message) => UsageError(message).into(),
        HistoryError::File(_) => error.into(),
    }
}

/// Each signature, and under it when and how often it was seen.
fn signatures(rows: &[SignatureRow]) -> String {
    const INDENT: &str = "    ";
    let mut text = String::new();
    let mut add = |indent: &str, line: &str| {
        for part in console::wrapped(line, console::width() - indent.len()) {
            text += &format!("{indent}{part}\n");
        }
    };
    for row in rows {
        add("", &row.signature);
        let (first, last) = (minute(&row.first_seen), minute(&row.last_seen));
        let often = format!(
            "{}, {}",
            console::count(row.campaigns as usize, "campaign"),
            console::count(row.cases as usize, "case")
        );
        add(INDENT, &format!("first seen {first} with candle {} on {}", row.first_candle, row.first_device));
        add(INDENT, &format!("last seen {last}; {often}"));
        if row.is_new {
            add(INDENT, &format!("new: {:.1} times expected before", row.expected_before));
        }
        if let (true, Some(first)) = (row.is_gone, &row.missed_first) {
            let expected = row.expected_since;
            add(INDENT, &format!("gone since {}: {expected:.1} times expected since it was last seen", minute(first)));
        }
        if let Some(case) = &row.case {
            add(INDENT, &console::shortened(case, LONGEST_CASE));
        }
    }
    text + &format!("{}\n", console::count(rows.len(), "signature"))
}

/// How much of a case is shown: about two lines. `--json` has all of it.
const LONGEST_CASE: usize = 150;

/// A date without seconds.
fn minute(date: &str) -> &str {
    date.get(..16).unwrap_or(date)
}

fn causes(rows: &[CauseRow]) -> Table {
    let columns = ["first seen", "last seen", "signatures", "cases", "cause, or a signature without a known one"];
    let row = |row: &CauseRow| -> Vec<Value> {
        let [first, last] = [&row.first_seen, &row.last_seen].map(|date| minute(date));
        vec![first.into(), last.into(), row.signatures.into(), row.cases.into(), row.name.as_str().into()]
    };
    Table { columns: columns.map(ToString::to_string).to_vec(), rows: rows.iter().map(row).collect() }
}

fn campaigns(rows: &[CampaignRow]) -> Table {
    let columns = ["begun", "campaign", "devices", "candle", "cases", "cases/s", "failed", "signatures", "new", ""];
    let row = |row: &CampaignRow| -> Vec<Value> {
        let what = match (row.imported, row.shard.as_str()) {
            (true, _) => "import".to_string(),
            (false, "") => format!("seed {}", row.seed),
            (false, shard) => format!("seed {}, shard {shard}", row.seed),
        };
        let ended = if row.finished { "" } else { "stopped" };
        vec![
            minute(&row.begun).into(),
            what.into(),
            row.devices.as_str().into(),
            row.candle.as_str().into(),
            row.cases.into(),
            (row.rate.round() as u64).into(),
            row.failed.into(),
            row.signatures.into(),
            row.new.into(),
            ended.into(),
        ]
    };
    Table { columns: columns.map(ToString::to_string).to_vec(), rows: rows.iter().map(row).collect() }
}

/// The table as text: columns as wide as needed, numbers right-aligned, and the last column in several lines where it is too wide.
fn table(table: &Table) -> String {
    let cell = |value: &Value| match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let width = |column: usize| {
        let cells = table.rows.iter().map(|row| cell(&row[column]).chars().count());
        cells.chain([table.columns[column].chars().count()]).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..table.columns.len()).map(width).collect();
    let Some((_, before)) = widths.split_last() else { return String::new() };
    let indent: usize = before.iter().map(|width| width + 2).sum();
    let room = console::width().saturating_sub(indent).max(LEAST);
    let line = |cells: Vec<(String, bool)>| {
        let last = cells.len() - 1;
        let padded = cells.into_iter().zip(&widths).enumerate().map(|(column, ((text, right), width))| match right {
            // `format!` knows no width above 65,535.
            true => " ".repeat(width - text.chars().count()) + &text,
            false if column == last => console::wrapped(&text, room).join(&format!("\n{}", " ".repeat(indent))),
            false => text.clone() + &" ".repeat(width - text.chars().count()),
        });
        padded.collect::<Vec<_>>().join("  ").trim_end().to_string() + "\n"
    };
    let numeric = |column: usize| table.rows.iter().any(|row| row[column].is_number());
    let head = table.columns.iter().enumerate().map(|(column, name)| (name.clone(), numeric(column))).collect();
    let rows = table.rows.iter().map(|row| line(row.iter().map(|value| (cell(value), value.is_number())).collect()));
    line(head) + &rows.collect::<String>()
}

/// The columns that the last column of a table has at least, however narrow the terminal is.
const LEAST: usize = 30;
