//! The canonical form of a failure, so that one cause becomes one finding.

use super::{op_of, promise};
use crate::case::Case;
use crate::examine::{Patience, violations};
use crate::exec::Executor;
use crate::investigate::failing_step;
use crate::oracle::{Signature, Violation};
use crate::tensor::{DType, Tensor, Value, Values, cast};

/// What a case may do without, in the order in which it is tried: `f32` in place of other floats, and ones in place of NaN and
/// infinities.
pub static PLAINER: [fn(&Case) -> Case; 2] = [
    |case| with_tensors(case, |tensor| if tensor.dtype.is_float() { cast(tensor, DType::F32) } else { tensor.clone() }),
    |case| {
        with_tensors(case, |tensor| {
            with_values(tensor, |it| if it.as_f64().is_finite() { it } else { Value::of(tensor.dtype, 1.0) })
        })
    },
];

fn with_tensors(case: &Case, plainer: fn(&Tensor) -> Tensor) -> Case {
    let mut case = case.clone();
    case.inputs.values_mut().for_each(|tensor| *tensor = plainer(tensor));
    case
}

/// The plainest form of the same failure: a single call instead of a sequence if one step fails on its own, `f32` instead of
/// another float dtype, and finite values if the case fails there too. Otherwise one cause would be filed several times.
pub fn canonical(executor: &mut Executor, case: Case, signature: Signature) -> anyhow::Result<(Case, Signature)> {
    if let Some((call, violations)) = failing_step(executor, &case)? {
        let is_it = |it: &&Violation| (it.oracle, &it.kind) == (signature.oracle, &signature.kind);
        let signature = violations.iter().find(is_it).unwrap_or(&violations[0]).signature(&call.op);
        return canonical(executor, call, signature);
    }
    let op = op_of(&case)?;
    let (mut case, mut signature) = (case, signature);
    for plainer in PLAINER {
        let simpler = plainer(&case);
        if simpler == case || !promise::keeps(&op.contract(&case), &op.contract(&simpler)) {
            continue;
        }
        let found = violations(executor, op, &simpler, Patience::Full)?;
        let mut found = found.iter().map(|violation| violation.signature(op.name));
        let same = |other: &Signature| signature.is_plainly(other);
        let plain = found.clone().find(|other| same(other) && other.site == signature.site).or(found.find(same));
        if let Some(plain) = plain {
            (case, signature) = (simpler, plain);
        }
    }
    Ok((case, signature))
}

/// `tensor` with each value that it spells out replaced.
fn with_values(tensor: &Tensor, replace: impl Fn(Value) -> Value) -> Tensor {
    let mut tensor = tensor.clone();
    match &mut tensor.values {
        Values::List(values) => values.iter_mut().for_each(|value| *value = replace(*value)),
        Values::Fill(fill) => {
            fill.constant = replace(fill.constant);
            fill.except.iter_mut().for_each(|(_, value)| *value = replace(*value));
        }
    }
    tensor
}
