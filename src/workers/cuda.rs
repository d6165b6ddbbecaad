//! `snuffer-worker-cuda`: the worker for simulated and real CUDA devices, with debug assertions and overflow checks.

fn main() -> std::process::ExitCode {
    snuffer::exec::worker::main()
}
