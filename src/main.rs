//! `snuffer`: the command line.

fn main() -> std::process::ExitCode {
    snuffer::cli::main()
}
