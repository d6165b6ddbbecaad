//! Finds infinite loops: a warp that returns to a state with all registers unchanged, and no effect of other threads in
//! between, will repeat forever. Other long loops let others run: they may wait for them.

use super::{Fragment, Machine, Pause, State, Stop, Warp, stop};
use crate::fault::Kind;
use crate::kernel::Inst;
use crate::lanes::Lanes;

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

#[derive(Debug)]
struct Snapshot {
    /// Where it jumped to, the lanes that did, and the effects of other threads until then.
    at: (usize, u32, u64),
    fragments: Vec<Fragment>,
    registers: Vec<Lanes>,
}

impl LoopDetector {
    /// Whether a warp that jumps back was in this state before. Snapshots become rarer, so that a cycle of any length is found
    /// (Brent, "An improved Monte Carlo factorization algorithm").
    fn repeats(&mut self, at: (usize, u32, u64), fragments: &[Fragment], registers: &[Lanes]) -> bool {
        self.count += 1;
        if self.count < FIRST {
            return false;
        }
        if self.count.is_power_of_two() {
            self.snapshot = Some(Snapshot { at, fragments: fragments.to_vec(), registers: registers.to_vec() });
            return false;
        }
        let same = |known: &Snapshot| known.at == at && known.fragments == fragments && known.registers == registers;
        self.snapshot.as_ref().is_some_and(same)
    }
}

/// What a jump back to `pc` leads to, the `count`-th in a row, if the lanes do not just go on.
pub fn jumped_back(
    warp: &mut Warp,
    machine: &mut Machine,
    inst: &Inst,
    pc: usize,
    mask: u32,
    count: u32,
) -> Result<Option<Pause>, Stop> {
    let registers = &warp.registers[..machine.kernel.registers];
    if machine.checks.loops && warp.loop_detector.repeats((pc, mask, machine.effects), &warp.fragments, registers) {
        let detail = "Infinite loop detected. The warp comes back to where it was".to_string();
        return Err(stop(Kind::Loop, inst, mask, detail));
    }
    Ok(match count {
        _ if machine.takes_turns && asks_again(machine, pc) => Some(Pause::Wait(State::Polls, pc)),
        ..=PATIENCE => None,
        _ if machine.takes_turns => {
            machine.progress += 1;
            Some(Pause::Wait(State::Polls, pc))
        }
        _ if warp.fragments.len() > 1 => Some(Pause::Yield(pc)),
        _ => None,
    })
}

/// Whether a jump back to `pc` is that of a loop that asks whether all blocks of the grid have arrived.
fn asks_again(machine: &mut Machine, pc: usize) -> bool {
    machine.grid_barrier.as_mut().is_some_and(|barrier| barrier.is_asked_again(pc))
}

/// Whether what a long loop reads stays as it is, because the warp runs alone until it ends, and asks for no news.
pub fn reads_alone(warp: &Warp, machine: &Machine, inst: &Inst) -> bool {
    warp.loop_detector.count >= FIRST && !machine.takes_turns && inst.strength.is_none()
}
