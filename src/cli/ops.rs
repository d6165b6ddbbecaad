//! `snuffer ops`.

use crate::exit_code::Exit;
use crate::ops;

/// Arguments of `snuffer ops`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Only ops whose name contains this.
    name: Option<String>,
}

pub fn run(args: &Args) -> Exit {
    let wanted = args.name.as_deref().unwrap_or("");
    for op in ops::ALL.iter().filter(|op| op.name.contains(wanted)) {
        let gradients = if op.differentiable.is_empty() { "none".to_string() } else { op.differentiable.join(", ") };
        println!(
            "{}\n    call       {}\n    gradients  {gradients}\n    promise    {}",
            op.name, op.source, op.promise
        );
    }
    Exit::Clean
}
