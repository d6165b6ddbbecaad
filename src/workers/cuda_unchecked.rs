//! `snuffer-worker-cuda-unchecked`: the worker for simulated and real CUDA devices, without checks, as users build candle.

fn main() -> std::process::ExitCode {
    snuffer::exec::worker::main()
}
