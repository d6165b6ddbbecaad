//! Loops that cannot end: a warp that comes back to where it was, with every register as it was and nothing that other
//! threads could have done in between, will do so for ever.

use super::{Fragment, Warp};
use crate::lanes::Lanes;

/// How often a warp jumps back before it is looked at: legitimate loops mostly end before.
const FIRST: u64 = 1 << 12;

/// The backward jumps of a warp, and where it was at one of them.
#[derive(Debug, Default)]
pub struct LoopDetector {
    count: u64,
    snapshot: Option<Snapshot>,
}

#[derive(Debug, PartialEq)]
struct Snapshot {
    pc: usize,
    mask: u32,
    effects: u64,
    fragments: Vec<Fragment>,
    registers: Vec<Lanes>,
}

impl Warp {
    /// Whether the warp, which jumps back to `pc`, was in this state before. It is kept at ever rarer jumps, so that a
    /// cycle of any length is found (Brent, "An improved Monte Carlo factorization algorithm").
    pub(super) fn loops_forever(&mut self, pc: usize, mask: u32, effects: u64) -> bool {
        self.loop_detector.count += 1;
        let count = self.loop_detector.count;
        if count < FIRST {
            return false;
        }
        if count.is_power_of_two() {
            let (fragments, registers) = (self.fragments.clone(), self.registers.clone());
            self.loop_detector.snapshot = Some(Snapshot { pc, mask, effects, fragments, registers });
            return false;
        }
        self.loop_detector.snapshot.as_ref().is_some_and(|snapshot| {
            (snapshot.pc, snapshot.mask, snapshot.effects) == (pc, mask, effects)
                && snapshot.fragments == self.fragments
                && snapshot.registers == self.registers
        })
    }
}
