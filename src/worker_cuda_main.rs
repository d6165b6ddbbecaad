//! `snuffer-worker-cuda`: the worker with candle's CUDA backend, for simulated and real devices.

use std::process::ExitCode;

mod worker_main;

fn main() -> ExitCode {
    worker_main::main()
}
