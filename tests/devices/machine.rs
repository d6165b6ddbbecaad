//! Which devices this run must test. The only place that decides it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::process::Command;
use std::sync::Mutex;

use snuffer::device::Device;
use snuffer::exec::environment::{command, has_gpu, target};
use snuffer::exec::{Build, Worker, WorkerSpec};

use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Once: a_gpu_makes_cuda_needed_and_only_the_variable_excuses_a_device];

/// The variable that names what a run may leave out, such as `sim:0,cuda:0`. Nothing else excuses a device.
const WITHOUT: &str = "SNUFFER_TEST_WITHOUT";
/// The devices that a machine can have, of those that tests use.
const DEVICES: [Device; 3] = [Device::Cpu, Device::Sim(0), Device::Cuda(0)];
/// What [`WITHOUT`] can name: CUDA devices here, the others in the scripts that need them.
const EXCUSES: [&str; 4] = ["sim:0", "cuda:0", "chromium", "pytorch"];

/// What a run does about a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// It must be tested. If it is missing, tests fail.
    Needed,
    /// The user excused it.
    Excused,
    /// No machine like this has it.
    Absent(&'static str),
}

/// The devices of this machine, and what the run does about each.
#[derive(Debug, Clone, Copy)]
pub struct Machine {
    roles: [(Device, Role); 3],
}

impl Machine {
    /// This machine. An error is a mistake in the variable.
    pub fn here() -> Result<Self, String> {
        Self::of(&std::env::var(WITHOUT).unwrap_or_default(), has_gpu())
    }

    /// A machine with or without a GPU, of a user who leaves `without` out.
    fn of(without: &str, has_gpu: bool) -> Result<Self, String> {
        let excused: Vec<&str> = without.split(',').map(str::trim).filter(|name| !name.is_empty()).collect();
        if let Some(other) = excused.iter().find(|name| !EXCUSES.contains(name)) {
            return Err(format!("{WITHOUT} names `{other}`; it can name {}", EXCUSES.join(", ")));
        }
        let is_simulated = cfg!(all(target_os = "linux", target_arch = "x86_64"));
        let role = |device: Device| match device {
            Device::Sim(_) if !is_simulated => Role::Absent("NVIDIA's compiler, which it needs, runs on x86-64 Linux"),
            Device::Cuda(_) if !has_gpu => Role::Absent("no GPU here"),
            _ if excused.contains(&device.to_string().as_str()) => Role::Excused,
            _ => Role::Needed,
        };
        Ok(Self { roles: DEVICES.map(|device| (device, role(device))) })
    }

    /// The devices that tests are listed for: those that must be tested, and those that are excused.
    pub fn devices(&self) -> impl Iterator<Item = (Device, Role)> {
        self.roles.into_iter().filter(|(_, role)| !matches!(role, Role::Absent(_)))
    }

    /// What was tested and what was not, for the last lines; `ran` counts the tests that ran on a device.
    pub fn summary(&self, ran: impl Fn(Device) -> usize) -> String {
        let line = |(device, role): &(Device, Role)| match role {
            Role::Needed if ran(*device) == 0 => format!("not run: {device} (none of the chosen tests needs it)"),
            Role::Needed if ran(*device) == 1 => format!("tested:  {device}, 1 test"),
            Role::Needed => format!("tested:  {device}, {} tests", ran(*device)),
            Role::Excused => format!("NOT RUN: {device} ({WITHOUT} leaves it out)"),
            Role::Absent(why) => format!("not run: {device} ({why})"),
        };
        self.roles.iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

/// The variables by which a program takes the simulated driver for the system's, and its device for a GPU.
pub fn stand_in() -> [(&'static str, OsString); 3] {
    let simulated = command(Device::Sim(0), Build::Checked).expect("built");
    let libraries = simulated.get_envs().find(|(name, _)| *name == "LD_LIBRARY_PATH").and_then(|(_, folder)| folder);
    let libraries = libraries.expect("a simulated device's").to_owned();
    let compiled = target().expect("known").join("stand-in-cache").into_os_string();
    [("LD_LIBRARY_PATH", libraries), ("SNUFFER_SIM_HARDWARE", "1".into()), ("CUDA_CACHE_PATH", compiled)]
}

/// Opens `device` once, and says in a line what is missing if that fails.
pub fn open(device: Device) -> Result<(), String> {
    static OPENED: Mutex<BTreeMap<Device, Result<(), String>>> = Mutex::new(BTreeMap::new());
    let mut opened = OPENED.lock().expect("opening a device does not panic");
    opened.entry(device).or_insert_with(|| try_open(device)).clone()
}

fn try_open(device: Device) -> Result<(), String> {
    let missing = |what: String| format!("{device} must be tested here: {what} ({WITHOUT}={device} leaves it out)");
    if matches!(device, Device::Sim(_)) && std::env::var_os("SNUFFER_SIM_LIBRARY").is_none() {
        build_simulator().map_err(missing)?;
    }
    match Worker::start(device, &WorkerSpec::default()) {
        Ok(_) => Ok(()),
        Err(error) => Err(missing(format!("{error:#}"))),
    }
}

/// Builds the simulated device from this checkout, which takes no time if `cargo xtask` has just done it.
fn build_simulator() -> Result<(), String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let output = cargo.args(["xtask", "simulator"]).current_dir(place::root()).output();
    let output = output.map_err(|error| format!("cannot run `cargo xtask simulator`: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let printed = String::from_utf8_lossy(&output.stderr);
    let last = printed.trim().lines().last().unwrap_or("it printed nothing");
    Err(format!("`cargo xtask simulator` failed: {last}"))
}

fn a_gpu_makes_cuda_needed_and_only_the_variable_excuses_a_device() {
    let roles = |without: &str, gpu| {
        let machine = Machine::of(without, gpu).expect("a list");
        machine.roles.map(|(device, role)| (device.to_string(), role))
    };
    let named = |sim, cuda| [("cpu", Role::Needed), ("sim:0", sim), ("cuda:0", cuda)].map(|(d, r)| (d.to_string(), r));
    let no_gpu = Role::Absent("no GPU here");
    assert_eq!(roles("", true), named(Role::Needed, Role::Needed));
    assert_eq!(roles("", false), named(Role::Needed, no_gpu));
    assert_eq!(roles("chromium, cuda:0", true), named(Role::Needed, Role::Excused));
    assert_eq!(roles("sim:0,cuda:0", false), named(Role::Excused, no_gpu));
    let excused = Machine::of("sim:0", false).expect("a list");
    assert!(["tested:  cpu, 2 tests", "NOT RUN: sim:0"].iter().all(|line| excused.summary(|_| 2).contains(line)));
    assert!(excused.summary(|_| 0).starts_with("not run: cpu"), "what no test ran on was not tested");
    let mistake = Machine::of("cuda", true).map(|_| ()).expect_err("a device without its number");
    assert!(mistake.contains("`cuda`") && mistake.contains("cuda:0"), "{mistake}");
}
