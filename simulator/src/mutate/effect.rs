//! Shows whether a change ever had an effect: branch counters of the changed kernel count it.

use super::Kind;
use crate::isa::ArithmeticCheck;
use crate::kernel::{Inst, Kernel, Op};
use crate::lanes::Lanes;

/// The counter that shows an effect: an edge of a branch of the kernel with the change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effect {
    /// The branch, as coverage counts them.
    pub branch: u32,
    /// Whether the edge is the jump.
    pub jump: bool,
    /// Whether the kernel has this branch without the change, too.
    pub own: bool,
}

/// What shows the effect of a change of the instruction `at`. Other changes have one whenever they are executed.
pub(super) fn of(kernel: &Kernel, at: usize, kind: Kind) -> Option<Effect> {
    match (kind, kernel.code[at].op) {
        (Kind::NeverTaken, Op::If { branch, .. }) => Some(Effect { branch, jump: true, own: true }),
        (Kind::AlwaysTaken, Op::If { branch, .. }) => Some(Effect { branch, jump: false, own: true }),
        (Kind::Swapped | Kind::Incremented | Kind::AddendDropped, _) => {
            Some(Effect { branch: kernel.branches.len() as u32, jump: true, own: false })
        }
        _ => None,
    }
}

/// Runs `original` before the changed instruction `at`, and counts by a new branch whether both have the same result.
pub(super) fn compare(kernel: &mut Kernel, at: usize, original: Inst) {
    let (expected, differs) = (kernel.new_register(), kernel.new_register());
    let changed = kernel.code[at];
    let branch = kernel.branches.len() as u32;
    kernel.branches.push(original.source);
    let inserted = |op, args| Inst { source: original.source, args, ..Inst::new(op) };
    let comparison = Inst { d: differs, ..inserted(Op::Two(unequal), [expected, changed.d, 0, 0]) };
    // Both edges lead to what follows.
    let counter = inserted(Op::If { to: at as u32 + 4, negated: false, branch }, [differs, 0, 0, 0]);
    // It reads its operands before the changed instruction may overwrite them.
    kernel.code[at] = Inst { d: expected, arithmetic_check: ArithmeticCheck::Nothing, ..original };
    insert_after(kernel, at, &[changed, comparison, counter]);
}

fn unequal(a: &Lanes, b: &Lanes, out: &mut Lanes) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        *out = u64::from(a != b);
    }
}

/// Inserts instructions after `at`. Jumps to what followed still lead there; `inserted` has the places of afterwards.
pub(super) fn insert_after(kernel: &mut Kernel, at: usize, inserted: &[Inst]) {
    for inst in &mut kernel.code {
        if let Op::Goto(to) | Op::If { to, .. } = &mut inst.op
            && *to as usize > at
        {
            *to += inserted.len() as u32;
        }
    }
    let after = kernel.code.split_off(at + 1);
    kernel.code.extend(inserted);
    kernel.code.extend(after);
}
