//! Changes that provably do not affect what a kernel computes, by its code alone.

use super::Kind;
use crate::isa::{Space, Two};
use crate::kernel::{Inst, Kernel, Op, Register, ZERO};
use crate::lanes::WARP;

/// Whether the change is known to make no difference.
pub fn is(kernel: &Kernel, at: usize, kind: Kind) -> bool {
    let inst = &kernel.code[at];
    match (kind, inst.op) {
        // Both edges lead to the next instruction.
        (_, Op::If { to, .. }) if to as usize == at + 1 => true,
        // The general division is right for small numbers, too. Larger ones than 32 bits index more elements than fit the memory.
        (Kind::NeverTaken | Kind::Inverted, Op::If { .. }) => bypasses_a_slow_division(kernel, at),
        (Kind::Swapped, Op::Two(function)) => inst.args[0] == inst.args[1] || commutes(function),
        (Kind::AddendDropped, _) => is_zero(kernel, inst.args[2]),
        (Kind::BarrierDropped, _) => orders_nothing(kernel, at),
        _ => false,
    }
}

fn is_zero(kernel: &Kernel, register: Register) -> bool {
    register == ZERO || kernel.constants.contains(&(register, 0))
}

/// Bit patterns that tell functions of any type apart: zeros, ones, bounds, infinities, and numbers without a pattern. Each
/// float type has at most one NaN, because which of two NaNs results is unspecified.
const PATTERNS: [u64; 32] = [
    0,
    1,
    2,
    3,
    7,
    31,
    63,
    0x3c00,
    0x7bff,
    0x7fff,
    0x8000,
    0xfc00,
    0xffff,
    0x3f80_0000,
    0x7f80_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xbf80_0000,
    0xff7f_ffff,
    0xffff_fffe,
    0x4248_3c00,
    0x0102_0304,
    0x3ff0_0000_0000_0000,
    0x7ff0_0000_0000_0000,
    0x7ff8_0000_0000_0000,
    0x8000_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0xffef_ffff_ffff_ffff,
    0x0123_4567_89ab_cdef,
    0x4009_21fb_5444_2d18,
    0x5bd1_e995_7f4a_7c15,
    0xc2b2_ae3d_27d4_eb4f,
];

/// Whether a function commutes, tried on all pairs of [`PATTERNS`]. One that does not (a difference, a quotient, a shift, an
/// order) differs on most of them.
fn commutes(function: Two) -> bool {
    const { assert!(PATTERNS.len() == WARP) };
    let (mut one, mut other) = ([0; WARP], [0; WARP]);
    PATTERNS.iter().all(|&pattern| {
        function(&PATTERNS, &[pattern; WARP], &mut one);
        function(&[pattern; WARP], &PATTERNS, &mut other);
        one == other
    })
}

/// Whether the barrier at `at` orders nothing: no memory that is accessed before it can also be accessed after it, except by
/// reads on both sides.
fn orders_nothing(kernel: &Kernel, at: usize) -> bool {
    let count = kernel.code.len();
    let next: Vec<Vec<usize>> = (0..count).map(|from| following(kernel, from)).collect();
    let mut last = vec![Vec::new(); count];
    for (from, all) in next.iter().enumerate() {
        for &to in all {
            last[to].push(from);
        }
    }
    let accesses = |edges: &[Vec<usize>]| -> Vec<(Space, bool)> {
        reached(edges, at).filter_map(|at| access(kernel, kernel.code[at].op)).collect()
    };
    let (before, after) = (accesses(&last), accesses(&next));
    let meet = |a: Space, b: Space| a == b || a == Space::Generic || b == Space::Generic;
    before.iter().all(|(a, writes)| after.iter().all(|(b, also)| !meet(*a, *b) || !(*writes || *also)))
}

/// The successors of an instruction.
pub(super) fn following(kernel: &Kernel, at: usize) -> Vec<usize> {
    let mut to = match kernel.code[at].op {
        Op::Goto(to) => vec![to as usize],
        Op::If { to, .. } => vec![at + 1, to as usize],
        Op::Exit | Op::Return | Op::Trap(_) => Vec::new(),
        _ => vec![at + 1],
    };
    to.retain(|to| *to < kernel.code.len());
    to
}

/// The instructions reachable from `at` along `edges`; `at` itself only in a loop.
pub(super) fn reached(edges: &[Vec<usize>], at: usize) -> impl Iterator<Item = usize> {
    let mut seen = vec![false; edges.len()];
    let mut pending = edges[at].clone();
    while let Some(at) = pending.pop() {
        if !std::mem::replace(&mut seen[at], true) {
            pending.extend(&edges[at]);
        }
    }
    seen.into_iter().enumerate().filter_map(|(at, seen)| seen.then_some(at))
}

/// The space that an instruction accesses, if other threads of the block share it, and whether it writes.
fn access(kernel: &Kernel, what: Op) -> Option<(Space, bool)> {
    let (space, writes) = match what {
        Op::Load { space, .. } => (space, false),
        Op::Store { space, .. } | Op::Atomic { space, .. } => (space, true),
        Op::Matrix(number) => kernel.matrices[number as usize].what.access()?,
        _ => return None,
    };
    (!matches!(space, Space::Local | Space::Param)).then_some((space, writes))
}

/// The half of a number that the faster instruction ignores.
const HIGH: u64 = 0xffff_ffff_0000_0000;

/// Whether the branch at `at` jumps to a division of 32 bits if the high half of a number is zero, and to one of 64 bits otherwise.
fn bypasses_a_slow_division(kernel: &Kernel, at: usize) -> bool {
    let Op::If { to, negated: false, .. } = kernel.code[at].op else { return false };
    let divides = |from: usize, divide: fn(u64, u64) -> u64| {
        let block = kernel.code[from..].iter().skip(1).take_while(|inst| !ends_block(inst));
        block.into_iter().any(|inst| matches!(inst.op, Op::Two(function) if agrees(function, divide)))
    };
    tests_high_half(kernel, at)
        && divides(at, |a, b| a.checked_div(b).unwrap_or(u64::MAX))
        && divides(to as usize, |a, b| u64::from((a as u32).checked_div(b as u32).unwrap_or(u32::MAX)))
}

/// Whether the condition of the branch at `at` is `(x & HIGH) == 0`.
fn tests_high_half(kernel: &Kernel, at: usize) -> bool {
    let definition = |register: Register| kernel.code[..at].iter().rfind(|inst| inst.d == register);
    let two = |inst: &Inst, function: fn(u64, u64) -> u64| matches!(inst.op, Op::Two(own) if agrees(own, function));
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
fn agrees(function: Two, other: fn(u64, u64) -> u64) -> bool {
    let mut results = [0; WARP];
    PATTERNS.iter().filter(|divisor| **divisor as u32 != 0).all(|&divisor| {
        function(&PATTERNS, &[divisor; WARP], &mut results);
        PATTERNS.iter().zip(results).all(|(pattern, result)| result == other(*pattern, divisor))
    })
}
