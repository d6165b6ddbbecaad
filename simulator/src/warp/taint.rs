//! The taint of registers: bits that were never written, and numbers that arithmetic made wrong. Taint follows the values
//! through a warp and is reported if it decides something: a branch, an address, a member mask.

mod undefined_bits;

use self::undefined_bits::undefined_bits;
use super::{Machine, Warp, stop};
use crate::fault::{Kind, Note};
use crate::isa::{Apart, ArithmeticCheck, TaintRule, Three};
use crate::kernel::{CARRY, Inst, Op, Register};
use crate::lanes::{Lanes, WARP, lanes};
use crate::shadowed_buffer::UndefinedBits;

/// The taint of a register, lane by lane.
#[derive(Debug, Clone, Copy, Default)]
pub struct Taint {
    /// The bits that were never written.
    pub undefined: UndefinedBits,
    /// How the number went wrong.
    pub wrong: [u8; WARP],
    /// The instruction that it comes from.
    pub origin: u32,
}

/// The taint of a warp's registers.
#[derive(Debug, Default)]
pub struct Taints {
    /// None until one is tainted.
    registers: Vec<Taint>,
    /// Whether a register may be tainted. No other one is.
    marked: Vec<bool>,
    /// Whether any register is tainted, or was.
    pub any: bool,
}

impl Taints {
    /// Makes room for so many registers, and clears all.
    pub fn track(&mut self, registers: usize) {
        self.reset();
        if self.marked.len() < registers {
            self.marked.resize(registers, false);
        }
    }

    /// Clears all.
    pub fn reset(&mut self) {
        if self.any {
            let all = self.registers.iter_mut().zip(&mut self.marked);
            all.filter(|(_, marked)| **marked)
                .for_each(|(taint, marked)| (*taint, *marked) = (Taint::default(), false));
            self.any = false;
        }
    }

    /// Whether a register may be tainted.
    fn may_have(&self, register: Register) -> bool {
        self.any && self.marked[register as usize]
    }

    /// The taint of a register.
    pub fn of(&self, register: Register) -> Taint {
        if self.may_have(register) { self.registers[register as usize] } else { Taint::default() }
    }

    /// Sets the taint of a register's lanes.
    pub fn set(&mut self, register: Register, mask: u32, new: &Taint) {
        if self.registers.len() < self.marked.len() {
            self.registers.resize(self.marked.len(), Taint::default());
        }
        self.any = true;
        self.marked[register as usize] = true;
        let old = &mut self.registers[register as usize];
        for lane in lanes(mask) {
            (old.undefined[lane], old.wrong[lane]) = (new.undefined[lane], new.wrong[lane]);
        }
        old.origin = new.origin;
    }

    /// Clears the taint of a register's lanes.
    pub fn clear(&mut self, register: Register, mask: u32) {
        if self.may_have(register) {
            let origin = self.registers[register as usize].origin;
            self.set(register, mask, &Taint { origin, ..Taint::default() });
        }
    }
}

/// Converted from NaN.
const FROM_NAN: u8 = 1;
/// Converted from a number out of range.
const FROM_BEYOND: u8 = 2;
/// Wrapped in 32 bits.
const WRAPPED: u8 = 4;
/// Wrapped in 32 bits if it is signed.
const WRAPPED_SIGNED: u8 = 8;

/// Propagates taint through an instruction that is about to run, and reports it if it decides something.
pub fn propagate(warp: &mut Warp, machine: &mut Machine, pc: usize, mask: u32) {
    let inst = &machine.kernel.code[pc];
    let check = if machine.checks.arithmetic { inst.arithmetic_check } else { ArithmeticCheck::Nothing };
    match inst.op {
        Op::One(_) | Op::Two(_) | Op::Three(_) | Op::Four(_) | Op::Carry(_) => {
            taint_result(warp, machine, Computes { inst, pc: pc as u32, mask, check });
        }
        Op::Print | Op::ActiveMask | Op::Clock => warp.taints.clear(inst.d, mask),
        Op::Param { .. } => {
            report_undefined(warp, machine, inst, inst.args[0], mask, "is used as an address");
            warp.taints.clear(inst.d, mask);
        }
        Op::If { .. } => report_undefined(warp, machine, inst, inst.args[0], mask, "decides a branch"),
        Op::Load { .. } | Op::Store { .. } | Op::Atomic { .. } | Op::Align { .. } => {
            check_address(warp, machine, inst, mask);
        }
        Op::CopyAsync { .. } => {
            for arg in &inst.args[..2] {
                report_undefined(warp, machine, inst, *arg, mask, "is used as an address");
            }
        }
        Op::Shuffle(_) => {
            for arg in &inst.args[1..] {
                report_undefined(warp, machine, inst, *arg, mask, "decides what a shuffle reads");
            }
        }
        Op::Gather(_) => report_undefined(warp, machine, inst, inst.args[1], mask, "is used as a member mask"),
        Op::WarpBarrier => report_undefined(warp, machine, inst, inst.args[0], mask, "is used as a member mask"),
        _ => {}
    }
}

/// An instruction that computes from registers, and is about to do so.
#[derive(Clone, Copy)]
struct Computes<'a> {
    inst: &'a Inst,
    pc: u32,
    mask: u32,
    check: ArithmeticCheck,
}

fn taint_result(warp: &mut Warp, machine: &mut Machine, computes: Computes) {
    let inst = computes.inst;
    let mut concerned = inst.args[..computes.inst.op.sources()].iter().chain([&inst.d]);
    let stays = !matches!(inst.op, Op::Carry(_)) && !concerned.any(|&register| warp.taints.may_have(register));
    if !stays || may_be_wrong(warp, inst, computes.check) {
        new_taint(warp, machine, computes);
    }
}

/// Sets the taint of a result.
#[inline(never)]
fn new_taint(warp: &mut Warp, machine: &mut Machine, computes: Computes) {
    let Computes { inst, pc, mask, check } = computes;
    let (args, sources) = (inst.args.map(|arg| arg as usize), computes.inst.op.sources());
    let mut new = Taint { origin: pc, ..Taint::default() };
    if warp.taints.any {
        let taints = args.map(|arg| &warp.taints.registers[arg]);
        let values = args.map(|arg| &warp.registers[arg]);
        new.undefined = undefined_bits(inst, [0, 1, 2, 3].map(|at| (values[at], &taints[at].undefined)), sources);
        new.wrong = wrongs(inst.taint_rule, taints, &warp.registers[args[2]], sources);
        if let Some(taint) =
            taints[..sources].iter().find(|taint| taint.undefined != [0; WARP] || taint.wrong != [0; WARP])
        {
            new.origin = taint.origin;
        }
    }
    if !matches!(check, ArithmeticCheck::Nothing) {
        check_arithmetic(warp, machine, computes, &mut new);
    }
    if warp.taints.any || new.wrong != [0; WARP] {
        warp.taints.set(inst.d, mask, &new);
        if matches!(inst.op, Op::Carry(_)) {
            warp.taints.set(CARRY, mask, &new);
        }
    }
}

/// Whether an instruction's own arithmetic may be wrong in some lane, be it one that does not run. All lanes are tested at once.
fn may_be_wrong(warp: &Warp, inst: &Inst, check: ArithmeticCheck) -> bool {
    let [a, b, c] = [0, 1, 2].map(|arg| &warp.registers[inst.args[arg] as usize]);
    match check {
        ArithmeticCheck::Nothing | ArithmeticCheck::Extend | ArithmeticCheck::Bound => false,
        ArithmeticCheck::Divisor(bytes) => any_lane(|lane| is_zero(b[lane], bytes)),
        ArithmeticCheck::Convert { values, least, beyond } => {
            let values = values(a);
            any_lane(|lane| converted(values[lane], least, beyond) != 0)
        }
        ArithmeticCheck::Fused(apart) => {
            let Op::Three(fused) = inst.op else { return false };
            let [once, twice] = once_and_twice(fused, &apart, [a, b, c]);
            any_lane(|lane| differ_in_class(once[lane], twice[lane]))
        }
        // A number that wraps only as an unsigned one is right as a signed one.
        ArithmeticCheck::Product => any_lane(|lane| product_wraps(a[lane] as u32, b[lane] as u32, c[lane] as u32).0),
        ArithmeticCheck::Sum => any_lane(|lane| sum_wraps(a[lane] as u32, b[lane] as u32).0),
        ArithmeticCheck::Shift => any_lane(|lane| shift_wraps(a[lane] as u32, b[lane] as u32).0),
    }
}

/// Looks for mistakes in an instruction's own arithmetic.
fn check_arithmetic(warp: &Warp, machine: &mut Machine, computes: Computes, new: &mut Taint) {
    let Computes { inst, pc, mask, check } = computes;
    let [a, b, c] = [0, 1, 2].map(|arg| &warp.registers[inst.args[arg] as usize]);
    let before = new.wrong;
    match check {
        ArithmeticCheck::Nothing => {}
        ArithmeticCheck::Divisor(bytes) => {
            if let Some(lane) = lanes(mask).find(|&lane| is_zero(b[lane], bytes)) {
                let found = stop(Kind::Arithmetic, inst, 1 << lane, "division of an integer by zero");
                machine.report(warp.number, found);
            }
        }
        ArithmeticCheck::Convert { values, least, beyond } => {
            let values = values(a);
            lanes(mask).for_each(|lane| new.wrong[lane] = converted(values[lane], least, beyond));
        }
        ArithmeticCheck::Fused(apart) => {
            let Op::Three(fused) = inst.op else { return };
            let [once, twice] = once_and_twice(fused, &apart, [a, b, c]);
            if let Some(lane) = lanes(mask).find(|&lane| differ_in_class(once[lane], twice[lane])) {
                let (once, twice) = (once[lane], twice[lane]);
                let what = format!("a sum fused with its product is {once:?}, but {twice:?} if the product is rounded");
                machine.report(warp.number, stop(Kind::Arithmetic, inst, 1 << lane, what));
            }
        }
        ArithmeticCheck::Product => {
            wraps(mask, &mut new.wrong, |lane| product_wraps(a[lane] as u32, b[lane] as u32, c[lane] as u32));
        }
        ArithmeticCheck::Sum => wraps(mask, &mut new.wrong, |lane| sum_wraps(a[lane] as u32, b[lane] as u32)),
        ArithmeticCheck::Shift => wraps(mask, &mut new.wrong, |lane| shift_wraps(a[lane] as u32, b[lane] as u32)),
        ArithmeticCheck::Extend => {
            for wrong in new.wrong.iter_mut().filter(|wrong| **wrong & WRAPPED_SIGNED != 0) {
                *wrong |= WRAPPED;
            }
        }
        ArithmeticCheck::Bound => new.wrong = [0; WARP],
    }
    if before == [0; WARP] && new.wrong != before {
        new.origin = pc;
    }
}

/// Reports an address that is undefined, or a wrong number.
pub fn check_address(warp: &Warp, machine: &mut Machine, inst: &Inst, mask: u32) {
    if warp.taints.any {
        report_undefined(warp, machine, inst, inst.args[0], mask, "is used as an address");
        report_wrong_address(warp, machine, inst, mask);
    }
}

/// Reports a register with undefined bits that decides something.
pub fn report_undefined(warp: &Warp, machine: &mut Machine, inst: &Inst, register: Register, mask: u32, how: &str) {
    let taint = warp.taints.of(register);
    let Some(lane) = lanes(mask).find(|&lane| taint.undefined[lane] != 0) else { return };
    let mut found = stop(Kind::Uninitialized, inst, 1 << lane, format!("Uninitialized value {how}"));
    if let Some((address, near)) = machine.origins.get(&taint.origin) {
        (found.address, found.near) = (Some(*address), Some(near.clone()));
    }
    found.notes.push(Note::ReadAt(machine.location(taint.origin)));
    machine.report(warp.number, found);
}

/// Reports a wrong number that is used as an address.
pub fn report_wrong_address(warp: &Warp, machine: &mut Machine, inst: &Inst, mask: u32) {
    let taint = warp.taints.of(inst.args[0]);
    let wrong = |lane: usize| taint.wrong[lane] & !WRAPPED_SIGNED;
    let Some(lane) = lanes(mask).find(|&lane| wrong(lane) != 0) else { return };
    let what = match wrong(lane) {
        wrong if wrong & FROM_NAN != 0 => "NaN converted to an integer",
        wrong if wrong & FROM_BEYOND != 0 => "a float out of range converted to an integer",
        _ => "index arithmetic that wrapped in 32 bits",
    };
    let mut found = stop(Kind::Arithmetic, inst, 1 << lane, format!("{what}, used as an address"));
    found.notes.push(Note::MadeAt(machine.location(taint.origin)));
    machine.report(warp.number, found);
}

/// How each lane of a result that wraps in 32 bits is wrong. `of` says whether it wraps as a signed and as an unsigned
/// number; only a later use shows which one it is.
fn wraps(mask: u32, wrong: &mut [u8; WARP], of: impl Fn(usize) -> (bool, bool)) {
    for (lane, wrong) in wrong.iter_mut().enumerate() {
        let (signed, unsigned) = of(lane);
        let new = if signed && unsigned { WRAPPED } else { u8::from(signed) * WRAPPED_SIGNED };
        *wrong |= new * (mask >> lane & 1) as u8;
    }
}

/// Whether it holds for any lane. None is passed over, so that all are looked at together.
fn any_lane(of: impl Fn(usize) -> bool) -> bool {
    (0..WARP).fold(false, |any, lane| any | of(lane))
}

/// The results of a fused product and sum, and those of the two apart.
fn once_and_twice(fused: Three, apart: &Apart, sources: [&Lanes; 3]) -> [[f64; WARP]; 2] {
    let mut once = [0; WARP];
    fused(sources[0], sources[1], sources[2], &mut once);
    [(apart.values)(&once), (apart.values)(&apart.results(sources))]
}

/// True if only one is NaN, only one is infinite, or their signs differ: then a root, a logarithm or a quotient differs, too.
fn differ_in_class(once: f64, twice: f64) -> bool {
    let class = |value: f64| {
        let bits = [value.is_nan(), value.is_infinite(), value > 0.0, value < 0.0].map(u8::from);
        bits[0] | bits[1] << 1 | bits[2] << 2 | bits[3] << 3
    };
    class(once) != class(twice)
}

/// Whether so many bytes are all zero.
fn is_zero(value: u64, bytes: u8) -> bool {
    value << (64 - 8 * u32::from(bytes)) == 0
}

fn product_wraps(a: u32, b: u32, c: u32) -> (bool, bool) {
    let signed = i64::from(a as i32) * i64::from(b as i32) + i64::from(c as i32);
    let unsigned = u64::from(a) * u64::from(b) + u64::from(c);
    (signed != i64::from(signed as i32), unsigned >> 32 != 0)
}

fn sum_wraps(a: u32, b: u32) -> (bool, bool) {
    let sum = a.wrapping_add(b);
    ((a ^ sum) & (b ^ sum) & 1 << 31 != 0, sum < a)
}

fn shift_wraps(a: u32, by: u32) -> (bool, bool) {
    let by = by.min(32);
    let signed = i64::from(a as i32) << by;
    (signed != i64::from(signed as i32), u64::from(a) << by >> 32 != 0)
}

/// How a float is wrong as an integer, which holds what is not less than `least` and less than `beyond`.
fn converted(x: f64, least: f64, beyond: f64) -> u8 {
    let is_beyond = u8::from(x.trunc() < least) | u8::from(x >= beyond);
    u8::from(x.is_nan()) * FROM_NAN + is_beyond * FROM_BEYOND
}

/// How each lane of a result is wrong because of its sources.
fn wrongs(how: TaintRule, taints: [&Taint; 4], choice: &Lanes, sources: usize) -> [u8; WARP] {
    std::array::from_fn(|lane| match how {
        TaintRule::Choose => taints[usize::from(choice[lane] & 1 == 0)].wrong[lane],
        _ => taints[..sources].iter().fold(0, |all, taint| all | taint.wrong[lane]),
    })
}
