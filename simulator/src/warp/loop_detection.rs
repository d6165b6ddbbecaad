//! Finds infinite loops: a warp that returns to a state with all registers unchanged, and no effect of other threads in
//! between, will repeat forever. Other long loops let others run: they may wait for them.

use super::access_checks::WarpAccess;
use super::{Fragment, Machine, Pause, State, Stop, Warp, stop};
use crate::fault::Kind;
use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::lanes::Lanes;
use crate::shadowed_buffer::UndefinedBytes;

/// How often a warp jumps back before it is checked: most legitimate loops end before.
const FIRST: u64 = 1 << 12;

/// How often a fragment may jump back before others get a turn.
const PATIENCE: u32 = 1 << 12;

/// Counts the backward jumps of a warp, and keeps its state at one of them.
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
    /// What a jump back to `pc` leads to, the `count`-th in a row, if the lanes do not just go on.
    pub(super) fn jumped_back(
        &mut self,
        machine: &mut Machine,
        inst: &Inst,
        pc: usize,
        mask: u32,
        count: u32,
    ) -> Result<Option<Pause>, Stop> {
        if machine.checks.loops && self.loops_forever(pc, mask, machine.effects) {
            let detail = "Infinite loop detected. The warp comes back to where it was".to_string();
            return Err(stop(Kind::Loop, inst, mask, detail));
        }
        Ok(match count {
            _ if machine.takes_turns && machine.asks_again(pc) => Some(Pause::Wait(State::Polls, pc)),
            ..=PATIENCE => None,
            _ if machine.takes_turns => {
                machine.progress += 1;
                Some(Pause::Wait(State::Polls, pc))
            }
            _ if self.fragments.len() > 1 => Some(Pause::Tired(pc)),
            _ => None,
        })
    }

    /// Whether what a long loop reads stays as it is, because the warp runs alone until it ends, and asks for no news.
    pub(super) fn reads_alone(&self, machine: &Machine, inst: &Inst) -> bool {
        self.loop_detector.count >= FIRST && !machine.takes_turns && !inst.strong
    }

    /// Whether a long loop only writes what is there already.
    pub(super) fn changes_nothing(
        &self,
        machine: &Machine,
        inst: &Inst,
        WarpAccess { space, bytes, at, mask }: WarpAccess,
        undefined: &UndefinedBytes,
    ) -> bool {
        let values = &self.registers[inst.args[1] as usize];
        matches!((inst.op, space), (Op::Store { .. }, Space::Global))
            && self.reads_alone(machine, inst)
            && machine.memory.holds_already(bytes, at, mask, values, undefined)
    }

    /// Whether the warp, which jumps back to `pc`, was in this state before. Snapshots become rarer, so that a cycle of any
    /// length is found (Brent, "An improved Monte Carlo factorization algorithm").
    fn loops_forever(&mut self, pc: usize, mask: u32, effects: u64) -> bool {
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
