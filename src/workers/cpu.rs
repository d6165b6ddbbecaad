//! `snuffer-worker`: the worker for the CPU, with debug assertions and overflow checks.

fn main() -> std::process::ExitCode {
    snuffer::exec::worker::main()
}
