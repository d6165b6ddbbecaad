//! Tensors of a safetensors file, each read when it is asked for.

use std::path::Path;

use candle_core::safetensors::MmapedSafetensors;
use candle_core::{Device, Result, Tensor};

/// A tensor of a file.
pub type Loaded = Tensor;

/// An open safetensors file.
pub struct File(MmapedSafetensors);

impl File {
    /// Opens a file. An `Err` where there is none, or where it is none of safetensors.
    pub fn open(path: &Path) -> Result<Self> {
        #[allow(unsafe_code, reason = "as everybody who maps files, we trust that nobody shortens it meanwhile")]
        // SAFETY: as above.
        let file = unsafe { MmapedSafetensors::new(path) }?;
        Ok(Self(file))
    }

    /// The tensors that are there, each like `target u32 [4]`, in order of their names.
    pub fn list(&self) -> Vec<String> {
        let mut views = self.0.tensors();
        views.sort_by(|(one, _), (other, _)| one.cmp(other));
        let dtype = |view: &dyn ToString| view.to_string().to_lowercase();
        views.iter().map(|(name, view)| format!("{name} {} {:?}", dtype(&view.dtype()), view.shape())).collect()
    }

    /// The tensor of this name, if it is there. An `Err` for a dtype that candle does not know.
    pub fn tensor(&self, name: &str) -> Result<Option<Tensor>> {
        if self.0.get(name).is_err() {
            return Ok(None);
        }
        self.0.load(name, &Device::Cpu).map(Some)
    }
}
