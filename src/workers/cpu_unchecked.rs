//! `snuffer-worker-unchecked`: the worker for the CPU, without checks, as users build candle.

fn main() -> std::process::ExitCode {
    snuffer::exec::worker::main()
}
