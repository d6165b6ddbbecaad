//! `snuffer bisect`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{UsageError, cases, duration};
use crate::case::Case;
use crate::device::Device;
use crate::exec::{Build, Executor, Limits, reproduction};
use crate::exit_code::Exit;
use crate::findings::keep_program;
use crate::oracle::{Evidence, Verdict, judge};
use crate::outcome::Outcome;
use crate::report::{About, Candle, agrees, manifest, outputs, program};

/// Releases of candle that current compilers build.
const RELEASES: &str = "0.8.0,0.8.1,0.8.2,0.8.3,0.8.4,0.9.0,0.9.1,0.9.2,0.10.0,0.10.1,0.10.2,0.11.0,0.11.1";

/// Arguments of `snuffer bisect`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A case, finding or regression; `-` reads standard input.
    path: PathBuf,
    /// Device to run on.
    #[arg(long, default_value = "cpu")]
    device: Device,
    /// Releases of candle, the oldest first; a path is a checkout of candle's repository.
    #[arg(long, value_delimiter = ',', default_value = RELEASES)]
    versions: Vec<String>,
    /// Try every release instead of bisecting.
    #[arg(long)]
    all: bool,
    /// Where programs are built; releases that were built once are kept there.
    #[arg(long, default_value = "target/reproductions")]
    target: PathBuf,
    /// How long the program may run.
    #[arg(long, default_value = "10s", value_parser = duration)]
    timeout: Duration,
}

/// Says since which release of candle the case does what it does today: not whether that is right, but the verdict is shown.
pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let (op, case) = cases::read(&args.path)?;
    let limits = Limits { deadline: args.timeout, ..Limits::default() };
    let observations = Executor::start(&[args.device], Build::Checked, limits)?.observe(&case)?;
    let verdict = judge(&Evidence::new(op, &case, &observations));
    let today = &observations[0].outcome;
    let about = About { device: args.device, comments: &[], outputs: &outputs(today) };
    let text = program(op, &case, &about).map_err(UsageError)?;
    println!("today     {}", today.summary());
    let mut bisection = Bisection { args, case: &case, text, today, limits, tried: BTreeMap::new() };
    let newest = args.versions.len().checked_sub(1).ok_or_else(|| UsageError("no versions".to_string()))?;
    if args.all {
        (0..=newest).try_for_each(|place| bisection.is_as_today(place).map(drop))?;
    }
    if !bisection.is_as_today(newest)? {
        println!("{} does something else than this build of snuffer", args.versions[newest]);
        return Ok(Exit::Harness);
    }
    // The oldest release from which on, as far as was tried, everything is as it is today.
    let (mut first, mut low) = (newest, 0);
    while low < first {
        let middle = usize::midpoint(low, first);
        if bisection.is_as_today(middle)? {
            first = middle;
        } else {
            low = middle + 1;
        }
    }
    let version = &args.versions[first];
    println!(
        "{}",
        match (&verdict, first) {
            (Verdict::Fail(_), 0) => format!("fails in {version} and since, perhaps longer"),
            (Verdict::Fail(_), _) => format!("fails since {version}; {} does something else", args.versions[first - 1]),
            (_, 0) => format!("as today in {version} and since, perhaps longer"),
            (_, _) => format!("as today since {version}; {} does something else", args.versions[first - 1]),
        }
    );
    Ok(if matches!(verdict, Verdict::Fail(_)) { Exit::Findings } else { Exit::Clean })
}

struct Bisection<'a> {
    args: &'a Args,
    case: &'a Case,
    text: String,
    today: &'a Outcome,
    limits: Limits,
    tried: BTreeMap<usize, bool>,
}

impl Bisection<'_> {
    /// Whether the release at this place does what candle does today. One that does not compile the program does not.
    fn is_as_today(&mut self, place: usize) -> anyhow::Result<bool> {
        if let Some(&known) = self.tried.get(&place) {
            return Ok(known);
        }
        let version = &self.args.versions[place];
        let (same, what) = self.tried(version)?;
        println!("{version:<9} {}{what}", if same { "the same" } else { "something else: " });
        self.tried.insert(place, same);
        Ok(same)
    }

    fn tried(&self, version: &str) -> anyhow::Result<(bool, String)> {
        let name: String =
            format!("candle-{version}").chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let target = std::path::absolute(&self.args.target)?;
        let folder = target.join("bisect").join(&name);
        let candle = if Path::new(version).is_dir() { Candle::Checkout(version) } else { Candle::Release(version) };
        keep_program(&folder, &manifest(&name, &self.text, self.args.device, candle), &self.text)?;
        if let Err(problem) = reproduction::build(&folder, &target) {
            let text = problem.to_string();
            let line = text.lines().find(|line| line.starts_with("error")).unwrap_or("it does not compile");
            return Ok((false, line.to_string()));
        }
        let ran = reproduction::run(&reproduction::executable(&target, &name), &[], self.args.device, self.limits)?;
        let last = ran.stderr.lines().chain(ran.stdout.lines()).next_back().unwrap_or_default().to_string();
        let same = agrees(self.case, self.today, &ran);
        Ok((same, if same { String::new() } else { last }))
    }
}
