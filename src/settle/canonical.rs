//! The canonical form of a failure, so that one cause becomes one finding.

use super::{op_of, promise};
use crate::case::Case;
use crate::examine::{Patience, violation};
use crate::exec::Executor;
use crate::investigate::failing_step;
use crate::oracle::Signature;
use crate::tensor::{DType, cast};

/// The plainest form of the same failure: a single call instead of a sequence if one step fails on its own, and `f32` instead
/// of reduced precision if the case fails there too. Otherwise one cause would be filed several times.
pub fn canonical(executor: &mut Executor, case: Case, signature: Signature) -> anyhow::Result<(Case, Signature)> {
    if let Some((call, violation)) = failing_step(executor, &case)? {
        let signature = violation.signature(&call.op);
        return canonical(executor, call, signature);
    }
    let op = op_of(&case)?;
    if !case.inputs.values().any(|tensor| tensor.dtype.is_reduced_precision()) {
        return Ok((case, signature));
    }
    let mut in_f32 = case.clone();
    for tensor in in_f32.inputs.values_mut().filter(|tensor| tensor.dtype.is_reduced_precision()) {
        *tensor = cast(tensor, DType::F32);
    }
    if !promise::keeps(&(op.contract)(&case), &(op.contract)(&in_f32)) {
        return Ok((case, signature));
    }
    let found = violation(executor, op, &in_f32, Patience::Full)?.map(|violation| violation.signature(op.name));
    let same = |other: &Signature| (&other.oracle, &other.kind) == (&signature.oracle, &signature.kind);
    Ok(match found.filter(same) {
        Some(found) => (in_f32, found),
        None => (case, signature),
    })
}
