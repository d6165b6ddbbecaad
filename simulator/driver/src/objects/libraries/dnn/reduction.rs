//! cuDNN's reductions: a number for all elements along some dimensions. They are computed in double precision.

use crate::objects::libraries::dnn::Reduction;
use crate::objects::libraries::dnn::tensor::{Tensor, buffer};
use simulator::{Device, Fault};

/// `c = alpha * reduced(a) + beta * c`; dimensions of size 1 in `c` are reduced. The places of extremes go to the address `indices`,
/// as 32-bit numbers in the order of `c`: each counts along the reduced dimensions only.
pub fn reduce(
    device: &mut Device,
    reduction: Reduction,
    [a, c]: [&Tensor; 2],
    indices: Option<u64>,
    factors: [f64; 2],
) -> Result<(), Fault> {
    let flags = a.undefined(device);
    let values = a.read::<f64>(device)?;
    let mut found = vec![None::<Found>; c.count()];
    let mut undefined = flags.as_ref().map(|_| vec![false; c.count()]);
    for (at, &x) in values.iter().enumerate() {
        let (to, place) = target(at, &a.dims, &c.dims);
        reduction.add(&mut found[to], x, place);
        if let (Some(undefined), Some(flags)) = (&mut undefined, &flags) {
            undefined[to] |= flags[at];
        }
    }
    let each = values.len() / c.count();
    let found: Vec<_> = found.into_iter().map(|found| found.expect("no dimension is empty")).collect();
    if let Some(address) = indices {
        let bytes = found.iter().flat_map(|found| (found.place as u32).to_le_bytes()).collect::<Vec<_>>();
        buffer(device, "indices", address, bytes.len() as u64)?.copy_from_slice(&bytes);
    }
    let values = found.iter().map(|found| reduction.finish(found.value, each)).collect();
    c.store(device, values, undefined, factors)
}

/// What was found so far: a sum or an extreme, and where.
#[derive(Debug, Clone, Copy)]
struct Found {
    value: f64,
    place: usize,
}

/// The element of the result that an element goes to, and its place among those that do.
fn target(mut at: usize, dims: &[usize], reduced: &[usize]) -> (usize, usize) {
    let ([mut to, mut place], [mut to_unit, mut place_unit]) = ([0; 2], [1; 2]);
    for (&dim, &kept) in dims.iter().zip(reduced).rev() {
        let index = at % dim;
        at /= dim;
        if kept == 1 {
            place += index * place_unit;
            place_unit *= dim;
        } else {
            to += index * to_unit;
            to_unit *= dim;
        }
    }
    (to, place)
}

impl Reduction {
    /// Takes another element.
    fn add(self, found: &mut Option<Found>, x: f64, place: usize) {
        let (x, is_product) = match self.operation {
            4 | 6 => (x.abs(), false),
            7 => (x * x, false),
            8 if x == 0.0 => (1.0, true),
            operation => (x, matches!(operation, 1 | 8)),
        };
        let Some(so_far) = found else {
            *found = Some(Found { value: x, place });
            return;
        };
        let (now, is_less) = (so_far.value, matches!(self.operation, 2));
        match self.operation {
            2..=4 => {
                let is_beyond = if is_less { x < now } else { x > now };
                let wins = if self.propagates_nan { x.is_nan() && !now.is_nan() } else { now.is_nan() };
                if is_beyond || wins {
                    *so_far = Found { value: x, place };
                }
            }
            _ if is_product => so_far.value = now * x,
            _ => so_far.value = now + x,
        }
    }

    /// The result of a number of elements.
    fn finish(self, value: f64, elements: usize) -> f64 {
        match self.operation {
            5 => value / elements as f64,
            7 => value.sqrt(),
            _ => value,
        }
    }
}
