//! The whole command line: the commands in groups, as `snuffer --help` lists them, and the options that many of them share.

use std::path::PathBuf;

use clap::{Arg, ArgMatches, Command, CommandFactory, value_parser};

use super::Cli;

/// The groups, each with its commands in the order in which they are listed.
const GROUPS: [(&str, &[&str]); 4] = [
    ("First steps", &["demo", "doctor", "guard", "avoid", "new", "replay", "ops"]),
    (
        "Findings",
        &["hunt", "import", "findings", "causes", "triage", "minimize", "report", "bisect", "merge", "history", "site"],
    ),
    ("Testing candle", &["compare", "regressions", "fixes", "coverage"]),
    ("snuffer itself", &["lab", "detectors", "schema", "completions", "man"]),
];

/// The command of another program, which newcomers look for in this list.
const YOURS: &str = "Your own program:
  cargo snuffer runs any CUDA program or test on the simulated device: see `cargo snuffer --help`";

/// The commands that have no store, whose help does not list `--store`.
const WITHOUT_STORE: [&str; 13] = [
    "demo",
    "doctor",
    "guard",
    "avoid",
    "new",
    "ops",
    "merge",
    "regressions",
    "bisect",
    "detectors",
    "schema",
    "completions",
    "man",
];

/// The commands that print what people keep in a file; those of a command with commands of its own stand behind it.
const WITH_OUTPUT: [(&str, &[&str]); 16] = [
    ("doctor", &[]),
    ("guard", &[]),
    ("avoid", &[]),
    ("new", &[]),
    ("replay", &[]),
    ("ops", &[]),
    ("findings", &["list", "show", "summary", "similar", "export"]),
    ("causes", &[]),
    ("minimize", &[]),
    ("bisect", &[]),
    ("history", &[]),
    ("regressions", &[]),
    ("coverage", &[]),
    ("detectors", &[]),
    ("lab", &["score", "fidelity", "golden"]),
    ("schema", &[]),
];

/// The name of the option `--output` among what was parsed.
const OUTPUT: &str = "output";

/// The command line, whose help lists the commands in groups.
pub fn command() -> Command {
    let mut command = Cli::command();
    let store = command.get_arguments().find(|arg| arg.get_id() == "store").cloned().expect("all commands share it");
    for name in WITHOUT_STORE {
        command = command.mut_subcommand(name, |one| one.arg(store.clone().global(false).hide(true)));
    }
    for (name, inner) in WITH_OUTPUT {
        command = command.mut_subcommand(name, |one| match inner {
            [] => one.arg(output()),
            _ => inner.iter().fold(one, |one, name| one.mut_subcommand(name, |one| one.arg(output()))),
        });
    }
    let list: String = GROUPS.iter().map(|(title, names)| group(&command, title, names)).collect();
    // Braces would be a part of the template.
    debug_assert!(!list.contains(['{', '}']), "{list}");
    let usage = "{about-with-newline}\n{usage-heading} {usage}";
    command.help_template(format!("{usage}\n{list}\n{YOURS}\n\nOptions:\n{{options}}\n"))
}

fn output() -> Arg {
    let arg = Arg::new(OUTPUT).long("output").short('o').value_name("FILE").value_parser(value_parser!(PathBuf));
    arg.help("Write to this file instead of standard output")
}

/// The file that the command in `matches` is to print to, if one is named.
pub fn output_file(matches: &ArgMatches) -> Option<PathBuf> {
    let inner = || matches.subcommand().and_then(|(_, matches)| output_file(matches));
    // `snuffer compare` has an option of its own with this name.
    matches.try_get_one::<PathBuf>(OUTPUT).ok().flatten().cloned().or_else(inner)
}

fn group(command: &Command, title: &str, names: &[&str]) -> String {
    const NAME: usize = 12;
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(Command::get_about).map(ToString::to_string);
        format!("  {name:<NAME$} {}\n", about.unwrap_or_default())
    };
    format!("\n{title}:\n{}", names.iter().map(line).collect::<String>())
}

/// The command that was typed, such as `snuffer findings list`.
pub fn typed_command(typed: &[String]) -> String {
    let (mut name, mut within) = ("snuffer".to_string(), Cli::command());
    for word in typed.iter().skip(1) {
        if let Some(command) = within.find_subcommand(word).cloned() {
            name += &format!(" {word}");
            within = command;
        }
    }
    name
}
