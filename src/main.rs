//! `snuffer`: the command line. The only place that prints errors.

use std::process::ExitCode;

use snuffer::cli::{Cli, UsageError, run};
use snuffer::console::complain;
use snuffer::exec::sanitizer::{Silent, Unusable};
use snuffer::exec::{DeviceLost, Missing, UnusableDevice, on_own_stack};
use snuffer::exit_code::Exit;
use snuffer::{candles, kernels};

fn main() -> ExitCode {
    on_own_stack("snuffer", ended).unwrap_or_else(|error| {
        complain(format_args!("snuffer: cannot start a thread: {error}"));
        Exit::Harness.into()
    })
}

/// Runs the command, and prints the error that ends it.
fn ended() -> ExitCode {
    let cli = match Cli::typed() {
        Ok(cli) => cli,
        Err(exit) => return exit.into(),
    };
    match run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            complain(format_args!("snuffer: {error:#}"));
            match () {
                () if error.is::<UsageError>()
                    || error.is::<Missing>()
                    || error.is::<UnusableDevice>()
                    || error.is::<Unusable>()
                    || error.is::<kernels::Unusable>()
                    || error.is::<candles::Unusable>() =>
                {
                    Exit::Usage.into()
                }
                () if error.is::<DeviceLost>() => Exit::DeviceLost.into(),
                () if error.is::<Silent>() => Exit::CanaryMissed.into(),
                () => Exit::Harness.into(),
            }
        }
    }
}
