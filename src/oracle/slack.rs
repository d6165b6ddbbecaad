//! How far off a result may be where nobody has written down how it is computed: less than a mistake, more than its roundings.

use crate::case::Case;
use crate::tensor::DType;

/// Between larger numbers roundings may be as large as what is left of a difference.
const MODERATE: f64 = 1024.0;

/// The tolerance for results of one dtype and one case.
pub struct Slack {
    /// Of the largest element, a hundred roundings and more.
    share: f64,
    /// What a few roundings of products of two inputs come to: a sum of such products may cancel.
    floor: f64,
}

impl Slack {
    /// The tolerance for results of `case` in `dtype`; `None` if an input is so large, or not finite, that there is none.
    pub fn of(case: &Case, dtype: DType) -> Option<Self> {
        let floats = case.inputs.values().filter(|tensor| tensor.dtype.is_float());
        let sizes: Vec<f64> =
            floats.flat_map(|tensor| tensor.values.listed()).map(|value| value.as_f64().abs()).collect();
        if sizes.iter().any(|size| size.is_nan() || *size > MODERATE) {
            return None;
        }
        let largest = sizes.into_iter().fold(0.0, f64::max);
        let share = match dtype {
            DType::F64 => 1e-6,
            DType::F32 => 0.01,
            _ => 0.125,
        };
        Some(Self { share, floor: 4.0 * dtype.unit_roundoff() * (1.0 + largest).powi(2) + dtype.smallest() })
    }

    /// How far off an element may be, the largest of which has this size.
    pub fn beside(&self, largest: f64) -> f64 {
        self.share * largest + self.floor
    }
}

/// True if two numbers are further apart than `bound`, or one of both is not a number.
pub fn are_apart(left: f64, right: f64, bound: f64) -> bool {
    let gap = (left - right).abs();
    gap.is_nan() || gap > bound
}
