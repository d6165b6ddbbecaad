//! Ops `state.…`: calls that show state which outlives them.

pub(super) mod backward_again;
pub(super) mod detach;
pub(super) mod device;
pub(super) mod diamond;
pub(super) mod dropped;
pub(super) mod own_storage;
pub(super) mod own_transpose;
pub(super) mod parameters;
pub(super) mod synchronize;
pub(super) mod threads;
pub(super) mod trained_layer;
pub(super) mod twice;
pub(super) mod var_set;

use super::Op;

/// Every op of this family, by name.
pub(super) const OPS: &[&Op] = &[
    &backward_again::BACKWARD_AGAIN,
    &detach::DETACH,
    &device::DEVICE,
    &diamond::DIAMOND,
    &dropped::DROPPED,
    &own_storage::OWN_STORAGE,
    &own_transpose::OWN_TRANSPOSE,
    &parameters::PARAMETERS,
    &synchronize::SYNCHRONIZE,
    &threads::THREADS,
    &trained_layer::TRAINED_LAYER,
    &twice::TWICE,
    &var_set::VAR_SET,
];
