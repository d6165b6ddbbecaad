//! The demo shows commands that a person can copy, runs them, and ends quietly wherever it is stopped.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use snuffer::device::Device;

use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: an_interrupt_ends_the_demo_without_a_word_and_leaves_nothing_behind, a_closed_output_ends_the_demo_without_a_word;
    Each: each_step_shows_a_command_and_what_it_prints
];

/// The demo on `device`, in `folder`, where also its temporary files are.
fn demo(folder: &Path, device: Device, more: &[&str]) -> Command {
    let mut command = Command::new(place::snuffer());
    command.args(["demo", "--no-open", "--device", &device.to_string()]).args(more);
    command.current_dir(folder).env("TMPDIR", folder).env("NO_COLOR", "1").env_remove("SNUFFER_FINDINGS");
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("readable").file_name());
    entries.map(|name| name.to_string_lossy().into_owned()).collect()
}

fn each_step_shows_a_command_and_what_it_prints(device: Device) {
    let (rank, op, how) = match device {
        Device::Cpu => ("wrong  ", "layer.conv1d", "backward on cpu: wrong value (gradient)".to_string()),
        Device::Cuda(_) | Device::Sim(_) => {
            ("crash  ", "layer.embedding", format!("forward on {device}: assert (fault)"))
        }
    };
    let folder = tempfile::tempdir().expect("a folder");
    let output = demo(folder.path(), device, &["--into", "a tour"]).output().expect("snuffer starts");
    let shown = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{shown}{}", text(&output.stderr));
    let commands: Vec<&str> = shown.lines().filter_map(|line| line.strip_prefix("$ ")).collect();
    let called = commands.iter().map(|command| command.split(' ').nth(1).expect("a command"));
    assert_eq!(called.collect::<Vec<_>>(), ["replay", "minimize", "import", "report", "site"]);
    let blamed = format!("blame     step 1, {op} {how}");
    let found = format!("{rank} {op} ");
    for part in ["verdict   FAIL", &blamed, "faults were caught", &found, "## To reproduce", " more lines\n"] {
        assert!(shown.contains(part), "no `{part}` in\n{shown}");
    }
    // No program is built, so none may seem to have run.
    assert!(shown.contains("Not run here (no program was built):") && !shown.contains("prints\n"), "{shown}");
    assert_eq!(names(folder.path()), ["a tour"], "everything is in the folder that was named");
    let page = std::fs::read_to_string(folder.path().join("a tour/site/index.html")).expect("a page");
    assert!(page.contains(op), "{page}");

    // A copied command does the same again.
    let copied = Command::new("sh").args(["-c", commands[1]]).current_dir(folder.path()).output().expect("a shell");
    assert_eq!(copied.status.code(), Some(2), "{}", text(&copied.stderr));
    assert!(shown.contains(&text(&copied.stdout)), "{}", text(&copied.stdout));
}

fn an_interrupt_ends_the_demo_without_a_word_and_leaves_nothing_behind() {
    for step in 1..=3 {
        let folder = tempfile::tempdir().expect("a folder");
        // A group of its own, as in a terminal: an interrupt reaches the command that runs, too.
        let mut demo = demo(folder.path(), Device::Cpu, &[]).process_group(0).spawn().expect("snuffer starts");
        let mut lines = BufReader::new(demo.stdout.take().expect("a pipe")).lines();
        let commands = lines.by_ref().map(|line| line.expect("text")).filter(|line| line.starts_with("$ "));
        assert_eq!(commands.take(step).count(), step);
        let group = format!("-{}", demo.id());
        assert!(Command::new("kill").args(["-INT", "--", &group]).status().expect("kill runs").success());
        let later = lines.filter(|line| line.as_ref().is_ok_and(|line| line.starts_with("$ "))).count();
        let mut complaint = String::new();
        demo.stderr.take().expect("a pipe").read_to_string(&mut complaint).expect("text");
        assert_eq!(demo.wait().expect("it ends").code(), Some(130), "in step {step}: {complaint}");
        assert_eq!((later, complaint.as_str()), (0, ""), "in step {step}");
        let left: Vec<String> =
            names(folder.path()).into_iter().filter(|name| name.starts_with("snuffer-demo")).collect();
        assert!(left.is_empty(), "in step {step}: {left:?}");
    }
}

fn a_closed_output_ends_the_demo_without_a_word() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut demo = demo(folder.path(), Device::Cpu, &[]).spawn().expect("snuffer starts");
    let mut lines = BufReader::new(demo.stdout.take().expect("a pipe")).lines();
    assert!(lines.next().is_some_and(|line| line.is_ok_and(|line| line.starts_with("A tour on cpu"))));
    drop(lines);
    let output = demo.wait_with_output().expect("it ends");
    assert_eq!((output.status.code(), text(&output.stderr).as_str()), (Some(141), ""));
}
