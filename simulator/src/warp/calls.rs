//! Calls of functions that are not inlined. A thread's calls that have not ended keep the registers that the function had before, so
//! that it may call itself.

use super::taint::Taint;
use super::{Machine, Stop, Warp, stop, write};
use crate::fault::Kind;
use crate::kernel::{FRAME, Inst, Op};
use crate::lanes::{Lanes, WARP, lanes};

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

impl Warp {
    /// A call at `pc`, or the return from one. Lanes may go different ways: this gives where the first one goes, and which lanes go
    /// there with it.
    pub(super) fn transfer(
        &mut self,
        machine: &Machine,
        inst: &Inst,
        pc: usize,
        mask: u32,
    ) -> Result<(usize, u32), Stop> {
        match inst.op {
            Op::Call { function, list } => self.call(machine, inst, (function, list), pc, mask),
            _ => Ok(self.go_back(machine, mask)),
        }
    }

    fn call(
        &mut self,
        machine: &Machine,
        inst: &Inst,
        (function, list): (Option<u32>, u32),
        pc: usize,
        mask: u32,
    ) -> Result<(usize, u32), Stop> {
        let functions = &machine.kernel.functions;
        let targets = self.registers[inst.args[0] as usize];
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
        if self.calls[first].len() == DEEPEST {
            let detail = format!("Stack overflow: `{}` is called {DEEPEST} times", callee.name);
            return Err(stop(Kind::OutOfWindow, inst, called, detail));
        }
        let passed: Vec<Lanes> =
            machine.kernel.lists[list as usize].iter().map(|&at| self.registers[at as usize]).collect();
        let grown = self.registers[inst.args[1] as usize];
        for lane in lanes(called) {
            let frame = self.registers[FRAME as usize][lane];
            let saved = callee.registers.clone().map(|register| self.registers[register as usize][lane]).collect();
            self.calls[lane].push(OpenCall { function: number, back: pc + 1, frame, saved });
            self.registers[FRAME as usize][lane] = frame + grown[lane];
        }
        for (&formal, value) in callee.formals.iter().zip(&passed) {
            write(&mut self.registers[formal as usize], value, called);
        }
        self.forget_taint(callee.registers.clone(), called);
        Ok((callee.entry as usize, called))
    }

    fn go_back(&mut self, machine: &Machine, mask: u32) -> (usize, u32) {
        let first = mask.trailing_zeros() as usize;
        let back = |lane: usize| self.calls[lane].last().map(|call| (call.back, call.function));
        let Some((to, function)) = back(first) else { return (machine.kernel.code.len() - 1, mask) };
        let ended = same(mask, |lane| back(lane) == Some((to, function)));
        let registers = machine.kernel.functions[function].registers.clone();
        for lane in lanes(ended) {
            let Some(call) = self.calls[lane].pop() else { continue };
            for (register, value) in registers.clone().zip(call.saved) {
                self.registers[register as usize][lane] = value;
            }
            self.registers[FRAME as usize][lane] = call.frame;
        }
        self.forget_taint(registers, ended);
        (to, ended)
    }

    /// What is saved of registers is their values.
    fn forget_taint(&mut self, registers: std::ops::Range<u32>, mask: u32) {
        if self.tainted {
            registers.for_each(|register| self.taint(register, mask, &Taint::default()));
        }
    }

    /// `malloc`: each lane gets memory of its own, or null. `free` gives it back.
    pub(super) fn heap(&mut self, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
        let operands = self.registers[inst.args[0] as usize];
        let mut addresses = [0; WARP];
        for lane in lanes(mask) {
            if let Op::Allocate = inst.op {
                addresses[lane] = machine.memory.allocate(operands[lane]).unwrap_or(0);
            } else if operands[lane] != 0 {
                machine
                    .memory
                    .free(operands[lane])
                    .map_err(|error| stop(error.kind, inst, 1 << lane, "Invalid free by a kernel").at(error))?;
            }
        }
        write(&mut self.registers[inst.d as usize], &addresses, mask);
        self.clear_taint(inst.d, mask);
        machine.effects += 1;
        Ok(())
    }
}

/// The lanes of `mask` for which something holds.
fn same(mask: u32, holds: impl Fn(usize) -> bool) -> u32 {
    lanes(mask).filter(|&lane| holds(lane)).map(|lane| 1 << lane).sum()
}
