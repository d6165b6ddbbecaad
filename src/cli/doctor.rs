//! `snuffer doctor`: checks the devices, workers, canary and tools of this machine.

mod tools;

use schemars::JsonSchema;
use serde::Serialize;

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
    let machine = machine()?;
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

impl Machine {
    fn text(&self) -> String {
        let mut text = format!("{}\n", self.versions);
        for Checked { device, problem, hardware, workers, .. } in &self.devices {
            for Executable { checked, path, problem } in workers {
                let what = if *checked { "with overflow checks" } else { "without overflow checks" };
                let missing = || lines("missing", problem.as_deref().unwrap_or_default());
                text += &format!("{device}: worker {what}: {}\n", path.clone().unwrap_or_else(missing));
            }
            let ready = hardware.as_ref().map_or("ready".to_string(), |hardware| format!("ready: {hardware}"));
            // A worker that is missing has just been named.
            let is_told = workers.iter().any(|worker| worker.problem.is_some() && worker.problem == *problem);
            let state = match problem {
                None => ready,
                Some(_) if is_told => "not ready".to_string(),
                Some(problem) => lines("not ready", problem),
            };
            text += &format!("{device}: {state}\n");
        }
        let ready = self.devices.iter().filter(|device| device.ready).map(|device| device.device.as_str());
        let ready = ready.collect::<Vec<_>>().join(", ");
        let Canary { faults, missed } = &self.canary;
        text += &format!("canary on {ready}: {faults} faults planted, {} missed\n", missed.len());
        for missed in missed {
            text += &format!("    {missed}\n");
        }
        self.tools.iter().for_each(|tool| text += &tool.text());
        text
    }
}

/// A state and its problem, each part of which has a line of its own.
fn lines(state: &str, problem: &str) -> String {
    format!("{state}\n    {}", problem.replace("; ", "\n    "))
}
