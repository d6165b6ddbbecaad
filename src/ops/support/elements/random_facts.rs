//! Facts about random values that hold in every run (up to six standard deviations), each 1 or 0.

use candle_core::{Device, Result, Tensor};
use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::call::{candle_dtype, dtype_of, typed_float};
use crate::ops::support::elements::creation::{dtype, shape};
use crate::ops::{Contract, ReferenceInputs};
use crate::tensor::{DType, Support};

/// The dtypes of random tensors.
pub const CREATED: &Support = &Support::both("dtype", &DType::FLOATS);

/// How many facts every random op returns.
pub const FACTS: usize = 3;

/// `contract` of a call that returns only facts.
pub fn facts_contract(contract: Contract) -> Contract {
    match contract {
        Contract::Accepts { refusal, .. } => Contract::Accepts { outputs: vec![(DType::U8, vec![FACTS])], refusal },
        other => other,
    }
}

/// Facts as the output of a call.
pub fn facts(facts: [bool; FACTS]) -> Result<Vec<Tensor>> {
    Ok(vec![Tensor::from_vec(facts.map(u8::from).to_vec(), FACTS, &Device::Cpu)?])
}

/// The reference: all facts hold.
pub fn all_hold(_: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    vec![ArrayD::from_elem(IxDyn(&[FACTS]), Num::exact(1.0))]
}

/// A distribution of values.
pub struct Distribution {
    low: f64,
    high: f64,
    mean: f64,
    std: f64,
    kurtosis: f64,
}

impl Distribution {
    /// The uniform distribution on an interval.
    pub fn uniform(low: f64, high: f64) -> Self {
        Self { low, high, mean: f64::midpoint(low, high), std: (high - low) / 12f64.sqrt(), kurtosis: 1.8 }
    }

    /// A normal distribution.
    pub fn normal(mean: f64, std: f64) -> Self {
        // The chance that one of 2^22 normal values is farther out is negligible.
        Self { low: mean - 10.0 * std, high: mean + 10.0 * std, mean, std, kurtosis: 3.0 }
    }

    /// Whether a contract promises values of this distribution. For others the facts would depend on the values drawn.
    fn is_ordinary(&self) -> bool {
        self.low <= self.high && self.low.is_finite() && self.high.is_finite()
    }

    /// True if two draws of so many values never agree by chance: each value has some 16 random bits at least.
    fn is_telling(&self, dtype: DType, count: usize) -> bool {
        let resolution = dtype.unit_roundoff() * self.low.abs().max(self.high.abs());
        count >= 5 && self.std > 65_536.0 * resolution
    }

    /// One value.
    pub fn constant(value: f64) -> Self {
        Self { low: value, high: value, mean: value, std: 0.0, kurtosis: 0.0 }
    }
}

/// The facts: shape and dtype are those of the case; values are within the distribution's bounds; mean and variance are near its
/// own, and no earlier draw has the same values.
pub fn check_distribution(
    drawn: &Tensor,
    earlier: &[Tensor],
    case: &Case,
    distribution: &Distribution,
) -> Result<Vec<Tensor>> {
    let [well_formed, bounded, distributed] = facts_of(drawn, &shape(case), dtype(case), distribution)?;
    let is_new = !distribution.is_telling(dtype(case), drawn.elem_count()) || !is_among(drawn, earlier)?;
    facts([well_formed, bounded, distributed && is_new])
}

/// True if one of `others` has the same values.
fn is_among(drawn: &Tensor, others: &[Tensor]) -> Result<bool> {
    let values = floats(drawn)?;
    for other in others {
        if floats(other)? == values {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The facts about values that should have this shape, dtype and distribution.
pub fn facts_of(drawn: &Tensor, shape: &[usize], dtype: DType, distribution: &Distribution) -> Result<[bool; FACTS]> {
    let well_formed = drawn.dims() == shape && drawn.dtype() == candle_dtype(dtype);
    if !distribution.is_ordinary() {
        return Ok([well_formed, true, true]);
    }
    let values = floats(drawn)?;
    let count = values.len() as f64;
    let unit = dtype.unit_roundoff();
    let slack = 4.0 * unit * distribution.low.abs().max(distribution.high.abs());
    let bounded = values.iter().all(|&value| distribution.low - slack <= value && value <= distribution.high + slack);
    // A sum of large values rounds to more than their deviations.
    let mean = distribution.mean + values.iter().map(|value| value - distribution.mean).sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let expected = distribution.std * distribution.std;
    let near = (mean - distribution.mean).abs() <= 6.0 * distribution.std / count.sqrt() + slack;
    let deviation = 6.0 * expected * ((distribution.kurtosis - 1.0).max(0.0) / count).sqrt() + expected / count;
    let spread =
        count < 64.0 || (variance - expected).abs() <= deviation + 8.0 * (slack * distribution.std + slack * slack);
    Ok([well_formed, bounded, values.is_empty() || near && spread])
}

/// The values as `f64`, whatever the dtype and the view.
pub fn floats(x: &Tensor) -> Result<Vec<f64>> {
    typed_float!(dtype_of(x), T => {
        let values: Vec<T> = x.to_device(&Device::Cpu)?.flatten_all()?.to_vec1()?;
        #[allow(clippy::useless_conversion)] // One of the types is f64.
        Ok(values.into_iter().map(f64::from).collect())
    })
}
