//! A CUDA error that ended a case, in the words of signatures and reports.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A CUDA error of the kernel or call that ended a case.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum CudaError {
    /// `CUDA_ERROR_ASSERT`: a device-side assertion failed.
    Assert,
    /// `CUDA_ERROR_LAUNCH_TIMEOUT`: the watchdog ended a kernel.
    Hang,
    /// `CUDA_ERROR_ILLEGAL_ADDRESS`: an access outside of all mapped memory.
    IllegalAddress,
    /// `CUDA_ERROR_MISALIGNED_ADDRESS`: an address that is not a multiple of the size of the access.
    MisalignedAddress,
    /// `CUDA_ERROR_LAUNCH_FAILED`: anything else that ends a kernel, such as `trap`.
    LaunchFailed,
    /// Another error, by its name in lower case: `invalid pc`.
    Other(String),
}

impl CudaError {
    /// The error of this name in the driver's `CUresult`, such as `CUDA_ERROR_INVALID_PC`.
    pub fn of_code(code: &str) -> Self {
        match code.strip_prefix(Self::CODE).unwrap_or(code) {
            "LAUNCH_TIMEOUT" => Self::Hang,
            name => Self::from(name.to_lowercase().replace('_', " ")),
        }
    }

    /// Its name in the driver's `CUresult`.
    pub fn code(&self) -> String {
        let name = if *self == Self::Hang { "launch timeout" } else { self.name() };
        format!("{}{}", Self::CODE, name.to_uppercase().replace(' ', "_"))
    }

    /// How the names of errors begin in the driver's `CUresult`.
    pub const CODE: &str = "CUDA_ERROR_";

    /// The error in words, as in a signature.
    pub fn name(&self) -> &str {
        match self {
            Self::Assert => "assert",
            Self::Hang => "hang",
            Self::IllegalAddress => "illegal address",
            Self::MisalignedAddress => "misaligned address",
            Self::LaunchFailed => "launch failed",
            Self::Other(name) => name,
        }
    }
}

impl From<String> for CudaError {
    fn from(name: String) -> Self {
        let known = [Self::Assert, Self::Hang, Self::IllegalAddress, Self::MisalignedAddress, Self::LaunchFailed];
        known.into_iter().find(|error| error.name() == name).unwrap_or(Self::Other(name))
    }
}

impl From<CudaError> for String {
    fn from(error: CudaError) -> Self {
        error.name().to_string()
    }
}

impl fmt::Display for CudaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
