//! Calls of functions that are not inlined. A thread's calls that have not ended keep the registers that the function had before, so
//! that it may call itself.

use super::taint::Taint;
use super::{Machine, Stop, Warp, stop, write};
use crate::fault::Kind;
use crate::kernel::{FRAME, Inst, Op};
use crate::lanes::{Lanes, lanes};

/// A call of one thread that has not ended.
#[derive(Debug)]
pub struct OpenCall {
    function: usize,
    /// Where the thread goes on.
    back: usize,
    /// The frame of the function that called.
    frame: u64,
    saved: Vec<u64>,
}

/// How deep a thread's calls may be: more than its frames have room for, unless they are empty.
const DEEPEST: usize = 1 << 12;

/// A call at `pc`, or the return from one. Lanes may go different ways: this gives where the first one goes, and which lanes go
/// there with it.
pub fn transfer(warp: &mut Warp, machine: &Machine, inst: &Inst, pc: usize, mask: u32) -> Result<(usize, u32), Stop> {
    match inst.op {
        Op::Call { function, list } => call(warp, machine, inst, (function, list), pc, mask),
        _ => Ok(go_back(warp, machine, mask)),
    }
}

fn call(
    warp: &mut Warp,
    machine: &Machine,
    inst: &Inst,
    (function, list): (Option<u32>, u32),
    pc: usize,
    mask: u32,
) -> Result<(usize, u32), Stop> {
    let functions = &machine.kernel.functions;
    let targets = warp.registers[inst.args[0] as usize];
    let first = mask.trailing_zeros() as usize;
    let (number, called) = match function {
        Some(number) => (number as usize, mask),
        None => {
            let found = functions.iter().position(|function| function.address == targets[first]);
            let number = found.ok_or_else(|| {
                let detail = format!("Invalid program counter: no function is at 0x{:x}", targets[first]);
                stop(Kind::OutOfWindow, inst, 1 << first, detail)
            })?;
            (number, same(mask, |lane| targets[lane] == targets[first]))
        }
    };
    let callee = &functions[number];
    if let Some(what) = &callee.unsupported {
        return Err(stop(Kind::Unsupported, inst, called, format!("{} in {}", what, callee.name)));
    }
    if warp.calls[first].len() == DEEPEST {
        let detail = format!("Stack overflow: `{}` is called {DEEPEST} times", callee.name);
        return Err(stop(Kind::OutOfWindow, inst, called, detail));
    }
    let passed: Vec<Lanes> =
        machine.kernel.lists[list as usize].iter().map(|&at| warp.registers[at as usize]).collect();
    let grown = warp.registers[inst.args[1] as usize];
    for lane in lanes(called) {
        let frame = warp.registers[FRAME as usize][lane];
        let saved = callee.registers.clone().map(|register| warp.registers[register as usize][lane]).collect();
        warp.calls[lane].push(OpenCall { function: number, back: pc + 1, frame, saved });
        warp.registers[FRAME as usize][lane] = frame + grown[lane];
    }
    for (&formal, value) in callee.formals.iter().zip(&passed) {
        write(&mut warp.registers[formal as usize], value, called);
    }
    forget_taint(warp, callee.registers.clone(), called);
    Ok((callee.entry as usize, called))
}

fn go_back(warp: &mut Warp, machine: &Machine, mask: u32) -> (usize, u32) {
    let first = mask.trailing_zeros() as usize;
    let back = |lane: usize| warp.calls[lane].last().map(|call| (call.back, call.function));
    let Some((to, function)) = back(first) else { return (machine.kernel.code.len() - 1, mask) };
    let ended = same(mask, |lane| back(lane) == Some((to, function)));
    let registers = machine.kernel.functions[function].registers.clone();
    for lane in lanes(ended) {
        let Some(call) = warp.calls[lane].pop() else { continue };
        for (register, value) in registers.clone().zip(call.saved) {
            warp.registers[register as usize][lane] = value;
        }
        warp.registers[FRAME as usize][lane] = call.frame;
    }
    forget_taint(warp, registers, ended);
    (to, ended)
}

/// What is saved of registers is their values.
fn forget_taint(warp: &mut Warp, registers: std::ops::Range<u32>, mask: u32) {
    if warp.taints.any {
        registers.for_each(|register| warp.taints.set(register, mask, &Taint::default()));
    }
}

/// The lanes of `mask` for which something holds.
fn same(mask: u32, holds: impl Fn(usize) -> bool) -> u32 {
    lanes(mask).filter(|&lane| holds(lane)).map(|lane| 1 << lane).sum()
}
