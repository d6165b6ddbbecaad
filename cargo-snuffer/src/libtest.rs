//! A binary of tests with libtest's arguments: which tests it has, and how one of them runs alone.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::process::{Command, Stdio};

/// A test binary and what the user asked of it.
pub struct Binary<'a> {
    path: &'a OsStr,
    args: &'a [String],
}

/// Arguments that say how results are shown. This program shows them itself.
const SHOWN: [&str; 6] = ["--nocapture", "--no-capture", "--show-output", "--quiet", "-q", "--test"];
/// Such arguments with a value.
const SHOWN_WITH_VALUE: [&str; 4] = ["--format", "--color", "--test-threads", "--logfile"];

impl<'a> Binary<'a> {
    pub fn new(path: &'a OsStr, args: &'a [String]) -> Self {
        Self { path, args }
    }

    /// The tests that the user's filters leave, and which of them are ignored. `None` if the binary has no list in libtest's form: it
    /// has a harness of its own.
    pub fn tests(&self) -> Option<Vec<(String, bool)>> {
        let all = self.list(&[])?;
        let ignored: BTreeSet<String> =
            if self.runs_ignored() { BTreeSet::new() } else { self.list(&["--ignored"])?.into_iter().collect() };
        Some(all.into_iter().map(|name| (name.clone(), ignored.contains(&name))).collect())
    }

    fn list(&self, more: &[&str]) -> Option<Vec<String>> {
        let mut command = Command::new(self.path);
        command.args(self.choosing()).args(more).args(["--list", "--format=terse"]);
        let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
        let text = String::from_utf8(output.stdout).ok().filter(|_| output.status.success())?;
        // A benchmark is a test that `cargo test` runs once.
        let name =
            |line: &str| line.strip_suffix(": test").or_else(|| line.strip_suffix(": benchmark")).map(str::to_string);
        text.lines().map(name).collect()
    }

    /// The command that runs one test and nothing else.
    pub fn alone(&self, test: &str) -> Command {
        let mut command = Command::new(self.path);
        command.args([test, "--exact", "--include-ignored", "--nocapture", "--test-threads=1"]);
        command
    }

    /// Whether the user wants to see what tests print.
    pub fn shows_output(&self) -> bool {
        self.args.iter().any(|arg| ["--nocapture", "--no-capture", "--show-output"].contains(&arg.as_str()))
    }

    /// How many tests the user lets run at once.
    pub fn threads(&self) -> Option<usize> {
        let at = self.args.iter().position(|arg| arg == "--test-threads").map(|at| self.args.get(at + 1).cloned());
        let joined = || self.args.iter().find_map(|arg| arg.strip_prefix("--test-threads=").map(str::to_string));
        at.flatten().or_else(joined)?.parse().ok()
    }

    fn runs_ignored(&self) -> bool {
        self.args.iter().any(|arg| arg == "--ignored" || arg == "--include-ignored")
    }

    /// The arguments that choose tests.
    fn choosing(&self) -> Vec<&str> {
        let mut chosen = Vec::new();
        let mut args = self.args.iter().map(String::as_str);
        while let Some(arg) = args.next() {
            if SHOWN_WITH_VALUE.contains(&arg) {
                args.next();
            } else if !SHOWN.contains(&arg) && !SHOWN_WITH_VALUE.iter().any(|name| arg.starts_with(&format!("{name}=")))
            {
                chosen.push(arg);
            }
        }
        chosen
    }
}

#[cfg(test)]
mod tests {
    use super::Binary;

    #[test]
    fn what_chooses_tests_is_told_from_what_shows_them() {
        for (args, choosing, shows, threads) in [
            ("gather --nocapture", "gather", true, None),
            ("--test-threads 3 --skip slow --format=pretty", "--skip slow", false, Some(3)),
            ("--test-threads=1 -q --ignored --exact a b", "--ignored --exact a b", false, Some(1)),
            ("", "", false, None),
        ] {
            let args: Vec<String> = args.split_whitespace().map(str::to_string).collect();
            let binary = Binary::new("it".as_ref(), &args);
            assert_eq!(binary.choosing().join(" "), choosing, "{args:?}");
            assert_eq!((binary.shows_output(), binary.threads()), (shows, threads), "{args:?}");
        }
    }
}
