//! Infinities and NaN that an instruction makes of finite numbers: where those in a result come from.

use super::{Machine, Warp, stop};
use crate::fault::Kind;
use crate::isa::FloatTypes;
use crate::kernel::{Inst, Op};
use crate::lanes::lanes;

/// Reports the first lane in which the instruction, which is about to run, makes one.
pub fn check(warp: &Warp, machine: &mut Machine, inst: &Inst, FloatTypes { from, to }: FloatTypes, mask: u32) {
    let sources = match inst.op {
        Op::One(_) => 1,
        Op::Two(_) => 2,
        Op::Three(_) => 3,
        _ => 4,
    };
    let values = inst.args.map(|arg| warp.registers[arg as usize]);
    let results = inst.op.computed(&values);
    for lane in lanes(mask) {
        for (half, result) in to.numbers(results[lane]).into_iter().enumerate() {
            let numbers: Vec<f64> = values[..sources].iter().map(|value| from.numbers(value[lane])[half]).collect();
            if result.is_finite() || !numbers.iter().all(|number| number.is_finite()) {
                continue;
            }
            let numbers: Vec<String> = numbers.into_iter().map(|number| from.shown(number)).collect();
            let what = format!("{} is made of {}", to.shown(result), numbers.join(", "));
            return machine.report(warp.number, stop(Kind::NotFinite, inst, 1 << lane, what));
        }
    }
}
