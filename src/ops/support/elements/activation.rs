//! What activations share.

use ndarray::{ArrayD, Axis, Slice};

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::reference_inputs::pairs;
use crate::ops::{Contract, ReferenceInputs};
use crate::tensor::DType;

/// `(x + 3) / 6`, clamped to 0 to 1.
pub fn hard_sigmoid(x: Num) -> Num {
    ((x + Num::exact(3.0)) / Num::exact(6.0)).max(Num::exact(0.0)).min(Num::exact(1.0))
}

/// `x` above 0, else `slope x`.
pub fn leaky_relu(x: Num, slope: f64) -> Num {
    if x.value > 0.0 {
        return x + Num::exact(0.0);
    }
    Num { kink: x.kink || x.value == 0.0, ..x * Num::constant(slope, x.unit) }
}

/// `silu(first) second` of the halves of the last dimension.
pub fn swiglu(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let x = inputs.array("x");
    let last = Axis(x.ndim().saturating_sub(1));
    let half = x.len_of(last) / 2;
    let half_of = |from: usize, to: usize| x.slice_axis(last, Slice::from(from..to)).to_owned();
    pairs(&half_of(0, half), &half_of(half, 2 * half), |gate, x| gate.silu() * x)
}

/// Unspecified where the param of this name is not finite, in `f32` unless `x` is `f64`, as PyTorch takes it.
pub fn unspecified_constant(case: &Case, name: &str) -> Option<Contract> {
    let constant = case.float(name);
    let is_wide = case.tensor("x").is_some_and(|x| x.dtype == DType::F64);
    let is_finite = if is_wide { constant.is_finite() } else { (constant as f32).is_finite() };
    (!is_finite).then_some(Contract::Unspecified("a constant that is not finite"))
}
