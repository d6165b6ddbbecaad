//! `snuffer` finds, reproduces and minimizes inputs that break candle.
//!
//! ARCHITECTURE.md explains the structure and its rules. The modules below are listed from the lowest layer to the highest. If
//! your program uses candle, see [`guard`], which does not need the features `suite` and `cli`.

/// The release of candle that this is linked with: the one that Cargo.toml pins.
pub const CANDLE: &str = pinned(include_str!("../Cargo.toml"));

/// The first exact version in a manifest. Only candle's are exact.
const fn pinned(manifest: &str) -> &str {
    let mut from = 0;
    while !(manifest.as_bytes()[from] == b'"' && manifest.as_bytes()[from + 1] == b'=') {
        from += 1;
    }
    let (_, rest) = manifest.split_at(from + 2);
    let mut length = 0;
    while rest.as_bytes()[length] != b'"' {
        length += 1;
    }
    rest.split_at(length).0
}

#[cfg(feature = "suite")]
pub use check::check;
pub use ops::own::define;

/// A program that is `snuffer` for ops of your own: it hunts them, and replays, minimizes and reports what it finds. On the CPU, accesses
/// outside of a tensor are noticed.
///
/// ```no_run
/// snuffer::main!(snuffer::define("exp").floats("x", "any..").call(|args| args.tensor("x")?.exp()));
/// ```
#[cfg(feature = "cli")]
#[macro_export]
macro_rules! main {
    ($($op:expr),+ $(,)?) => {
        #[global_allocator]
        static ALLOCATOR: $crate::exec::fence::Fencing = $crate::exec::fence::Fencing;

        fn main() -> ::std::process::ExitCode {
            $crate::cli::of_ops(&[$($op),+])
        }
    };
}

pub mod device;
pub mod tensor;

pub mod case;
pub mod coverage;
pub mod number;
pub mod outcome;

pub mod generate;

pub mod ops;

pub mod guard;
pub mod oracle;
pub mod run;

#[cfg(feature = "proptest")]
pub mod strategy;

#[cfg(feature = "worker")]
pub mod exec;

#[cfg(feature = "suite")]
pub mod examine;
#[cfg(feature = "suite")]
pub mod program;
#[cfg(feature = "suite")]
pub mod report;
#[cfg(feature = "suite")]
pub mod store;

#[cfg(feature = "suite")]
pub mod causes;

#[cfg(feature = "suite")]
pub mod candles;
#[cfg(feature = "suite")]
pub mod check;
#[cfg(feature = "suite")]
pub mod compare;
#[cfg(feature = "cli")]
pub mod console;
#[cfg(feature = "cli")]
pub mod detectors;
#[cfg(feature = "suite")]
pub mod fidelity;
#[cfg(feature = "suite")]
pub mod fixes;
#[cfg(feature = "suite")]
pub mod fuzz;
#[cfg(feature = "suite")]
pub mod golden;
#[cfg(feature = "suite")]
pub mod hunt;
#[cfg(feature = "suite")]
pub mod investigate;
#[cfg(feature = "suite")]
pub mod kernels;
#[cfg(feature = "suite")]
pub mod matrix;
#[cfg(feature = "suite")]
pub mod score;
#[cfg(feature = "suite")]
pub mod settle;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod exit_code;
