//! Dtypes that many ops of an input `x` have in common.

use crate::tensor::{DType, Support};

/// Floats.
pub const FLOATS: &Support = &Support::both("x", &DType::FLOATS);

/// Floats, and `f8e4m3` on the CPU.
pub const FLOATS_AND_F8: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };
