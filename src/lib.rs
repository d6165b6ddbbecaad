//! `snuffer` finds, reproduces and minimizes inputs that break candle, and code that uses it.
//!
//! [`check`](check()) tests a loss, a layer or a kernel of yours from your `cargo test`. It draws adversarial inputs, runs each in a process
//! that may die, judges the results, and minimizes what fails:
//!
//! ```no_run
//! # fn main() {}
//! #[test]
//! fn the_loss_is_right() {
//!     snuffer::check(
//!         snuffer::define("loss")
//!             .floats("logits", "n classes")
//!             .labels("target", "n", "classes")
//!             .output("")
//!             .call(|args| candle_nn::loss::cross_entropy(args.tensor("logits")?, args.tensor("target")?)),
//!     );
//! }
//! ```
//!
//! [`guard`] checks data before a GPU sees it, where a bad label or id would end the process:
//!
//! ```
//! use candle_core::{Device, Result, Tensor};
//! use snuffer::guard;
//!
//! fn loss(logits: &Tensor, target: &Tensor, classes: usize) -> Result<Tensor> {
//!     guard::labels("target", target, classes, None)?;
//!     guard::finite("logits", logits)?;
//!     candle_nn::loss::cross_entropy(logits, target)
//! }
//!
//! # fn main() -> Result<()> {
//! let logits = Tensor::zeros((2, 10), candle_core::DType::F32, &Device::Cpu)?;
//! let target = Tensor::new(&[9u32, 10], &Device::Cpu)?;
//! let refused = loss(&logits, &target, 10).unwrap_err().to_string();
//! assert!(refused.starts_with("target: 10 at [1] is not a label of 10 classes (0 to 9)"));
//! # Ok(())
//! # }
//! ```
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | [`guard`] |
//! | `suite` | [`check`](check()) and [`define`] |
//! | `proptest` | [`strategy`], for properties of your own |
//! | `cuda` | candle's CUDA backend, for checks on a GPU or under `cargo snuffer` |
//! | `cli` (on by default) | the command `snuffer`, and [`main!`] for a command of your own ops |
//!
//! A library needs `default-features = false`. Your crate must use the same release of candle: [`CANDLE`].
//!
//! # Versions
//!
//! Versions follow semantic versioning for what is documented here; of `Op`, which [`Definition::call`] returns, only the name counts. All
//! else is there for the command line and the tests of `snuffer` itself, and may change in any release.

/// The release of candle that this is linked with: the one that Cargo.toml pins.
pub const CANDLE: &str = pinned(include_str!("../Cargo.toml"));

/// The first exact version in a manifest, which is candle's.
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
#[doc(inline)]
pub use check::check;
pub use ops::Call;
#[doc(no_inline)]
pub use ops::Op;
pub use ops::own::{Definition, IntoOutputs, define};

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

#[cfg(feature = "suite")]
pub mod check;
pub mod device;
pub mod guard;
#[cfg(feature = "proptest")]
pub mod strategy;
pub mod tensor;

// Not promised, from the lowest layer to the highest: the command, the workers, and the tests need them.
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod candles;
#[doc(hidden)]
pub mod case;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod causes;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod compare;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod console;
#[doc(hidden)]
pub mod coverage;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod detectors;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod examine;
#[cfg(feature = "worker")]
#[doc(hidden)]
pub mod exec;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod exit_code;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod fidelity;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod fixes;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod fuzz;
#[doc(hidden)]
pub mod generate;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod golden;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod hunt;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod investigate;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod kernels;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod matrix;
#[doc(hidden)]
pub mod number;
#[doc(hidden)]
pub mod ops;
#[doc(hidden)]
pub mod oracle;
#[doc(hidden)]
pub mod outcome;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod program;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod report;
#[doc(hidden)]
pub mod run;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod score;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod settle;
#[cfg(feature = "suite")]
#[doc(hidden)]
pub mod store;
