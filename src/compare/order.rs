//! The order of cases: in each turn every op has at least one, and those that are nearest to a change come first and have more.

use std::collections::BTreeMap;

use super::reach::{Reach, weight};
use crate::generate::Mode;
use crate::hunt::Sample;
use crate::ops::Op;

/// The ops of a turn, each as often as it is drawn, with its place among its own.
#[derive(Debug)]
pub struct Order(Vec<Slot>);

#[derive(Debug, Clone, Copy)]
struct Slot {
    op: &'static Op,
    place: u64,
    weight: u64,
}

impl Order {
    /// The order of `ops`, each with the change that it is nearest to.
    pub fn new(ops: &[&'static Op], reaches: &BTreeMap<&'static str, Reach>) -> Self {
        let distance = |op: &Op| reaches.get(op.name).map_or(usize::MAX, |reach| reach.distance);
        let mut slots: Vec<Slot> = Vec::new();
        for &op in ops {
            let weight = weight(distance(op));
            slots.extend((0..weight).map(|place| Slot { op, place, weight }));
        }
        // The first cases of all ops before the second ones: a turn may not be finished.
        slots.sort_by_key(|slot| (distance(slot.op), slot.place));
        Self(slots)
    }

    /// The `index`-th case.
    pub fn sample(&self, seed: u64, index: u64) -> Sample {
        let (turns, length) = (index / self.0.len() as u64, self.0.len() as u64);
        let Slot { op, place, weight } = self.0[(index % length) as usize];
        Sample::nth(&[op], &Mode::ALL, seed, turns * weight + place)
    }
}
