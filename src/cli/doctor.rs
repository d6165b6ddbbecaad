//! `snuffer doctor`: what this machine has and lacks.

use crate::campaign::check_canary;
use crate::device::Device;
use crate::exec::environment::executable;
use crate::exec::{Build, Limits, Worker};
use crate::exit_code::Exit;

/// Arguments of `snuffer doctor`.
#[derive(Debug, clap::Args)]
pub struct Args {}

pub fn run(_: &Args) -> anyhow::Result<Exit> {
    let mut exit = Exit::Clean;
    println!("{}", crate::campaign::versions());
    let mut ready = Vec::new();
    for device in [Device::Cpu, Device::Sim(0), Device::Cuda(0)] {
        for (build, what) in [(Build::Checked, "with overflow checks"), (Build::Unchecked, "without overflow checks")] {
            match executable(device, build) {
                Ok(path) => println!("{device}: worker {what}: {}", path.display()),
                Err(error) => println!("{device}: worker {what}: missing; {error:#}"),
            }
        }
        match Worker::start(device, Build::Checked, Limits::default()) {
            Ok(worker) if worker.hello().checked => {
                let what = worker.hello().hardware.as_ref().map_or_else(String::new, |what| format!(": {what}"));
                println!("{device}: ready{what}");
                ready.push(device);
            }
            Ok(_) => println!("{device}: ready, but candle is built without overflow checks"),
            Err(error) => println!("{device}: not available; {error:#}"),
        }
    }
    let canary = check_canary(&ready)?;
    let names: Vec<String> = ready.iter().map(ToString::to_string).collect();
    println!("canary on {}: {} faults planted, {} missed", names.join(", "), canary.faults, canary.missed.len());
    for missed in canary.missed {
        println!("    {missed}");
        exit = Exit::CanaryMissed;
    }
    Ok(exit)
}
