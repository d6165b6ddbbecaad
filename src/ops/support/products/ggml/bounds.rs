//! How far the numbers of a block may be from those that it was made of (llama.cpp, `ggml/src/ggml-quants.c`: the levels and scales of
//! each format).

use super::{Format, LARGEST_SCALE};
use crate::tensor::DType;

/// The largest number of a block: its scale times the largest level or, in formats that have one, the minimum, which is in half
/// precision too. In formats with groups, each has a scale of its own beside the block's.
pub fn largest(format: &Format) -> f64 {
    let level = match format.name {
        "F32" | "BF16" | "Q8K" => return f32::MAX.into(),
        "Q4_0" => 8.0,
        "Q5_0" => 16.0,
        "Q8_0" | "Q8_1" => 127.0,
        "Q2K" => 15.0,
        "Q4K" | "Q5K" => 63.0,
        "Q3K" => 4.0 * 32.0,
        "Q6K" => 32.0 * 128.0,
        _ => 1.0,
    };
    level * LARGEST_SCALE
}

/// How wrong an element of a block of these numbers may be.
pub fn bound(format: &Format, numbers: &[f64]) -> f64 {
    let largest = numbers.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
    // The smallest scale of a block.
    let smallest = if format.is_plain() { DType::F16.smallest() } else { 1e-4 };
    largest * step(format) + smallest
}

/// The same relative to the largest number: a step of the levels between both extremes and, in formats with groups, as much as the
/// roundoff of the group's scale makes of the largest level.
fn step(format: &Format) -> f64 {
    match format.name {
        "F32" => DType::F32.unit_roundoff(),
        "F16" => DType::F16.unit_roundoff(),
        "BF16" => DType::Bf16.unit_roundoff(),
        "Q8_0" | "Q8_1" | "Q8K" => 1.0 / 127.0,
        "Q4_0" => 1.0 / 7.0,
        "Q4_1" => 2.0 / 15.0,
        "Q5_0" => 1.0 / 15.0,
        "Q5_1" => 2.0 / 31.0,
        "Q2K" => 2.0 / 3.0 + 4.0 / 15.0,
        "Q3K" => 1.0 / 3.0 + 1.0 / 16.0,
        "Q4K" => 2.0 / 15.0 + 4.0 / 63.0,
        "Q5K" => 2.0 / 31.0 + 4.0 / 63.0,
        _ => 1.0 / 31.0 + 1.0 / 64.0,
    }
}
