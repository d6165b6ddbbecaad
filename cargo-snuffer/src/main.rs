//! `cargo snuffer`: builds and runs any program that uses CUDA on the simulated device, and sums up what the device saw.

mod arguments;
mod doctor;
mod driver;
mod home;
mod known_bugs;
mod libtest;
mod process;
mod record;
mod report;
mod runner;
mod session;
mod suppressions;
mod test_result;

use std::process::ExitCode;

use clap::Parser;

use crate::arguments::{Cargo, Task};

/// The device reported something, although every test passed.
pub const REPORTED: u8 = 2;
/// Set-up or this program itself failed.
const BROKEN: u8 = 5;

fn main() -> ExitCode {
    // Cargo calls `cargo-snuffer snuffer …`; by hand it is `cargo-snuffer …`.
    let is_named = std::env::args_os().nth(1).is_some_and(|arg| arg == "snuffer");
    let words: Vec<_> = std::env::args_os().skip(usize::from(is_named)).collect();
    let Cargo { mut task } = Cargo::parse_from(&words);
    if let Task::Test(options) | Task::Nextest(options) | Task::Run(options) = &mut task {
        options.keep_separator(&words);
    }
    let done = match task {
        Task::Test(args) => session::cargo("test", &args),
        Task::Nextest(args) => session::cargo("nextest", &args),
        Task::Run(args) => session::cargo("run", &args),
        Task::Exec(args) => session::program(&args),
        Task::Setup { yes, nvrtc } => home::set_up(yes, nvrtc),
        Task::Doctor => doctor::run(),
        Task::Runner { command } => runner::run(&command),
    };
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("cargo snuffer: {error:#}");
            ExitCode::from(BROKEN)
        }
    }
}
