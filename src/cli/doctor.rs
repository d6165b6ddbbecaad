//! `snuffer doctor`: checks the devices, workers, canary and tools of this machine.

mod tools;

use schemars::JsonSchema;
use serde::Serialize;

use crate::console;
use crate::device::{Device, Hardware};
use crate::exec::environment::executable;
use crate::exec::{Build, Worker, WorkerSpec};
use crate::exit_code::Exit;
use crate::hunt::check_canary;
use crate::settle::versions;
use tools::Tool;

/// Arguments of `snuffer doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Print the answer as JSON.
    #[arg(long)]
    json: bool,
}

/// A machine: its devices, workers, canary and tools.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Machine {
    /// `snuffer` and candle.
    versions: String,
    /// The devices that it may have.
    devices: Vec<Checked>,
    /// The faults planted on the devices that are ready.
    canary: Canary,
    /// What building, fuzzing and testing need.
    tools: Vec<Tool>,
}

/// One device.
#[derive(Debug, Serialize, JsonSchema)]
struct Checked {
    /// Its name.
    device: String,
    /// Whether hunts can use it.
    ready: bool,
    /// Why it is not ready.
    problem: Option<String>,
    /// The hardware of a CUDA device.
    hardware: Option<Hardware>,
    /// Its workers.
    workers: Vec<Executable>,
}

/// A build of the worker.
#[derive(Debug, Serialize, JsonSchema)]
struct Executable {
    /// Whether it has debug assertions and overflow checks.
    checked: bool,
    /// Where it is.
    path: Option<String>,
    /// Why it is missing.
    problem: Option<String>,
}

/// Planted faults.
#[derive(Debug, Serialize, JsonSchema)]
struct Canary {
    /// How many were planted.
    faults: usize,
    /// The faults that no oracle noticed.
    missed: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let working = console::Working::on("checking the devices and their workers");
    let machine = machine()?;
    drop(working);
    if args.json {
        println!("{}", serde_json::to_string(&machine)?);
    } else {
        print!("{}", machine.text());
    }
    Ok(if machine.canary.missed.is_empty() { Exit::Clean } else { Exit::CanaryMissed })
}

fn machine() -> anyhow::Result<Machine> {
    const DEVICES: [Device; 3] = [Device::Cpu, Device::Sim(0), Device::Cuda(0)];
    let devices = DEVICES.map(checked);
    let ready = DEVICES.into_iter().zip(&devices).filter(|(_, checked)| checked.ready).map(|(device, _)| device);
    let canary = check_canary(&ready.collect::<Vec<_>>(), None)?;
    let canary = Canary { faults: canary.faults, missed: canary.missed };
    Ok(Machine { versions: versions(None), devices: devices.into(), canary, tools: tools::tools()? })
}

fn checked(device: Device) -> Checked {
    let workers = [Build::Checked, Build::Unchecked].map(|build| {
        let found = executable(device, build);
        Executable {
            checked: build == Build::Checked,
            path: found.as_ref().ok().map(|path| path.display().to_string()),
            problem: found.err().map(|problem| format!("{problem:#}")),
        }
    });
    let (hardware, problem) = match Worker::start(device, &WorkerSpec::default()) {
        Ok(worker) if worker.hello().checked => (worker.hello().hardware.clone(), None),
        Ok(_) => (None, Some("candle is built without overflow checks".to_string())),
        Err(problem) => (None, Some(format!("{problem:#}"))),
    };
    Checked { device: device.to_string(), ready: problem.is_none(), problem, hardware, workers: workers.into() }
}

/// The states of a machine's parts, in the order of their headings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum State {
    Ready,
    NotReady,
    Optional,
    Impossible,
}

impl State {
    const fn heading(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::NotReady => "not ready",
            Self::Optional => "optional, and missing",
            Self::Impossible => "not possible on this machine",
        }
    }
}

impl Machine {
    /// The parts of the machine under a heading for each state.
    fn text(&self) -> String {
        let mut parts: Vec<(State, String)> = self.devices.iter().flat_map(Checked::parts).collect();
        let ready = self.devices.iter().filter(|device| device.ready).map(|device| device.device.as_str());
        let Canary { faults, missed } = &self.canary;
        let on = ready.collect::<Vec<_>>().join(", ");
        let mut canary = vec![format!("canary: {faults} faults planted on {on}, {} missed", missed.len())];
        canary.extend(missed.iter().map(|missed| format!("    {missed}")));
        parts.push((if missed.is_empty() { State::Ready } else { State::NotReady }, canary.join("\n")));
        parts.extend(self.tools.iter().map(|tool| {
            let state = match () {
                () if tool.is_there() => State::Ready,
                () if tool.builds() => State::NotReady,
                () => State::Optional,
            };
            (state, tool.text())
        }));
        // Within a heading, the order of above.
        parts.sort_by_key(|(state, _)| *state);
        let mut text = format!("{}\n", self.versions);
        for of_state in parts.chunk_by(|one, other| one.0 == other.0) {
            text += &format!("\n{}\n", of_state[0].0.heading());
            let lines = of_state.iter().flat_map(|(_, part)| part.lines());
            lines.for_each(|line| text += &format!("  {line}\n"));
        }
        text
    }
}

impl Checked {
    /// The device, and its worker without overflow checks if that is missing.
    fn parts(&self) -> Vec<(State, String)> {
        let Self { device, problem, hardware, workers, .. } = self;
        let state = match problem {
            None => State::Ready,
            Some(_) if *device == Device::Cuda(0).to_string() && !tools::has_gpu() => State::Impossible,
            Some(_) => State::NotReady,
        };
        let what = match (problem, hardware) {
            (None, None) => device.clone(),
            (None, Some(hardware)) => format!("{device}: {hardware}"),
            (Some(problem), _) => lines(device, problem),
        };
        let mut parts = vec![(state, what)];
        let missing = workers.iter().find(|worker| !worker.checked && state == State::Ready);
        if let Some(problem) = missing.and_then(|worker| worker.problem.as_ref()) {
            let what = format!("{device} as in release builds, without overflow checks: for `replay --unchecked`");
            parts.push((State::Optional, lines(&what, problem)));
        }
        parts
    }
}

/// A part and its problem, each part of which has a line of its own.
fn lines(part: &str, problem: &str) -> String {
    format!("{part}\n    {}", problem.replace("; ", "\n    "))
}
