//! The command line as a whole program: what it serves, what it prints of an error, and how it ends. The only place that prints errors.

use std::process::ExitCode;

use super::{Cli, UsageError, run};
use crate::console::complain;
use crate::exec::sanitizer::{Silent, Unusable};
use crate::exec::{DeviceLost, Missing, OwnWorker, UnusableDevice, on_own_stack, serve_if_asked};
use crate::exit_code::Exit;
use crate::ops::{Op, own};
use crate::{candles, kernels};

/// The command line for `ops` in place of the catalog: the program is also the worker that runs them. Called by [`main!`](crate::main).
pub fn of_ops(ops: &[&'static Op]) -> ExitCode {
    own::bring(ops);
    serve_if_asked(OwnWorker::ALL);
    main()
}

/// The whole program `snuffer`.
pub fn main() -> ExitCode {
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
