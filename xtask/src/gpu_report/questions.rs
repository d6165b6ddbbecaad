//! The questions that only a GPU answers, each with the command that answers it.

use std::path::Path;

use super::Answer;

/// A question, and how it is answered.
pub struct Question {
    /// The name of its files.
    pub name: &'static str,
    /// The question.
    pub text: &'static str,
    /// Which program answers it.
    pub by: By,
    /// Its arguments, with spaces between them; `FOLDER` is where files go.
    long: &'static str,
    /// Its arguments in the short form.
    short: &'static str,
    /// A tool without which it cannot be asked.
    pub needs: Option<&'static str>,
    /// What exit code 0 means.
    clean: &'static str,
    /// What exit code 2 means; empty if that is a failure.
    found: &'static str,
}

/// A program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    /// `target/debug/snuffer`.
    Snuffer,
    /// The tests of devices; the arguments are parts of their names.
    Tests,
}

impl Question {
    /// The arguments of its command.
    pub fn args(&self, short: bool, folder: &Path) -> Vec<String> {
        let folder = folder.to_string_lossy();
        (if short { self.short } else { self.long }).split(' ').map(|word| word.replace("FOLDER", &folder)).collect()
    }

    /// Its command, as a person types it.
    pub fn line(&self, short: bool, folder: &Path) -> String {
        let program = match self.by {
            By::Snuffer => "snuffer",
            By::Tests => "cargo xtask test -- --test devices --",
        };
        format!("{program} {}", self.args(short, folder).join(" "))
    }

    /// What an exit code says.
    pub fn said(&self, code: u8) -> String {
        match code {
            0 => self.clean.to_string(),
            2 if !self.found.is_empty() => self.found.to_string(),
            other => format!("**failed** with exit code {other}"),
        }
    }

    /// Whether the command failed, as opposed to an answer that is bad news.
    pub fn has_failed(&self, answer: &Answer) -> bool {
        matches!(answer, Answer::Ended(code, _) if *code != 0 && (*code != 2 || self.found.is_empty()))
    }
}

/// A question that `snuffer` answers.
const fn snuffer(
    name: &'static str,
    text: &'static str,
    [long, short]: [&'static str; 2],
    [clean, found]: [&'static str; 2],
) -> Question {
    Question { name, text, by: By::Snuffer, long, short, needs: None, clean, found }
}

/// A question that `snuffer` answers with a tool of compute-sanitizer.
const fn sanitized(name: &'static str, text: &'static str, commands: [&'static str; 2]) -> Question {
    Question { needs: Some("compute-sanitizer"), ..snuffer(name, text, commands, ["no finding", "findings"]) }
}

/// All questions, in the order in which they are asked: the most important first.
pub const QUESTIONS: &[Question] = &[
    snuffer("doctor", "Is everything there?", ["doctor"; 2], ["yes", ""]),
    Question {
        by: By::Tests,
        ..snuffer(
            "tests",
            "Do the tests pass on the GPU?",
            ["property replayed canary guard trace matrix", "canary"],
            ["yes", ""],
        )
    },
    snuffer(
        "regressions",
        "Does candle still do what the regressions say?",
        ["regressions --known corpora/regressions --device cuda:0"; 2],
        ["yes", "not all: the list says which"],
    ),
    snuffer(
        "scenarios",
        "Does the field guide hold on hardware?",
        ["regressions --known corpora/scenarios --device cuda:0"; 2],
        ["yes", "not all: the list says which"],
    ),
    snuffer(
        "canary",
        "Is each planted fault charged to its case?",
        [
            "hunt --device cuda:0 --ops loss.mse --mode valid --seed 1 --cases 2600 --inject 100 --timeout 2s",
            "hunt --device cuda:0 --ops loss.mse --mode valid --seed 1 --cases 52 --inject 2 --timeout 2s",
        ],
        ["all of them", "all of them, with findings of loss.mse"],
    ),
    snuffer(
        "fidelity",
        "Does the simulated device agree with the GPU?",
        [
            "lab fidelity --device sim:0,cuda:0 --cases 20000 --time 20m --into FOLDER/disagreements --markdown FOLDER/fidelity.md",
            "lab fidelity --device sim:0,cuda:0 --cases 300 --into FOLDER/disagreements --markdown FOLDER/fidelity.md",
        ],
        ["in every case", "not in every case: each disagreement is minimized"],
    ),
    snuffer(
        "hunt",
        "What does a hunt find, and how fast is it?",
        ["hunt --device cpu,cuda:0 --seed 1 --time 5m", "hunt --device cpu,cuda:0 --seed 1 --cases 400 --minimize 1s"],
        ["nothing", "findings"],
    ),
    sanitized(
        "memcheck",
        "What does compute-sanitizer's memcheck see?",
        [
            "hunt --device cuda:0 --sanitizer memcheck --seed 2 --time 5m",
            "hunt --device cuda:0 --sanitizer memcheck --seed 2 --cases 20 --minimize 1s",
        ],
    ),
    sanitized(
        "initcheck",
        "What does initcheck see?",
        [
            "hunt --device cuda:0 --sanitizer initcheck --seed 2 --time 3m",
            "hunt --device cuda:0 --sanitizer initcheck --seed 2 --cases 20 --minimize 1s",
        ],
    ),
    sanitized(
        "racecheck",
        "What does racecheck see?",
        [
            "hunt --device cuda:0 --sanitizer racecheck --seed 2 --time 3m",
            "hunt --device cuda:0 --sanitizer racecheck --seed 2 --cases 20 --minimize 1s",
        ],
    ),
    snuffer(
        "golden",
        "What does the GPU compute, for the simulated device to be checked against?",
        [
            "lab golden record --device cuda:0",
            "lab golden record --device cuda:0 --stand-in --cases 300 --into FOLDER/golden",
        ],
        ["recorded", ""],
    ),
];
