//! Looks into a failure: which call is at fault, which parts of the case matter, since which release it happens, and where
//! a NaN comes from.

mod ablation;
mod bisect;
mod blame;
mod non_finite;
mod trace;

pub use ablation::ablation;
pub use bisect::{Bisected, Does, RELEASES, Releases, Tried, bisect};
pub use blame::{Blame, alone, blame};
pub use non_finite::{Kind, Spots};
pub use trace::{Half, Made, Step, Trace, held, trace};
