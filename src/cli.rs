//! The command line: its commands, the options they share, and the module that runs each.

#[macro_use]
mod print;

mod args;
mod avoid;
mod begin;
mod bisect;
mod cases;
mod causes;
mod compare;
mod completions;
mod coverage;
mod demo;
mod detectors;
mod doctor;
mod findings;
mod fixes;
mod groups;
mod guard;
mod history;
mod hunt;
mod import;
mod intact;
mod interrupts;
mod issues;
mod kept_tests;
mod lab;
mod list;
mod merge;
mod minimize;
mod mistakes;
mod new;
mod ops;
mod program;
mod promote;
mod regressions;
mod replay;
mod report;
mod schema;
mod similar;
mod site;
mod triage;

use clap::{FromArgMatches, Parser, Subcommand};

use crate::exit_code::Exit;

use args::{
    CandleArg, Chosen, ChosenFindings, Common, DevicesArg, Format, FormatArg, JobsArg, KernelsArg, KnownArg, Pattern,
    SanitizerArg, StoreArg, candle_under_test, check_lacking, check_release, existing, is_file, present, text, usable,
};
pub use args::{UsageError, duration};
pub use ops::{example, explained};
pub use program::{main, of_ops};

/// Finds, reproduces and minimizes inputs that break candle.
///
/// Exit codes: 0 clean, 1 usage, 2 findings, 3 device lost, 4 planted fault missed, 5 harness failure, 6 invalid call.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 80)]
pub struct Cli {
    #[command(flatten)]
    store: StoreArg,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show what snuffer does with a kept case, step by step, in a minute.
    Demo(demo::Args),
    /// Draw and run cases, and keep a minimized finding for each new signature.
    Hunt(hunt::Args),
    /// Run cases from files, such as a fuzzer's artifacts, and keep findings as a hunt does.
    Import(import::Args),
    /// Merge the findings and counts of several stores into one.
    Merge(merge::Args),
    /// Run a case or finding, and show its contract and what happens.
    Replay(replay::Args),
    /// Check labels, ids and whole calls of a safetensors file before a GPU sees them.
    Guard(guard::Args),
    /// List the known bugs that some ops, a model, a device or a dtype meet, and the ways around them.
    Avoid(avoid::Args),
    /// Simplify a failing case and print it.
    Minimize(minimize::Args),
    /// List, show and export findings, or promote one to a regression.
    Findings(findings::Args),
    /// Show which causes the findings have, and the findings without a cause.
    Causes(causes::Args),
    /// Build candle with fixes of causes, write such a fix, or prove it.
    Fixes(fixes::Args),
    /// Go through the new findings and decide on each.
    Triage(triage::Args),
    /// Run all regressions, and show those that behave unexpectedly.
    Regressions(regressions::Args),
    /// Show what one candle does differently from another, with a minimized case for each difference.
    Compare(compare::Args),
    /// Query the campaigns of stores: when failures began, and which are gone.
    History(history::Args),
    /// Write an issue for a finding, with a crate that reproduces it, built and run.
    Report(report::Args),
    /// Find the oldest candle release in which a case behaves like today.
    Bisect(bisect::Args),
    /// List the ops, explain one, or measure which dtypes work.
    Ops(ops::Args),
    /// Write a case of an op from shapes and values, to replay or edit.
    New(new::Args),
    /// Show which kernels and branches a campaign or cases reached on a simulated device.
    Coverage(coverage::Args),
    /// Measure snuffer itself: its mutation score, and its simulated device against hardware.
    Lab(lab::Args),
    /// Measure the detectors of the simulated device on labelled programs.
    Detectors(detectors::Args),
    /// Write a static site: the matrix of ops, every finding, coverage and trends.
    Site(site::Args),
    /// Check the devices, workers, canary and tools of this machine.
    Doctor(doctor::Args),
    /// Print the JSON Schema of a JSON output or file of `snuffer`.
    Schema(schema::Args),
    /// Print a shell completion script.
    Completions(completions::CompletionsArgs),
    /// Write a man page for each command.
    Man(completions::ManArgs),
}

impl Cli {
    /// What was typed. An error is the code with which the program ends: a mistake is one line on standard error.
    pub fn typed() -> Result<Self, Exit> {
        let typed: Vec<String> = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let parsed = groups::command().try_get_matches().and_then(|matches| {
            if let Some(file) = groups::output_file(&matches) {
                crate::console::print_to(file);
            }
            Self::from_arg_matches(&matches)
        });
        parsed.map_err(|error| match mistakes::line(&error, &typed) {
            Some(line) => {
                eprintln!("snuffer: {line}");
                Exit::Usage
            }
            None => match error.print() {
                _ if error.use_stderr() => Exit::Usage,
                Err(unwritten) => crate::console::end_unwritten(&unwritten),
                Ok(()) => Exit::Clean,
            },
        })
    }
}

/// Runs a command; without one, says where to begin. The file of `--output` is written even if the command fails.
pub fn run(cli: Cli) -> anyhow::Result<Exit> {
    interrupts::outlive_large_files()?;
    let ended = dispatch(cli);
    crate::console::finish()?;
    ended
}

fn dispatch(cli: Cli) -> anyhow::Result<Exit> {
    let store = cli.store;
    let Some(command) = cli.command else { return Ok(begin::run(&store)) };
    match command {
        Command::Demo(args) => demo::run(&args),
        Command::Hunt(args) => hunt::run(&args, &store),
        Command::Import(args) => import::run(&args, &store),
        Command::Merge(args) => merge::run(&args),
        Command::Replay(args) => replay::run(&args, &store),
        Command::Guard(args) => guard::run(&args),
        Command::Avoid(args) => avoid::run(&args),
        Command::Minimize(args) => minimize::run(&args, &store),
        Command::Findings(args) => findings::run(args, &store),
        Command::Causes(args) => causes::run(&args, &store),
        Command::Fixes(args) => fixes::run(&args, &store),
        Command::Triage(args) => triage::run(&args, &store),
        Command::Regressions(args) => regressions::run(&args),
        Command::Compare(args) => compare::run(&args, &store),
        Command::History(args) => history::run(&args),
        Command::Report(args) => report::run(&args, &store),
        Command::Bisect(args) => bisect::run(&args, &store),
        Command::Ops(args) => ops::run(&args),
        Command::New(args) => new::run(&args),
        Command::Coverage(args) => coverage::run(&args, &store),
        Command::Lab(args) => lab::run(&args, &store),
        Command::Detectors(args) => detectors::run(&args),
        Command::Site(args) => site::run(&args, &store),
        Command::Doctor(args) => doctor::run(&args),
        Command::Schema(args) => schema::run(&args),
        Command::Completions(args) => Ok(completions::completions(&args)),
        Command::Man(args) => completions::man(&args),
    }
}
