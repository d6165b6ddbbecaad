//! Infinities and NaN that an instruction makes of finite numbers: where those in a result come from.

use super::{Machine, Warp, stop};
use crate::fault::Kind;
use crate::isa::{FloatTypes, TaintRule};
use crate::kernel::Inst;
use crate::lanes::lanes;

/// Reports the first lane in which the instruction, which is about to run, makes one, or takes it from its own text: `logf` chooses
/// between its result and the infinity that is the logarithm of 0.
pub fn check(warp: &Warp, machine: &mut Machine, inst: &Inst, FloatTypes { from, to }: FloatTypes, mask: u32) {
    // The third source of a choice is a predicate.
    let sources = inst.op.sources() - usize::from(inst.taint_rule == TaintRule::Choose);
    let args = inst.args.map(|arg| arg as usize);
    let results = inst.op.computed(&args.map(|arg| warp.registers[arg]));
    let may_be_infinite = |arg: usize| machine.kernel.constants.iter().any(|(constant, _)| *constant as usize == arg);
    for lane in lanes(mask) {
        for (half, result) in to.numbers(results[lane]).into_iter().enumerate() {
            let number = |arg: usize| from.numbers(warp.registers[arg][lane])[half];
            let is_made_here = |&arg: &usize| number(arg).is_finite() || may_be_infinite(arg);
            if result.is_finite() || !args[..sources].iter().all(is_made_here) {
                continue;
            }
            let numbers: Vec<String> = args[..sources].iter().map(|&arg| from.shown(number(arg))).collect();
            let what = format!("{} is made of {}", to.shown(result), numbers.join(", "));
            return machine.report(warp.number, stop(Kind::NotFinite, inst, 1 << lane, what));
        }
    }
}
