//! The registers that a thread may read before it has written them, and that a launch therefore clears. A kernel has hundreds of
//! registers, and almost always none of these.

use super::{CARRY, Edge, Inst, Kernel, Op, Register};

/// Kernels whose registers times blocks are more than this are not analyzed.
const MOST: usize = 1 << 24;

impl Kernel {
    /// The registers that a launch must clear: perhaps more than a thread reads before it has written them, never fewer.
    pub fn find_unset(&self) -> Vec<Register> {
        let blocks: Vec<usize> = (0..self.code.len()).filter(|&at| begins_block(&self.code[at])).collect();
        // Calls save registers.
        let calls = !self.functions.is_empty() || !self.lists.is_empty();
        if calls || blocks.len().saturating_mul(self.registers) > MOST {
            return (0..self.registers as Register).collect();
        }
        let mut unset = self.live_at_start(&blocks);
        // A failed assertion tells what was compared on the way to it, whichever way that was. A shuffle reads from lanes that may have
        // gone another way. A vector of a matrix is in several registers.
        let compared = self.assertions.iter().flatten().flat_map(Edge::registers);
        let exchanged = self.code.iter().filter(|inst| matches!(inst.op, Op::Shuffle(_))).map(|inst| inst.args[0]);
        let of_matrices = self.matrices.iter().flat_map(|matrix| &matrix.registers).copied();
        compared.chain(exchanged).chain(of_matrices).for_each(|register| unset[register as usize] = true);
        (0..self.registers as Register).filter(|&register| unset[register as usize]).collect()
    }

    /// For each register, whether its value at the start may be read. `blocks` are the places where blocks begin.
    fn live_at_start(&self, blocks: &[usize]) -> Vec<bool> {
        // The registers that are live where each block begins, and behind the last.
        let mut live = vec![vec![false; self.registers]; blocks.len() + 1];
        loop {
            let mut changes = false;
            // Blocks come before those that follow them, except in loops.
            for block in (0..blocks.len()).rev() {
                let end = blocks.get(block + 1).copied().unwrap_or(self.code.len());
                let mut now = live[block + 1].clone();
                for inst in self.code[blocks[block]..end].iter().rev() {
                    match inst.op {
                        Op::Goto(_) | Op::Exit | Op::Trap(_) | Op::Assert => now.fill(false),
                        _ => written(inst).for_each(|register| now[register as usize] = false),
                    }
                    if let Op::Goto(to) | Op::If { to, .. } = inst.op {
                        let there = &live[blocks.partition_point(|&begin| begin < to as usize)];
                        now.iter_mut().zip(there).for_each(|(now, there)| *now |= there);
                    }
                    read(inst).for_each(|register| now[register as usize] = true);
                }
                changes |= now != live[block];
                live[block] = now;
            }
            if !changes {
                return live.swap_remove(0);
            }
        }
    }
}

fn begins_block(inst: &Inst) -> bool {
    matches!(inst.op, Op::Enter { .. })
}

/// The registers that an instruction reads; [`ZERO`](super::ZERO) for operands that it does not have.
fn read(inst: &Inst) -> impl Iterator<Item = Register> {
    let carry = matches!(inst.op, Op::Carry(_)).then_some(CARRY);
    inst.args.into_iter().chain(carry)
}

/// The registers that an instruction surely writes, in all lanes that execute it.
fn written(inst: &Inst) -> impl Iterator<Item = Register> {
    let (first, second) = match inst.op {
        Op::One(_) | Op::Two(_) | Op::Three(_) | Op::Four(_) | Op::Param { .. } => (Some(inst.d), None),
        Op::Load { .. } | Op::Atomic { .. } | Op::ActiveMask | Op::Clock => (Some(inst.d), None),
        Op::Carry(_) => (Some(inst.d), Some(CARRY)),
        Op::Shuffle(_) | Op::Gather(_) => (Some(inst.d), Some(inst.d2)),
        _ => (None, None),
    };
    first.into_iter().chain(second)
}
