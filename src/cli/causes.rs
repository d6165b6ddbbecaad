//! `snuffer causes`: which cause each finding has, and one cause with all that is known of it.

use schemars::JsonSchema;
use serde::Serialize;

use super::{KnownArg, StoreArg, UsageError};
use crate::candles::fixed;
use crate::causes::{FixState, KnownFailures, Link, RootCause, Sighting, some_of};
use crate::console;
use crate::exit_code::Exit;
use crate::oracle::Rank;
use crate::report::sentence;
use crate::store::Finding;

/// Arguments of `snuffer causes`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Show all of this cause: its name, or a unique part of its name.
    name: Option<String>,
    /// Explain the regressions instead of the findings of a store.
    #[arg(long)]
    kept: bool,
    /// Also list causes that explain none of them.
    #[arg(long, conflicts_with_all = ["name", "json"])]
    all: bool,
    /// Print JSON, one object per line.
    #[arg(long, conflicts_with = "name")]
    json: bool,
    #[command(flatten)]
    known: KnownArg,
}

/// A cause, and what it explains. One line is of what no cause explains: it has neither a name nor a title.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Explained<'a> {
    /// Its name, which `snuffer causes` and `--candle fixes:NAME` take.
    name: Option<&'a str>,
    /// The mistake.
    title: Option<&'a str>,
    /// How bad the worst of it is.
    rank: Rank,
    /// Its theme: causes that are one decision of candle's maintainers.
    theme: Option<&'a str>,
    /// The reason why it is not a bug of candle, if it is not one.
    note: Option<&'a str>,
    /// The files and functions of candle.
    at: &'a [String],
    /// The oldest tested release that has it.
    since: Option<String>,
    /// Issues and pull requests of candle.
    upstream: &'a [Link],
    /// The state of its fix: `none`, `unproven` or `proven`.
    fix: FixState,
    /// The findings, or the regressions, that it explains.
    findings: Vec<&'a str>,
}

/// Prints the causes, those first that hit most people, and what no cause explains.
pub fn run(args: &Args, store: &StoreArg) -> anyhow::Result<Exit> {
    let known = args.known.failures()?;
    known.causes.iter().try_for_each(RootCause::check).map_err(UsageError)?;
    // One cause can be shown before anything was hunted.
    let needs_store = !args.kept && (args.name.is_none() || store.path().is_dir());
    let findings = if needs_store { store.existing()?.readable()? } else { Vec::new() };
    let found = || findings.iter().map(|(name, finding)| (name.as_str(), Sighting::of(finding)));
    let kept = || known.regressions.iter().filter_map(|(name, one)| Some((name.as_str(), Sighting::kept(one)?)));
    if let Some(name) = &args.name {
        let cause = RootCause::named(&known.causes, name).map_err(UsageError)?;
        let its = [("regression", known.by_cause(kept())), ("finding", known.by_cause(found()))];
        let its = its.into_iter().flat_map(|(what, mut by_cause)| {
            let names = by_cause.remove(&Some(cause.name.as_str())).unwrap_or_default();
            names.into_iter().map(move |name| (what, name))
        });
        return show(cause, its);
    }
    let failures: Vec<(&str, Sighting)> = if args.kept { kept().collect() } else { found().collect() };
    let explained = explained(&known, &failures);
    if args.json {
        for one in &explained {
            println!("{}", serde_json::to_string(one)?);
        }
    } else {
        list(&explained, &known.causes, args, &findings);
    }
    Ok(Exit::Clean)
}

/// The causes with the failures that they explain, and last those that none explains.
fn explained<'a>(known: &'a KnownFailures, failures: &[(&'a str, Sighting<'a>)]) -> Vec<Explained<'a>> {
    let ranks = failures.iter().map(|(name, sighting)| ((*name, sighting.signature.rank()), sighting.clone()));
    let mut by_cause = known.by_cause(ranks);
    let names = |failures: Vec<(&'a str, Rank)>| failures.into_iter().map(|(name, _)| name).collect();
    let of = |cause: &'a RootCause| {
        let findings = names(by_cause.remove(&Some(cause.name.as_str())).unwrap_or_default());
        Explained { findings, ..Explained::of(cause) }
    };
    let mut all: Vec<Explained> = RootCause::by_impact(&known.causes).into_iter().map(of).collect();
    let rest = by_cause.remove(&None).unwrap_or_default();
    let rank = rest.iter().map(|(_, rank)| *rank).min().unwrap_or(Rank::Cost);
    all.push(Explained { rank, findings: names(rest), ..Explained::of_nothing() });
    all
}

fn list(explained: &[Explained], all: &[RootCause], args: &Args, findings: &[(String, Finding)]) {
    let what = if args.kept { "regression" } else { "finding" };
    let (causes, rest) = explained.split_at(explained.len() - 1);
    let (seen, unseen): (Vec<_>, Vec<_>) = causes.iter().partition(|one: &&Explained| !one.findings.is_empty());
    println!(
        "{:<7} {:>4}  fix  cause, and the name that `snuffer causes NAME` takes",
        "rank",
        what.get(..4).unwrap_or(what)
    );
    for one in causes.iter().filter(|one| args.all || !one.findings.is_empty()) {
        println!("{}", one.line(all));
    }
    let rest = &rest[0];
    if !rest.findings.is_empty() {
        println!("\n{} without a known cause", console::count(rest.findings.len(), what));
    }
    for name in &rest.findings {
        let finding = findings.iter().find(|(own, _)| own == name);
        let line = finding
            .map(|(_, finding)| console::under_a_name(Some(finding.signature.rank()), &sentence(&finding.signature)));
        println!("{name}{}", line.map_or_else(String::new, |line| format!("\n{line}")));
    }
    let count: usize = seen.iter().map(|one| one.findings.len()).sum();
    let (by, all) = (console::count(seen.len(), "cause"), console::count(count + rest.findings.len(), what));
    println!("\n{count} of {all} explained by {by}; {} explain none of them", console::count(unseen.len(), "cause"));
    println!(
        "fix: P is a proven fix, u a fix without a proof; `snuffer causes NAME` shows it, and all else of a cause"
    );
}

impl<'a> Explained<'a> {
    fn of(cause: &'a RootCause) -> Self {
        let RootCause { name, title, rank, theme, at, upstream, since, .. } = cause;
        let since = since.as_ref().map(|since| since.release.to_string());
        let (fix, findings) = (cause.fix_state(), Vec::new());
        let (theme, note) = (Some(theme.as_str()), cause.note.as_deref());
        Self { name: Some(name), title: Some(title), rank: *rank, theme, note, at, since, upstream, fix, findings }
    }

    /// A line of a list: how bad it is, how often it was seen, whether it has a fix; under it the name by which it can be shown.
    fn line(&self, all: &[RootCause]) -> String {
        const INDENT: usize = 19;
        let fix = match self.fix {
            FixState::None => ' ',
            FixState::Unproven => 'u',
            FixState::Proven => 'P',
        };
        let title = console::wrapped(self.title.unwrap_or_default(), console::width() - INDENT);
        let cause = all.iter().find(|cause| Some(cause.name.as_str()) == self.name);
        let name = cause.map_or("", |cause| cause.short_name(all));
        let links = self.upstream.iter().map(|Link { url, kind, .. }| format!("{url} {kind}"));
        let under = title.into_iter().chain([name.to_string()]).chain(links);
        let text = under.collect::<Vec<_>>().join(&format!("\n{:INDENT$}", ""));
        format!("{} {:>4}  {fix}    {text}", console::word(self.rank), self.findings.len())
    }

    fn of_nothing() -> Self {
        let (at, upstream): (&[String], &[Link]) = (&[], &[]);
        let (rank, fix) = (Rank::Limit, FixState::None);
        let findings = Vec::new();
        Self { name: None, title: None, rank, theme: None, note: None, at, since: None, upstream, fix, findings }
    }
}

/// Prints all that is known of a cause: why, its fix, how to avoid it, and what has it, regressions and findings.
fn show<'a>(cause: &RootCause, its: impl Iterator<Item = (&'static str, &'a str)>) -> anyhow::Result<Exit> {
    println!("{}\n", console::headed(cause.rank, &cause.title));
    for paragraph in cause.explanation.trim_end().split("\n\n") {
        let words = paragraph.split_whitespace().collect::<Vec<_>>().join(" ");
        println!("{}\n", console::wrapped(&words, console::width()).join("\n"));
    }
    let line = |label: &str, text: &str| println!("{}", console::with_label(label, text));
    line("name", &cause.name);
    line("theme", &cause.theme);
    cause.note.iter().for_each(|why| line("no bug", why));
    line("seen as", &cause.seen_as());
    cause.at.iter().for_each(|place| line("at", place));
    cause.since.iter().for_each(|release| line("releases", &release.to_string()));
    cause.upstream.iter().for_each(|Link { url, kind, title }| line("upstream", &format!("{url} {kind}: {title}")));
    cause.pytorch.iter().for_each(|text| line("PyTorch", text));
    cause.expected.iter().for_each(|text| line("expected", text));
    cause.workaround.iter().for_each(|text| line("workaround", text));
    cause.about_fix.iter().for_each(|text| line("its fix", text));
    if !cause.models.is_empty() {
        line("called by", &some_of(&cause.models));
    }
    match fixed::diff_of(cause)? {
        None => line("fix", "none yet"),
        Some(diff) => {
            match &cause.proof {
                Some(proof) => line("proof", &proof.to_string()),
                None => line("proof", &format!("none yet; `snuffer fixes prove {}` makes it", cause.name)),
            }
            line("try it", &format!("snuffer regressions --candle fixes:{} --device cpu", cause.name));
            print!("\n{diff}\n");
        }
    }
    its.for_each(|(what, name)| println!("{what:<10} {name}"));
    Ok(Exit::Clean)
}
