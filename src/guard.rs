//! What to check before a GPU sees the data: a bad label or id fires an assertion in a kernel there, and takes the process with it.
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
//! assert_eq!(refused.to_string(), "target: 195 at [3] is no label of 195 classes, which are 0 to 194");
//!
//! // The same from the loss's own contract, which any call of the catalog has.
//! let call = guard::Call::new("loss.cross_entropy").input("inp", &logits).input("target", &target);
//! let refused = call.check().unwrap_err();
//! assert!(refused.to_string().starts_with("loss.cross_entropy: label out of range: 195 at [3] of target"));
//! # Ok(())
//! # }
//! ```
//!
//! A [`Refused`] becomes a `candle_core::Error` by `?`. Tensors that are on a GPU already are copied back, which waits for it: check
//! before they go there. What it costs is in docs/guard.md.

mod call;
mod elements;
mod file;

pub use call::Call;
pub use file::{File, Loaded};

use candle_core::Tensor;

use crate::tensor::index_of;
use elements::{each_id, first_not_finite};

/// Why a call would fail, or go wrong in silence: one line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// An element of a tensor, the first in row-major order.
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
    /// A tensor or call as a whole.
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

    /// A tensor that candle cannot read; behind its error's first line may be a backtrace.
    fn unreadable(name: &str, error: &candle_core::Error) -> Self {
        Self::whole(name, &error.to_string().lines().next().unwrap_or_default())
    }

    /// The element at a place of `tensor` in row-major order.
    fn element(name: &str, tensor: &Tensor, place: usize, value: &impl ToString, why: String) -> Self {
        let index = index_of(place, tensor.dims());
        Self::Element { name: name.to_string(), index, value: value.to_string(), why }
    }
}

/// Whether every element of `labels` (u8, u32 or i64, any shape) is a class, 0 to `classes - 1`, or `ignore`.
///
/// candle's losses know no label to ignore (candle-nn/src/loss.rs:5-46), and CUDA asserts on one: leave its rows out of logits and
/// labels by [`rows_to_keep`]. The largest value of a dtype (255 in u8) is refused like any other that is no class; candle's kernels
/// take it for a row without a loss, in silence.
pub fn labels(name: &str, labels: &Tensor, classes: usize, ignore: Option<i64>) -> Result<(), Refused> {
    let why = || match classes.checked_sub(1) {
        Some(last) => format!("is no label of {classes} classes, which are 0 to {last}"),
        None => "is a label, and there are no classes".to_string(),
    };
    in_range(name, labels, classes, ignore, why)
}

/// Whether every element of `ids` (u8, u32 or i64, any shape) is a row of a table of `vocabulary` rows, as `Embedding` and
/// `index_select` need. A padding id of -1 is none; cast to u32 it reads a row of zeros, in silence.
pub fn ids(name: &str, ids: &Tensor, vocabulary: usize) -> Result<(), Refused> {
    in_range(name, ids, vocabulary, None, || format!("is no row of a table of {vocabulary} rows"))
}

/// Whether `tensor` holds neither NaN nor infinity. Integers never do.
pub fn finite(name: &str, tensor: &Tensor) -> Result<(), Refused> {
    match first_not_finite(tensor).map_err(|error| Refused::unreadable(name, &error))? {
        Some((place, value)) => Err(Refused::element(name, tensor, place, &value, "is not finite".to_string())),
        None => Ok(()),
    }
}

/// Whether all of these, by name, have one dtype and are on one device.
pub fn agree(tensors: &[(&str, &Tensor)]) -> Result<(), Refused> {
    let Some(((first, one), rest)) = tensors.split_first() else { return Ok(()) };
    one_device(tensors)?;
    match rest.iter().find(|(_, other)| other.dtype() != one.dtype()) {
        Some((name, other)) => {
            let (dtype, expected) = (other.dtype().as_str(), one.dtype().as_str());
            Err(Refused::whole(name, &format!("is {dtype}, and {first} is {expected}")))
        }
        None => Ok(()),
    }
}

/// The places (u32, on the device of `labels`) at which `labels`, of one dimension, is not `ignore`: what `index_select` takes to
/// leave the other rows out of labels and logits alike, as `ignore_index` does in PyTorch. An `Err` for labels that are no ids.
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
            Err(Refused::whole(name, &format!("is on {place}, and {first} on {expected}")))
        }
        None => Ok(()),
    }
}
