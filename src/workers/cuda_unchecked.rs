//! `snuffer-worker-cuda-unchecked`: the worker for simulated and real CUDA devices, without checks, as users build candle.

#[global_allocator]
static ALLOCATOR: snuffer::exec::fence::Fencing = snuffer::exec::fence::Fencing;

fn main() -> std::process::ExitCode {
    snuffer::exec::worker::main()
}
