//! The registry: every op, by family and name.

use super::{
    Op, attention, cache, canary, create, custom, encoding, layer, loss, op, optim, quantized, random, relation,
    rotary, sequence, state, tensor,
};

/// The families, and the two ops without one.
const FAMILIES: &[&[&Op]] = &[
    attention::OPS,
    cache::OPS,
    create::OPS,
    custom::OPS,
    encoding::OPS,
    layer::OPS,
    loss::OPS,
    op::OPS,
    optim::OPS,
    quantized::OPS,
    random::OPS,
    relation::OPS,
    rotary::OPS,
    state::OPS,
    tensor::OPS,
    &[&canary::CANARY, &sequence::SEQUENCE],
];

/// Every op, in the order in which `snuffer ops` lists them.
pub static ALL: &[&Op] = &joined::<{ count() }>();

const fn count() -> usize {
    let (mut count, mut family) = (0, 0);
    while family < FAMILIES.len() {
        count += FAMILIES[family].len();
        family += 1;
    }
    count
}

const fn joined<const N: usize>() -> [&'static Op; N] {
    // The last family is never empty: a worker of another candle may lack all ops of any other.
    let mut all = [FAMILIES[FAMILIES.len() - 1][0]; N];
    let (mut next, mut family) = (0, 0);
    while family < FAMILIES.len() {
        let mut place = 0;
        while place < FAMILIES[family].len() {
            all[next] = FAMILIES[family][place];
            next += 1;
            place += 1;
        }
        family += 1;
    }
    all
}
