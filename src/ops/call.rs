//! The arguments of a call as candle sees them.

use std::collections::BTreeMap;

use candle_core::{Error, Result, Tensor};

use crate::case::Case;

/// A case whose inputs are on a device.
#[derive(Debug)]
pub struct Call<'a> {
    /// The case, for its params.
    pub case: &'a Case,
    /// The inputs by name.
    pub tensors: BTreeMap<&'a str, Tensor>,
}

impl Call<'_> {
    /// The input of this name. An `Err` where the case lacks it: contracts refuse such a case.
    pub fn tensor(&self, name: &str) -> Result<&Tensor> {
        self.tensors.get(name).ok_or_else(|| Error::Msg(format!("the case has no input `{name}`")))
    }

    /// The input of this name, if the case has it.
    pub fn optional(&self, name: &str) -> Option<&Tensor> {
        self.tensors.get(name)
    }

    /// A param that candle takes as `usize`. A negative number has no such value and becomes 0.
    pub fn size(&self, name: &str, default: usize) -> usize {
        usize::try_from(self.case.int(name, default as i64)).unwrap_or(0)
    }
}
