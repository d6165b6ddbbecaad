//! Which registers can become addresses. A number that wrapped, or does not fit its type, is only reported as an address: elsewhere it
//! is meant, as in a hash, or where the bits of a float are made. So nobody looks for such numbers where none can become an address.

use super::{CARRY, Inst, Kernel, Op, Register};
use crate::isa::ArithmeticCheck;

impl Kernel {
    /// Drops the arithmetic checks of numbers that cannot become addresses.
    pub fn drop_checks_without_effect(&mut self) {
        // Calls and matrices move registers in other ways than by an instruction's operands.
        if !self.functions.is_empty() || !self.lists.is_empty() || !self.matrices.is_empty() {
            return;
        }
        let becomes_address = self.becomes_address();
        for inst in &mut self.code {
            if !becomes_address[inst.d as usize] && marks_numbers(inst.arithmetic_check) {
                inst.arithmetic_check = ArithmeticCheck::Nothing;
            }
        }
    }

    /// For each register, whether an address may be computed from it.
    fn becomes_address(&self) -> Vec<bool> {
        let mut becomes = vec![false; self.registers];
        for &register in self.code.iter().flat_map(addresses) {
            becomes[register as usize] = true;
        }
        loop {
            let mut changes = false;
            for inst in self.code.iter().rev() {
                let carries = matches!(inst.op, Op::Carry(_));
                let mut results = [inst.d, inst.d2].into_iter().chain(carries.then_some(CARRY));
                if results.any(|register| becomes[register as usize]) {
                    for register in inst.args.into_iter().chain(carries.then_some(CARRY)) {
                        changes |= !std::mem::replace(&mut becomes[register as usize], true);
                    }
                }
            }
            if !changes {
                return becomes;
            }
        }
    }
}

/// The operands that are addresses.
fn addresses(inst: &Inst) -> &[Register] {
    match inst.op {
        Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } | Op::Align { .. } => &inst.args[..1],
        // One that is copied from, and one that is copied to.
        Op::CopyAsync { .. } => &inst.args[..2],
        _ => &[],
    }
}

/// Whether all that a check does is to mark numbers as wrong, or as right again.
fn marks_numbers(check: ArithmeticCheck) -> bool {
    match check {
        ArithmeticCheck::Product | ArithmeticCheck::Sum | ArithmeticCheck::Shift | ArithmeticCheck::Convert { .. } => {
            true
        }
        ArithmeticCheck::Extend | ArithmeticCheck::Bound => true,
        ArithmeticCheck::Nothing | ArithmeticCheck::Divisor(_) | ArithmeticCheck::Fused(_) => false,
    }
}
