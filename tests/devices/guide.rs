//! Every command shown in a document prints what the document shows.

use std::path::Path;
use std::process::Command;

use candle_core::{DType, Device as CandleDevice, Tensor};
use snuffer::device::Device;

use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: different_output_does_not_match;
    Simulated: every_command_in_a_guide_prints_what_the_guide_shows
];

/// A command in a document, and the lines of output that the document shows.
#[derive(Debug)]
struct Shown {
    command: String,
    lines: Vec<String>,
}

fn every_command_in_a_guide_prints_what_the_guide_shows(_: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    batch(&folder.path().join("batch.safetensors"));
    let root = place::root();
    for (document, least, devices, place) in [
        ("docs/field-guide.md", 3, "cpu,sim:0", &*root),
        ("docs/guard.md", 3, "cpu,sim:0", folder.path()),
        ("docs/label-bug.md", 10, "sim:0", folder.path()),
    ] {
        let text = std::fs::read_to_string(root.join(document)).expect(document);
        let shown = shown(&text);
        assert!(shown.len() >= least, "{document} has {} commands", shown.len());
        for Shown { command, lines } in shown {
            let printed = run(&command, devices, place);
            let mut rest = printed.lines();
            for line in lines.iter().filter(|line| line.trim() != "…") {
                assert!(
                    rest.any(|printed| fits(line, printed.trim())),
                    "{document}: {command} does not print {line}\nbut {printed}"
                );
            }
        }
    }
}

fn different_output_does_not_match() {
    let shown = shown("text\n\n  ```console\n  $ snuffer x\n  a … c\n  $ snuffer y\n  ```\n$ snuffer no\n");
    let commands: Vec<&str> = shown.iter().map(|shown| shown.command.as_str()).collect();
    assert_eq!((commands, shown[0].lines.join("/")), (vec!["snuffer x", "snuffer y"], "a … c".to_string()));
    assert!(fits("a … c", "a b c") && fits("b …", "b c") && fits("… c", "b c"));
    assert!(!fits("a … c", "a b d") && !fits("b …", "a b c") && !fits("a b", "a b c"));
}

/// The commands in the console blocks of a document.
fn shown(text: &str) -> Vec<Shown> {
    let mut all = Vec::<Shown>::new();
    let mut inside = false;
    for line in text.lines() {
        let fence = line.trim_start().starts_with("```");
        let command = line.trim_start().strip_prefix("$ ");
        match (fence, inside, command) {
            (true, ..) => inside = line.trim() == "```console",
            (_, true, Some(command)) => all.push(Shown { command: command.to_string(), lines: Vec::new() }),
            (_, true, None) => all.last_mut().expect("a command comes first").lines.push(line.trim().to_string()),
            (_, false, _) => {}
        }
    }
    all
}

/// Whether a printed line matches a shown one, in which `…` stands for any text.
fn fits(shown: &str, line: &str) -> bool {
    let parts: Vec<&str> = shown.split('…').collect();
    let (first, last) = (parts[0], parts[parts.len() - 1]);
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    if parts.len() == 1 {
        return rest.is_empty();
    }
    for part in &parts[1..parts.len() - 1] {
        let Some((_, behind)) = rest.split_once(part) else { return false };
        rest = behind;
    }
    rest.ends_with(last)
}

/// What a shell prints that runs `command` in the folder `place`.
fn run(command: &str, devices: &str, place: &Path) -> String {
    assert!(command.starts_with("snuffer "), "{command}");
    let snuffer = place::snuffer();
    let bin = snuffer.parent().expect("a folder");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a PATH"));
    let mut shell = Command::new("sh");
    shell.args(["-c", command]).env("PATH", path).env("NO_COLOR", "1").env("SNUFFER_DEVICES", devices);
    let output = shell.env_remove("SNUFFER_FINDINGS").current_dir(place).output().expect("a shell starts");
    [output.stdout, output.stderr].map(|text| String::from_utf8(text).expect("text")).concat()
}

/// The batch of docs/guard.md: a label too large for 195 classes, and activations in f16.
fn batch(path: &Path) {
    let logits = Tensor::zeros((4, 195), DType::F32, &CandleDevice::Cpu).expect("a tensor");
    let target = Tensor::new(&[0u32, 7, 194, 195], &CandleDevice::Cpu).expect("a tensor");
    let activations = Tensor::zeros((2, 8), DType::F16, &CandleDevice::Cpu).expect("a tensor");
    let tensors = [("activations", activations), ("logits", logits), ("target", target)];
    candle_core::safetensors::save(&tensors.into_iter().collect(), path).expect("written");
}
