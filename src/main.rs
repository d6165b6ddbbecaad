//! `snuffer`: the command line. The only place that prints errors.

use std::process::ExitCode;

use snuffer::cli::{Cli, UsageError, run};
use snuffer::console::complain;
use snuffer::exec::sanitizer::{Silent, Unusable};
use snuffer::exec::{DeviceLost, Missing, UnusableDevice};
use snuffer::exit_code::Exit;
use snuffer::{candles, kernels};

fn main() -> ExitCode {
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
