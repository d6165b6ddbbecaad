//! Mistakes on the command line, each as one line in the style of all other errors.

use clap::error::ErrorKind;

use super::groups::typed_command;

/// The option whose default a variable sets.
const VARIABLE: (&str, &str) = ("--device", "SNUFFER_DEVICES");

/// What clap says of a mistake, in one line with the command that says more. `None` if it is no mistake: help or the version.
pub fn line(error: &clap::Error, typed: &[String]) -> Option<String> {
    if !error.use_stderr() || error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return None;
    }
    let text = error.render().to_string();
    let mut paragraphs = text.split("\n\n");
    let said = joined(paragraphs.next().unwrap_or_default());
    let said = said.strip_prefix("error: ").unwrap_or(&said).replace('\'', "`");
    // How to pass an unknown option as a value is of no use: no argument begins with a dash.
    let is_tip = |part: &&str| part.trim_start().starts_with("tip: ") && !part.contains("as a value");
    let tip = paragraphs.find(is_tip).map(|tip| joined(tip).replace("tip: ", "; ").replace('\'', "`"));
    let said = by_variable(&said, typed).unwrap_or(said);
    Some(format!("{said}{}; see `{} --help`", tip.unwrap_or_default(), typed_command(typed)))
}

/// The text in one line.
fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `said` about the variable, if nobody typed the option.
fn by_variable(said: &str, typed: &[String]) -> Option<String> {
    let (option, variable) = VARIABLE;
    let is_typed = typed.iter().any(|word| word.starts_with(option));
    let (before, after) = said.split_once(&format!("`{option}"))?;
    let (_, after) = after.split_once('`')?;
    (!is_typed && std::env::var_os(variable).is_some()).then(|| format!("{before}the variable {variable}{after}"))
}
