//! `snuffer causes`: which cause each finding has, and one cause with all that is known of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::findings::readable;
use super::{KnownArg, StoreArg, UsageError};
use crate::candles::fixed;
use crate::causes::{RootCause, Sighting, explain};
use crate::console;
use crate::exit_code::Exit;
use crate::oracle::Rank;
use crate::report::sentence;
use crate::store::Finding;
use crate::store::regression::Regression;

/// Arguments of `snuffer causes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show all of this cause: its name, or a part of its name that no other has.
    name: Option<String>,
    /// Explain the regressions instead of the findings of a store.
    #[arg(long)]
    kept: bool,
    /// Print JSON, one object per line.
    #[arg(long, conflicts_with = "name")]
    json: bool,
    #[command(flatten)]
    known: KnownArg,
}

/// How far the fix of a cause is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum FixState {
    /// It has none.
    None,
    /// Nothing shows yet that it mends all that the cause explains and breaks nothing.
    Unproven,
    /// It mends all that the cause explains, and breaks nothing.
    Proven,
}

/// A cause, and what it explains. One line is of what no cause explains: it has neither a name nor a title.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained<'a> {
    /// Its name, which `snuffer causes` and `--candle fixes:NAME` take.
    name: Option<&'a str>,
    /// What is wrong.
    title: Option<&'a str>,
    /// How bad the worst of it is.
    rank: Rank,
    /// The files and functions of candle.
    at: &'a [String],
    /// The oldest tested release that has it.
    since: Option<String>,
    /// Issues and pull requests of candle.
    upstream: &'a [String],
    /// Whether it has a fix: `none`, `unproven` or `proven`.
    fix: FixState,
    /// The findings, or the regressions, that it explains.
    findings: Vec<&'a str>,
}

/// A failure that is to be explained, by name.
type Failure<'a> = (&'a str, Sighting<'a>);

/// Prints the causes, the worst first, and what no cause explains. `Findings` if there is something that none explains.
pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let causes = RootCause::all().map_err(UsageError)?;
    let regressions = args.known.read()?;
    // One cause can be shown before anything was hunted.
    let needs_store = !args.kept && (args.name.is_none() || store.path().is_dir());
    let findings = if needs_store { readable(&store.existing()?)? } else { Vec::new() };
    let kept = kept(&regressions);
    if let Some(name) = &args.name {
        return show(one(&causes, name)?, &causes, &findings, &kept);
    }
    let found: Vec<Failure> = findings.iter().map(|(name, finding)| (name.as_str(), Sighting::of(finding))).collect();
    let explained = explained(&causes, if args.kept { &kept } else { &found })?;
    let what = if args.kept { "regression" } else { "finding" };
    if args.json {
        for one in &explained {
            println!("{}", serde_json::to_string(one)?);
        }
    } else {
        list(&explained, what, &findings);
    }
    let unexplained = explained.iter().any(|one| one.name.is_none() && !one.findings.is_empty());
    Ok(if unexplained { Exit::Findings } else { Exit::Clean })
}

/// The regressions that fail.
fn kept(regressions: &[(String, Regression)]) -> Vec<Failure<'_>> {
    regressions.iter().filter_map(|(name, one)| Some((name.as_str(), Sighting::kept(one)?))).collect()
}

/// The causes with the failures that they explain, and last those that none explains.
fn explained<'a>(causes: &'a [RootCause], failures: &[Failure<'a>]) -> Result<Vec<Explained<'a>>, UsageError> {
    let mut all: Vec<Explained> = causes.iter().map(Explained::of).collect();
    let mut rest = Explained::of_nothing();
    for (name, sighting) in failures {
        match explain(causes, sighting).map_err(UsageError)? {
            Some(cause) => {
                let its = all.iter_mut().find(|one| one.name == Some(&cause.name)).expect("it is one of them");
                its.findings.push(name);
            }
            None => {
                rest.rank = rest.rank.min(sighting.signature.rank());
                rest.findings.push(name);
            }
        }
    }
    all.push(rest);
    Ok(all)
}

fn list(explained: &[Explained], what: &str, findings: &[(String, Finding)]) {
    let (causes, rest) = explained.split_at(explained.len() - 1);
    let (seen, unseen): (Vec<_>, Vec<_>) = causes.iter().partition(|one: &&Explained| !one.findings.is_empty());
    for one in &seen {
        let state = match one.fix {
            FixState::None => "",
            FixState::Unproven => " (has a fix)",
            FixState::Proven => " (has a proven fix)",
        };
        println!(
            "{}",
            console::headed(one.rank, &format!("{:>4}  {}{state}", one.findings.len(), one.title.unwrap_or_default()))
        );
    }
    let rest = &rest[0];
    if !rest.findings.is_empty() {
        println!("\n{} that no cause explains", console::count(rest.findings.len(), what));
    }
    for name in &rest.findings {
        let finding = findings.iter().find(|(own, _)| own == name);
        let line =
            finding.map(|(_, finding)| console::under_a_name(finding.signature.rank(), &sentence(&finding.signature)));
        println!("{name}{}", line.map_or_else(String::new, |line| format!("\n{line}")));
    }
    let count: usize = seen.iter().map(|one| one.findings.len()).sum();
    let (by, all) = (console::count(seen.len(), "cause"), console::count(count + rest.findings.len(), what));
    println!("\n{count} of {all} explained by {by}; {} explain none of them", console::count(unseen.len(), "cause"));
}

impl<'a> Explained<'a> {
    fn of(cause: &'a RootCause) -> Self {
        let RootCause { name, title, rank, at, upstream, since, .. } = cause;
        let since = since.as_ref().map(|since| since.release.to_string());
        let fix = match (cause.is_proven(), &cause.fix) {
            (_, None) => FixState::None,
            (false, Some(_)) => FixState::Unproven,
            (true, Some(_)) => FixState::Proven,
        };
        Self { name: Some(name), title: Some(title), rank: *rank, at, since, upstream, fix, findings: Vec::new() }
    }

    fn of_nothing() -> Self {
        let (at, upstream): (&[String], &[String]) = (&[], &[]);
        let (rank, fix) = (Rank::Limit, FixState::None);
        Self { name: None, title: None, rank, at, since: None, upstream, fix, findings: Vec::new() }
    }
}

/// The cause that `typed` means.
pub fn one<'a>(causes: &'a [RootCause], typed: &str) -> Result<&'a RootCause, UsageError> {
    let exact = causes.iter().find(|cause| cause.name == typed);
    let meant: Vec<&RootCause> = causes.iter().filter(|cause| cause.name.contains(typed)).collect();
    match (exact, &meant[..]) {
        (Some(one), _) => Ok(one),
        (None, [one]) => Ok(one),
        (None, []) => Err(UsageError(format!("no cause `{typed}`; `snuffer causes --kept --json` names them"))),
        (None, [one, another, ..]) => {
            Err(UsageError(format!("`{typed}` may be `{}` or `{}`; type more of the name", one.name, another.name)))
        }
    }
}

/// Prints all that is known of a cause.
fn show(
    cause: &RootCause,
    causes: &[RootCause],
    findings: &[(String, Finding)],
    kept: &[Failure],
) -> anyhow::Result<Exit> {
    println!("{}\n", console::headed(cause.rank, &cause.title));
    println!("{}\n", cause.explanation.trim_end());
    let line = |label: &str, text: &str| println!("{label:<10} {text}");
    line("name", &cause.name);
    cause.at.iter().for_each(|place| line("at", place));
    cause.since.iter().for_each(|release| line("since", &release.to_string()));
    cause.upstream.iter().for_each(|link| line("upstream", link));
    cause.pytorch.iter().for_each(|text| line("PyTorch", text));
    cause.workaround.iter().for_each(|text| line("workaround", text));
    cause.affected.iter().for_each(|text| line("affected", text));
    let found = findings.iter().map(|(name, finding)| ("finding", name.as_str(), Sighting::of(finding)));
    let kept = kept.iter().map(|(name, sighting)| ("regression", *name, sighting.clone()));
    for (label, name, sighting) in kept.chain(found) {
        if explain(causes, &sighting).map_err(UsageError)?.is_some_and(|own| own.name == cause.name) {
            line(label, name);
        }
    }
    let Some(fix) = &cause.fix else {
        line("fix", "none yet");
        return Ok(Exit::Clean);
    };
    match &cause.proof {
        Some(proof) => {
            let devices: Vec<String> = proof.devices.iter().map(ToString::to_string).collect();
            let (mends, leaves, breaks) = (proof.mends.len(), proof.leaves.len(), proof.breaks.len());
            let on = devices.join(", ");
            line("proof", &format!("of {} cases on {on}: mends {mends}, leaves {leaves}, breaks {breaks}", proof.run));
        }
        None => line("proof", &format!("none yet; `snuffer fixes prove {}` makes it", cause.name)),
    }
    line("try it", &format!("snuffer regressions --candle fixes:{} --device cpu", cause.name));
    print!("\n{}", fixed::diff(&[(cause.name.clone(), fix.clone())].into())?);
    Ok(Exit::Clean)
}
