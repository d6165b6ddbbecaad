//! `snuffer` without a command: what it is, what is set up, and where to begin.

use std::path::Path;

use super::StoreArg;
use crate::device::Device;
use crate::exec::environment::command;
use crate::exec::{Build, default_devices};
use crate::exit_code::Exit;
use crate::ops::{Op, own};

/// The commands of a first session, in order. The first one is about candle.
const COMMANDS: [(&str, &str); 6] = [
    ("demo", "a tour: one failing case, from replay to report"),
    ("hunt --time 60s", "look for inputs that break candle"),
    ("findings summary", "the findings, and the next steps"),
    ("replay ID", "run a finding again"),
    ("triage", "decide on each new finding"),
    ("--help", "all commands"),
];

/// The page that explains a first session.
const PAGE: &str = "docs/first-hunt.md";

pub fn run(store: &StoreArg) -> Exit {
    let shell = store.shell();
    let own = own::brought();
    let subject = own.map_or_else(|| format!("candle {}", crate::CANDLE), names);
    println!("snuffer finds, reproduces and minimizes inputs that break {subject}.\n");
    let commands: Vec<_> =
        COMMANDS[usize::from(own.is_some())..].iter().map(|(command, what)| (shell.snuffer(command), what)).collect();
    let width = commands.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    for (command, what) in &commands {
        println!("  {command:<width$}  {what}");
    }
    print!("\n");
    if own.is_some() {
        return Exit::Clean;
    }
    let other = default_devices().into_iter().find(|device| *device != Device::Cpu);
    for device in [Device::Cpu, other.unwrap_or(Device::Sim(0))] {
        match command(device, Build::Checked) {
            Ok(_) => println!("{device} is set up"),
            Err(problem) => println!("{device} is not set up: {problem:#}"),
        }
    }
    let is_checkout = Path::new(PAGE).is_file();
    let page =
        if is_checkout { PAGE.to_string() } else { format!("{}/blob/HEAD/{PAGE}", env!("CARGO_PKG_REPOSITORY")) };
    println!("\nA first session, explained: {page}");
    Exit::Clean
}

/// The names of ops, as a list.
fn names(ops: &[&Op]) -> String {
    ops.iter().map(|op| op.name).collect::<Vec<_>>().join(", ")
}
