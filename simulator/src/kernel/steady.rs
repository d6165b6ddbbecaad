//! The instructions at a kernel's start whose results are the same in every warp of a launch: they read parameters and compute with
//! them. Warps that share registers run them once.

use super::{FRAME, Kernel, Op, Register, Special, ZERO};

impl Kernel {
    /// Where the instructions end that come first and are steady; 0 if there are none.
    pub fn find_steady(&self) -> usize {
        // A call saves registers, and restores them.
        let begins = matches!(self.code.first().map(|inst| inst.op), Some(Op::Enter { .. }));
        if !begins || !self.functions.is_empty() || !self.lists.is_empty() {
            return 0;
        }
        let mut writes = vec![0_u32; self.registers];
        let matrices = self.matrices.iter().flat_map(|matrix| &matrix.registers);
        let written = self.code.iter().flat_map(|inst| [&inst.d, &inst.d2]).chain(matrices);
        written.for_each(|&register| writes[register as usize] += 1);
        let mut steady = vec![false; self.registers];
        let constants = self.constants.iter().map(|(register, _)| *register);
        let filled = self.specials.iter().filter(|(_, special)| is_steady(*special)).map(|(register, _)| *register);
        constants.chain(filled).chain([ZERO]).for_each(|register| steady[register as usize] = true);
        let mut end = 1;
        for inst in &self.code[1..] {
            let sources = match inst.op {
                Op::Param { .. } | Op::One(_) => 1,
                Op::Two(_) => 2,
                Op::Three(_) => 3,
                Op::Four(_) => 4,
                _ => break,
            };
            let is_own = |register: Register| register > FRAME && writes[register as usize] == 1;
            let is_same = inst.args[..sources].iter().all(|&register| steady[register as usize]);
            if !is_own(inst.d) || !is_same || inst.arithmetic_check.acts() {
                break;
            }
            steady[inst.d as usize] = true;
            end += 1;
        }
        end
    }
}

/// True if it has one value in a whole launch.
fn is_steady(special: Special) -> bool {
    match special {
        Special::BlockSize(_) | Special::GridSize(_) | Special::Shared { .. } | Special::Fixed(_) => true,
        Special::Thread(_) | Special::Block(_) | Special::Lane | Special::Warp | Special::Grid => false,
        Special::Workspace { .. } | Special::LaneMask { .. } => false,
    }
}
