//! Investigates a failure: which call is at fault, which parts of the case matter, which release introduced it, and where a NaN
//! comes from.

mod ablation;
mod bisect;
mod blame;
mod non_finite;
mod telling;
mod trace;

pub use ablation::{ablation, takes_long};
pub use bisect::{Behaviour, Bisection, RELEASES, Releases, TriedRelease, bisect};
pub use blame::{Blame, blame, failing_step};
pub use non_finite::{NonFinite, Occurrences};
pub use telling::telling;
pub use trace::{Origin, PassTrace, Step, Trace, non_finite_inputs, trace};
