//! Finds the branches that compilers put before a division of 64 bits: numbers of 32 bits are divided by the faster instruction.

use super::equivalent::PATTERNS;
use crate::isa::Two;
use crate::kernel::{Inst, Kernel, Op, Register, ZERO};
use crate::lanes::WARP;

/// The half of a number that the faster instruction ignores.
const HIGH: u64 = 0xffff_ffff_0000_0000;

/// Whether the branch at `at` jumps to a division of 32 bits if the high half of a number is zero, and to one of 64 bits otherwise.
pub fn bypasses_a_slow_division(kernel: &Kernel, at: usize) -> bool {
    let Op::If { to, negated: false, .. } = kernel.code[at].op else { return false };
    let divides = |from: usize, divide: fn(u64, u64) -> u64| {
        let block = kernel.code[from..].iter().skip(1).take_while(|inst| !ends_block(inst));
        block.into_iter().any(|inst| matches!(inst.op, Op::Two(function) if is(function, divide)))
    };
    tests_high_half(kernel, at)
        && divides(at, |a, b| a.checked_div(b).unwrap_or(u64::MAX))
        && divides(to as usize, |a, b| u64::from((a as u32).checked_div(b as u32).unwrap_or(u32::MAX)))
}

/// Whether the condition of the branch at `at` is `(x & HIGH) == 0`.
fn tests_high_half(kernel: &Kernel, at: usize) -> bool {
    let definition = |register: Register| kernel.code[..at].iter().rfind(|inst| inst.d == register);
    let two = |inst: &Inst, function: fn(u64, u64) -> u64| matches!(inst.op, Op::Two(own) if is(own, function));
    let Some(equal) = definition(kernel.code[at].args[0]) else { return false };
    let Some(masked) = definition(equal.args[0]) else { return false };
    two(equal, |a, b| u64::from(a == b))
        && equal.args[1] == ZERO
        && two(masked, |a, b| a & b)
        && kernel.constants.contains(&(masked.args[1], HIGH))
}

fn ends_block(inst: &Inst) -> bool {
    matches!(inst.op, Op::Goto(_) | Op::If { .. } | Op::Exit | Op::Return | Op::Trap(_))
}

/// Whether two functions agree on all pairs of [`PATTERNS`], apart from divisions by zero.
fn is(function: Two, other: fn(u64, u64) -> u64) -> bool {
    let mut results = [0; WARP];
    PATTERNS.iter().filter(|divisor| **divisor as u32 != 0).all(|&divisor| {
        function(&PATTERNS, &[divisor; WARP], &mut results);
        PATTERNS.iter().zip(results).all(|(pattern, result)| result == other(*pattern, divisor))
    })
}
