//! Losses of two tensors of one shape: `mse`, `binary_cross_entropy_with_logit` and `huber`.

use candle_nn::loss;

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// `candle_nn::loss::mse(inp, target)`, the mean of the squared difference.
pub static MSE: Op = Op {
    name: "loss.mse",
    covers: &["loss::mse"],
    support: ELEMENTWISE_SUPPORT,
    generate: |draw| generate(draw, ELEMENTWISE_SUPPORT),
    contract,
    call: |call| Ok(vec![loss::mse(call.tensor("inp")?, call.tensor("target")?)?]),
    source: "candle_nn::loss::mse(&inp, &target)?",
    torch: "F.mse_loss(inp, target)",
    reference: Some(|inputs| {
        scalar(mean_of(inputs, |inp, target| {
            let difference = inp - target;
            difference * difference
        }))
    }),
    ulps: 4.0,
    differentiable: &["inp", "target"],
    promise: "candle-nn/src/loss.rs:48-51; torch.nn.MSELoss",
};

/// `candle_nn::loss::binary_cross_entropy_with_logit(inp, target)`, the mean of
/// `-(target ln sigmoid(inp) + (1 - target) ln(1 - sigmoid(inp)))`.
pub static BINARY_CROSS_ENTROPY_WITH_LOGIT: Op = Op {
    name: "loss.binary_cross_entropy_with_logit",
    covers: &["loss::binary_cross_entropy_with_logit"],
    support: &Support::both("inp", &DType::FLOATS),
    generate: |draw| generate(draw, BINARY_CROSS_ENTROPY_WITH_LOGIT.support),
    contract,
    call: |call| Ok(vec![loss::binary_cross_entropy_with_logit(call.tensor("inp")?, call.tensor("target")?)?]),
    source: "candle_nn::loss::binary_cross_entropy_with_logit(&inp, &target)?",
    torch: "F.binary_cross_entropy_with_logits(inp, target)",
    reference: Some(|inputs| scalar(mean_of(inputs, binary_cross_entropy))),
    ulps: 4.0,
    differentiable: &["inp", "target"],
    promise: "candle-nn/src/loss.rs:53-75; torch.nn.BCEWithLogitsLoss: the logit form exists to be stable for every \
              finite logit",
};

/// `candle_nn::loss::huber(inp, target, delta)`: quadratic below `delta`, linear above, averaged.
pub static HUBER: Op = Op {
    name: "loss.huber",
    covers: &["loss::huber"],
    support: ELEMENTWISE_SUPPORT,
    generate: |draw| {
        let delta = *draw.choose(&[1.0, 0.5, 0.125, 2.0])?;
        Ok(generate(draw, HUBER.support)?.param("delta", delta))
    },
    contract: |case| {
        let delta = case.float("delta", 1.0);
        if (1e-4..=1e4).contains(&delta) {
            contract(case)
        } else {
            Contract::Unspecified("delta is no ordinary positive number")
        }
    },
    call: |call| Ok(vec![loss::huber(call.tensor("inp")?, call.tensor("target")?, call.case.float("delta", 1.0))?]),
    source: "candle_nn::loss::huber(&inp, &target, {{ delta|default('1.0') }})?",
    torch: "F.huber_loss(inp, target, delta={{ delta|default('1.0') }})",
    reference: Some(|inputs| {
        let delta = Num::exact(inputs.case.float("delta", 1.0));
        let half = Num::exact(0.5);
        scalar(mean_of(inputs, |inp, target| {
            let difference = inp - target;
            let size = difference.abs();
            if size.value <= delta.value {
                // The kink of |difference| is none here; where both branches meet there is no second derivative.
                Num { kink: size.value == delta.value, ..half * difference * difference }
            } else {
                delta * (size - half * delta)
            }
        }))
    }),
    ulps: 4.0,
    differentiable: &["inp", "target"],
    promise: "candle-nn/src/loss.rs:77-112 (the formula in its documentation)",
};

/// The dtypes of these ops.
pub const ELEMENTWISE_SUPPORT: &Support = &Support { of: "inp", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

fn generate(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut shape = draw.shape(0, 3)?;
    shape.push(draw.reduced()?);
    let mut case =
        Case::default().input("inp", draw.tensor(dtype, &shape)?).input("target", draw.tensor(dtype, &shape)?);
    case.backward = draw.backward()?;
    Ok(case)
}

fn contract(case: &Case) -> Contract {
    let (Some(inp), Some(target)) = (case.tensor("inp"), case.tensor("target")) else {
        return Contract::Rejects(why::SHAPES);
    };
    if !inp.dtype.is_float() || !target.dtype.is_float() {
        return Contract::Unspecified("the loss of integers");
    }
    if inp.shape.contains(&0) || target.shape.contains(&0) {
        return Contract::Unspecified("the mean of nothing");
    }
    if inp.shape != target.shape {
        return Contract::Rejects(why::SHAPES);
    }
    if inp.dtype != target.dtype {
        return Contract::Rejects(why::MIXED);
    }
    Contract::accepts(inp.dtype, &[])
}

fn mean_of(inputs: &ReferenceInputs, loss: impl Fn(Num, Num) -> Num) -> Num {
    let (inp, target) = (inputs.array("inp"), inputs.array("target"));
    let losses: Vec<Num> = inp.iter().zip(&target).map(|(&inp, &target)| loss(inp, target)).collect();
    Num::mean(&losses)
}

/// One element of binary cross-entropy: the value of the stable form, with the error bounds of the documented one.
fn binary_cross_entropy(logit: Num, target: Num) -> Num {
    let one = Num::exact(1.0);
    let zero = Num::exact(0.0);
    let sigmoid = one / (one + (-logit).exp());
    let documented = -(target * sigmoid.ln() + (one - target) * (one - sigmoid).ln());
    let softplus = |x: Num| Num::log_sum_exp(&[zero, x]);
    documented.valued(softplus(logit) - target * logit)
}
