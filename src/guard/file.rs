//! The tensors of a safetensors file, read on demand.

use std::fmt::Debug;
use std::path::Path;

use candle_core::safetensors::MmapedSafetensors;
use candle_core::{Device, Error, Result, Tensor};

use crate::tensor::elements;

/// A tensor of a file.
pub type Loaded = Tensor;

/// An open safetensors file.
pub struct File(MmapedSafetensors);

impl File {
    /// Opens a file. An `Err` if it does not exist or is not in the safetensors format.
    pub fn open(path: &Path) -> Result<Self> {
        #[allow(
            unsafe_code,
            reason = "like every user of a mapped file, we assume that it is not truncated while it is open"
        )]
        // SAFETY: see the reason above.
        let file = unsafe { MmapedSafetensors::new(path) }?;
        Ok(Self(file))
    }

    /// The tensors in the file by name, each as `target u32 [4]`.
    pub fn list(&self) -> Vec<String> {
        let mut views = self.0.tensors();
        views.sort_by(|(one, _), (other, _)| one.cmp(other));
        let dtype = |dtype: &dyn Debug| format!("{dtype:?}").to_lowercase();
        views.iter().map(|(name, view)| format!("{name} {} {:?}", dtype(&view.dtype()), view.shape())).collect()
    }

    /// The tensor of this name, if the file has it. An `Err` if candle does not know its dtype, or cannot have its shape.
    pub fn tensor(&self, name: &str) -> Result<Option<Tensor>> {
        let Ok(view) = self.0.get(name) else { return Ok(None) };
        elements(view.shape()).map_err(Error::wrap)?;
        self.0.load(name, &Device::Cpu).map(Some)
    }
}
