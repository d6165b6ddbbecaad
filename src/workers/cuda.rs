//! `snuffer-worker-cuda`: the worker for simulated and real CUDA devices, with debug assertions and overflow checks.

#[global_allocator]
static ALLOCATOR: snuffer::exec::fence::Fencing = snuffer::exec::fence::Fencing;

fn main() -> std::process::ExitCode {
    snuffer::exec::worker::main()
}
