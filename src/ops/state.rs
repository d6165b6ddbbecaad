//! Ops `state.…`: calls that show state which outlives them.

pub(super) mod state;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &state::BACKWARD_AGAIN,
    &state::DETACH,
    &state::DIAMOND,
    &state::DROPPED,
    &state::OWN_STORAGE,
    &state::OWN_TRANSPOSE,
    &state::THREADS,
    &state::TWICE,
    &state::VAR_SET,
];
