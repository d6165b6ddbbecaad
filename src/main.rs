//! `snuffer`: the command line. The only place that prints errors.

use std::panic;
use std::process::ExitCode;

use clap::Parser;
use snuffer::cli::{Cli, UsageError, run};
use snuffer::exec::DeviceLost;
use snuffer::exit_code::Exit;

fn main() -> ExitCode {
    end_with_the_reader();
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // clap's own code for a wrong command line is 2, which means findings here.
            let exit = if error.use_stderr() { Exit::Usage } else { Exit::Clean };
            let _ = error.print();
            return exit.into();
        }
    };
    match run(cli) {
        Ok(exit) => exit.into(),
        Err(error) => {
            eprintln!("snuffer: {error:#}");
            match () {
                () if error.is::<UsageError>() => Exit::Usage.into(),
                () if error.is::<DeviceLost>() => Exit::DeviceLost.into(),
                () => Exit::Harness.into(),
            }
        }
    }
}

/// Ends quietly where whoever reads the output, such as `head`, has seen enough: Rust panics then. SIGPIPE, as other programs
/// leave it, would also end this one when it writes to a worker that is dead.
fn end_with_the_reader() {
    // What a shell says of a process that SIGPIPE ended.
    const CODE: i32 = 128 + 13;
    let usual = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let said = panic.payload().downcast_ref::<String>();
        if said.is_some_and(|said| said.starts_with("failed printing to stdout: Broken pipe")) {
            std::process::exit(CODE);
        }
        usual(panic);
    }));
}
