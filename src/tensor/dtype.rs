//! The ten dtypes of candle-core 0.11.1 and the values that each can hold.

use serde::{Deserialize, Serialize};

/// An element type (`candle-core/src/dtype.rs`, `DType`; the packed MX formats have no ops and are left out).
///
/// The order is the minimizer's: a finding is shown in the first dtype in which it still happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum DType {
    F32,
    F64,
    F16,
    Bf16,
    F8e4m3,
    U32,
    I64,
    U8,
    I32,
    I16,
}

/// The largest FP8 E4M3 number by the OCP specification; the constant of the crate `float8` is one step less.
const LARGEST_F8: f64 = 448.0;

/// The parameters of a binary floating-point format.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Format {
    /// Significand bits, the hidden one included.
    pub precision: i32,
    /// Exponent of the smallest normal number.
    pub min_exponent: i32,
    /// The largest finite value.
    pub max: f64,
}

impl Format {
    /// The distance between the largest values.
    fn last_step(self) -> f64 {
        let exponent = (self.max / 2.0).log2().ceil();
        (exponent + 1.0 - f64::from(self.precision)).exp2()
    }
}

impl DType {
    /// Every dtype.
    pub const ALL: [Self; 10] = [
        Self::F32,
        Self::F64,
        Self::F16,
        Self::Bf16,
        Self::F8e4m3,
        Self::U32,
        Self::I64,
        Self::U8,
        Self::I32,
        Self::I16,
    ];

    /// The name in cases: `"f32"`.
    pub fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
            Self::F16 => "f16",
            Self::Bf16 => "bf16",
            Self::F8e4m3 => "f8e4m3",
            Self::U32 => "u32",
            Self::I64 => "i64",
            Self::U8 => "u8",
            Self::I32 => "i32",
            Self::I16 => "i16",
        }
    }

    /// The dtype of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|dtype| dtype.name() == name)
    }

    /// The bytes of an element.
    pub fn size(self) -> usize {
        match self {
            Self::U8 | Self::F8e4m3 => 1,
            Self::I16 | Self::F16 | Self::Bf16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::I64 | Self::F64 => 8,
        }
    }

    /// Whether values are floats.
    pub fn is_float(self) -> bool {
        self.format().is_some()
    }
}

// Not promised.
#[doc(hidden)]
impl DType {
    /// The dtypes that candle has since 0.9.2. A worker of an older one is built with the flag `few_dtypes`.
    pub const RECENT: [Self; 3] = [Self::F8e4m3, Self::I32, Self::I16];
    /// The floating-point dtypes with full support in candle.
    pub const FLOATS: [Self; 4] = [Self::F32, Self::F64, Self::F16, Self::Bf16];
    /// [`Self::FLOATS`] and the 8-bit one, which only the CPU backend computes in.
    pub const FLOATS_AND_F8: [Self; 5] = [Self::F32, Self::F64, Self::F16, Self::Bf16, Self::F8e4m3];
    /// The dtypes that most of candle's CUDA kernels support.
    pub const STANDARD: [Self; 7] = [Self::F32, Self::F64, Self::F16, Self::Bf16, Self::U32, Self::I64, Self::U8];
    /// The dtypes that candle can fill on a CUDA device.
    pub const STANDARD_AND_F8: [Self; 8] =
        [Self::F32, Self::F64, Self::F16, Self::Bf16, Self::F8e4m3, Self::U32, Self::I64, Self::U8];
    /// The dtypes of candle's convolution-like CUDA kernels: the standard ones without `i64`.
    pub const STANDARD_BUT_I64: [Self; 6] = [Self::F32, Self::F64, Self::F16, Self::Bf16, Self::U32, Self::U8];
    /// The dtypes that index ops take on both backends.
    pub const IDS: [Self; 3] = [Self::U32, Self::I64, Self::U8];

    /// Whether sums in this dtype visibly lose precision, which PyTorch avoids by accumulating in `f32`.
    pub fn is_reduced_precision(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F8e4m3)
    }

    /// The floating-point format (IEEE 754; bfloat16; OCP FP8 E4M3, which has NaN but no infinity), `None` for integers.
    pub fn format(self) -> Option<Format> {
        let (precision, min_exponent, max) = match self {
            Self::F32 => (24, -126, f64::from(f32::MAX)),
            Self::F64 => (53, -1022, f64::MAX),
            Self::F16 => (11, -14, half::f16::MAX.to_f64()),
            Self::Bf16 => (8, -126, half::bf16::MAX.to_f64()),
            Self::F8e4m3 => (4, -6, LARGEST_F8),
            _ => return None,
        };
        Some(Format { precision, min_exponent, max })
    }

    /// The smallest and largest integer, `None` for floats.
    pub fn int_range(self) -> Option<(i64, i64)> {
        match self {
            Self::U8 => Some((0, i64::from(u8::MAX))),
            Self::U32 => Some((0, i64::from(u32::MAX))),
            Self::I16 => Some((i64::from(i16::MIN), i64::from(i16::MAX))),
            Self::I32 => Some((i64::from(i32::MIN), i64::from(i32::MAX))),
            Self::I64 => Some((i64::MIN, i64::MAX)),
            _ => None,
        }
    }

    /// The nearest value that this dtype holds (round to nearest, ties to even; f8e4m3 saturates).
    pub fn round(self, value: f64) -> f64 {
        match self {
            Self::F32 => f64::from(value as f32),
            Self::F64 => value,
            Self::F16 => half::f16::from_f64(value).to_f64(),
            Self::Bf16 => half::bf16::from_f64(value).to_f64(),
            Self::F8e4m3 => float8::F8E4M3::from_f64(value.clamp(-LARGEST_F8, LARGEST_F8)).to_f64(),
            _ => {
                let (low, high) = self.int_range().unwrap_or((i64::MIN, i64::MAX));
                (value as i64).clamp(low, high) as f64
            }
        }
    }

    /// The element that `value` becomes: of a float dtype the nearest one, of integers the same number. `None` if it is out of the
    /// dtype's range, or no integer.
    pub fn element(self, value: f64) -> Option<f64> {
        let nearest = self.round(value);
        let is_same = nearest == value || value.is_nan() && self.is_float();
        // Half a step beyond the largest number the range ends, even where rounding saturates.
        let is_within = |format: Format| value.abs() - format.max < format.last_step() / 2.0;
        (is_same || self.format().is_some_and(is_within)).then_some(if value.is_nan() { value } else { nearest })
    }

    /// Half the distance between 1 and the next value: the unit roundoff (0 for integers).
    pub fn unit_roundoff(self) -> f64 {
        self.format().map_or(0.0, |format| power_of_two(-format.precision))
    }

    /// The smallest positive value (0 for integers).
    pub fn smallest(self) -> f64 {
        self.format().map_or(0.0, |format| power_of_two(format.min_exponent - format.precision + 1))
    }

    /// The largest finite value.
    pub fn max(self) -> f64 {
        self.format().map_or_else(|| self.int_range().map_or(f64::MAX, |(_, high)| high as f64), |format| format.max)
    }
}

/// 2 to this power, which an `f64` holds. Every operation on a number asks for it, and `exp2` takes longer than the operation.
fn power_of_two(exponent: i32) -> f64 {
    const BIAS: i32 = 1023;
    const FRACTION: i32 = f64::MANTISSA_DIGITS as i32 - 1;
    let bits =
        if exponent > -BIAS { i64::from(exponent + BIAS) << FRACTION } else { 1 << (exponent + BIAS + FRACTION - 1) };
    f64::from_bits(bits.cast_unsigned())
}

impl std::fmt::Display for DType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
