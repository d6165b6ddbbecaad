//! `snuffer-worker-unchecked`: the worker for the CPU, without checks, as users build candle.

#[global_allocator]
static ALLOCATOR: snuffer::exec::fence::Fencing = snuffer::exec::fence::Fencing;

fn main() -> std::process::ExitCode {
    snuffer::exec::worker::main()
}
