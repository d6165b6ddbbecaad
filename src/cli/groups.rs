//! The commands in groups, as `snuffer --help` lists them.

use clap::CommandFactory;

use super::Cli;

/// The groups, each with its commands in the order in which they are listed.
const GROUPS: [(&str, &[&str]); 5] = [
    ("First steps", &["demo", "doctor", "guard", "new", "replay", "ops"]),
    (
        "Findings",
        &["hunt", "import", "findings", "causes", "triage", "minimize", "report", "bisect", "merge", "history", "site"],
    ),
    ("Testing candle", &["compare", "regressions", "fixes", "coverage"]),
    ("How good snuffer itself is", &["score", "fidelity", "golden"]),
    ("For shells and scripts", &["schema", "completions", "man"]),
];

/// The command line, whose help lists the commands in groups.
pub fn command() -> clap::Command {
    let command = Cli::command();
    let list: String = GROUPS.iter().map(|(title, names)| group(&command, title, names)).collect();
    // Braces would be a part of the template.
    debug_assert!(!list.contains(['{', '}']), "{list}");
    command
        .help_template(format!("{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{list}\nOptions:\n{{options}}\n"))
}

fn group(command: &clap::Command, title: &str, names: &[&str]) -> String {
    const NAME: usize = 12;
    let line = |name: &&str| {
        let about = command.find_subcommand(name).and_then(clap::Command::get_about).map(ToString::to_string);
        format!("  {name:<NAME$} {}\n", about.unwrap_or_default())
    };
    format!("\n{title}:\n{}", names.iter().map(line).collect::<String>())
}

/// True if `word` is the name of a command that the help lists.
pub fn is_command(word: &str) -> bool {
    GROUPS.iter().any(|(_, names)| names.contains(&word))
}
