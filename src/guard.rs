//! Checks of data before a GPU sees it: a bad label or id fires an assertion in a CUDA kernel, and the process is lost.
//!
//! ```
//! # fn main() -> candle_core::Result<()> {
//! use candle_core::{Device, Tensor};
//! use snuffer::guard;
//!
//! let logits = Tensor::zeros((4, 195), candle_core::DType::F32, &Device::Cpu)?;
//! let target = Tensor::new(&[0u32, 7, 194, 195], &Device::Cpu)?;
//!
//! let refused = guard::labels("target", &target, 195, None).unwrap_err();
//! assert_eq!(refused.to_string(), "target: 195 at [3] is not a label of 195 classes (0 to 194)");
//!
//! // The loss's own contract says the same. Every call of the catalog has one.
//! let call = guard::Call::new("loss.cross_entropy").input("inp", &logits).input("target", &target);
//! let refused = call.check().unwrap_err();
//! assert!(refused.to_string().starts_with("loss.cross_entropy: label out of range: 195 at [3] of target"));
//! # Ok(())
//! # }
//! ```
//!
//! A [`Refused`] converts to a `candle_core::Error` with `?`. A tensor that is already on a GPU is copied back, which waits for the
//! GPU: check before you upload. docs/guard.md lists the costs.

mod call;
mod elements;
mod file;

pub use crate::case::Param;
pub use call::Call;
#[doc(hidden)]
pub use file::{File, Loaded};

use candle_core::Tensor;

use crate::tensor::index_of;
use elements::{each_id, first_not_finite};

/// Why a call would fail or silently go wrong, in one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The first bad element of a tensor in row-major order.
    #[error("{name}: {value} at {index:?} {why}")]
    Element {
        /// The tensor's name.
        name: String,
        /// Its index in each dimension.
        index: Vec<usize>,
        /// Its value.
        value: String,
        /// What is wrong with it.
        why: String,
    },
    /// A problem of a whole tensor or call.
    #[error("{name}: {why}")]
    Whole {
        /// The tensor's name, or the op's.
        name: String,
        /// What is wrong with it.
        why: String,
    },
}

impl From<Refused> for candle_core::Error {
    fn from(refused: Refused) -> Self {
        Self::wrap(refused)
    }
}

impl Refused {
    fn whole(name: &str, why: &impl ToString) -> Self {
        Self::Whole { name: name.to_string(), why: why.to_string() }
    }

    /// A tensor that candle cannot read. Only the error's first line: a backtrace may follow it.
    fn unreadable(name: &str, error: &candle_core::Error) -> Self {
        Self::whole(name, &error.to_string().lines().next().unwrap_or_default())
    }

    /// The element of `tensor` at `place` in row-major order.
    fn element(name: &str, tensor: &Tensor, place: usize, value: &impl ToString, why: String) -> Self {
        let index = index_of(place, tensor.dims());
        Self::Element { name: name.to_string(), index, value: value.to_string(), why }
    }
}

/// Checks that every element of `labels` (u8, u32 or i64, any shape) is a class, 0 to `classes - 1`, or `ignore`.
///
/// candle's losses have no label to ignore (candle-nn/src/loss.rs:5-46), and CUDA asserts on one: drop its rows from logits and
/// labels with [`rows_to_keep`]. The largest value of a dtype (255 in u8) is refused like any other value that is not a class;
/// candle's kernels silently treat it as a row without a loss.
pub fn labels(name: &str, labels: &Tensor, classes: usize, ignore: Option<i64>) -> Result<(), Refused> {
    let why = || match classes.checked_sub(1) {
        Some(last) => format!("is not a label of {classes} classes (0 to {last})"),
        None => "is a label, but there are no classes".to_string(),
    };
    in_range(name, labels, classes, ignore, why)
}

/// Checks that every element of `ids` (u8, u32 or i64, any shape) is a row of a table of `vocabulary` rows, as `Embedding` and
/// `index_select` require. A padding id of -1 is refused; cast to u32, it would silently read a row of zeros.
pub fn ids(name: &str, ids: &Tensor, vocabulary: usize) -> Result<(), Refused> {
    in_range(name, ids, vocabulary, None, || format!("is not a row of a table of {vocabulary} rows"))
}

/// Checks that `tensor` has no NaN and no infinity. Integers never do.
pub fn finite(name: &str, tensor: &Tensor) -> Result<(), Refused> {
    match first_not_finite(tensor).map_err(|error| Refused::unreadable(name, &error))? {
        Some((place, value)) => Err(Refused::element(name, tensor, place, &value, "is not finite".to_string())),
        None => Ok(()),
    }
}

/// Checks that all of these named tensors have the same dtype and device.
pub fn agree(tensors: &[(&str, &Tensor)]) -> Result<(), Refused> {
    let Some(((first, one), rest)) = tensors.split_first() else { return Ok(()) };
    one_device(tensors)?;
    match rest.iter().find(|(_, other)| other.dtype() != one.dtype()) {
        Some((name, other)) => {
            let (dtype, expected) = (other.dtype().as_str(), one.dtype().as_str());
            Err(Refused::whole(name, &format!("is {dtype}, but {first} is {expected}")))
        }
        None => Ok(()),
    }
}

/// The indices (u32, on the device of `labels`) at which the one-dimensional `labels` are not `ignore`. `index_select` with them
/// drops the other rows from labels and logits, like PyTorch's `ignore_index`. An `Err` if the labels are not u8, u32 or i64.
pub fn rows_to_keep(labels: &Tensor, ignore: i64) -> candle_core::Result<Tensor> {
    let mut kept = Vec::new();
    labels.dims1()?;
    each_id(labels, |place, label| {
        if label != ignore {
            kept.push(place as u32);
        }
        None::<()>
    })?;
    Tensor::new(kept, labels.device())
}

fn in_range(
    name: &str,
    ids: &Tensor,
    size: usize,
    ignore: Option<i64>,
    why: impl FnOnce() -> String,
) -> Result<(), Refused> {
    let wrong = |id: i64| !crate::ops::in_range(id, size) && Some(id) != ignore;
    let first = each_id(ids, |place, id| wrong(id).then_some((place, id)));
    match first.map_err(|error| Refused::unreadable(name, &error))? {
        Some((place, id)) => Err(Refused::element(name, ids, place, &id, why())),
        None => Ok(()),
    }
}

fn one_device(tensors: &[(&str, &Tensor)]) -> Result<(), Refused> {
    let Some(((first, one), rest)) = tensors.split_first() else { return Ok(()) };
    match rest.iter().find(|(_, other)| !other.device().same_device(one.device())) {
        Some((name, other)) => {
            let [place, expected] = [other, one].map(|tensor| format!("{:?}", tensor.device().location()));
            Err(Refused::whole(name, &format!("is on {place}, but {first} is on {expected}")))
        }
        None => Ok(()),
    }
}
