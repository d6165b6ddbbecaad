//! What activations share.

use crate::case::Case;
use crate::number::Num;
use crate::ops::Contract;
use crate::ops::tensor::scalar::bounds;

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

/// The contract where the param of this name is no ordinary number.
pub fn unspecified_constant(case: &Case, name: &str) -> Option<Contract> {
    let value = case.float(name, 1.0);
    let ordinary = value == 0.0 || (1e-3..=1e3).contains(&value.abs()) || bounds(case, value) && value.abs() < 1e3;
    (!ordinary).then_some(Contract::Unspecified("an extraordinary constant"))
}
