//! `snuffer-worker`: the worker for the CPU, with debug assertions and overflow checks.

#[global_allocator]
static ALLOCATOR: snuffer::exec::fence::Fencing = snuffer::exec::fence::Fencing;

fn main() -> std::process::ExitCode {
    snuffer::exec::worker::main()
}
