//! How far off a result may be where nobody has written down how it is computed: less than a mistake, more than its roundings.

use super::Evidence;
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
    /// The tolerance for results of `dtype`; `None` if an input is so large, or not finite, that there is none.
    pub fn of(evidence: &Evidence, dtype: DType) -> Option<Self> {
        if evidence.any_value(|value| value.is_nan() || value.abs() > MODERATE) {
            return None;
        }
        let floats = evidence.case.inputs.values().filter(|tensor| tensor.dtype.is_float());
        let values = floats.flat_map(|tensor| tensor.values.listed());
        let largest = values.fold(0.0, |most: f64, value| most.max(value.as_f64().abs()));
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
