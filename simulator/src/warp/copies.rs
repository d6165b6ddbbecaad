//! Copies to shared memory that a thread begins and later waits for. They end when it waits, as late as they may: what reads the
//! copy before that, or overwrites it, does not find what it expects (PTX ISA 9.7.9.25.3).

use super::taint::Taint;
use super::{Machine, Stop, Warp, access};
use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::lanes::{Lanes, WARP, lanes};

/// The copies that a warp's threads have begun.
#[derive(Debug, Default)]
pub struct Copies {
    begun: Vec<Copy>,
    /// How many groups each thread has.
    groups: [u32; WARP],
}

/// One element of a copy, for each lane.
#[derive(Debug)]
struct Copy {
    inst: Inst,
    pc: u32,
    /// The lanes for which it has not ended.
    mask: u32,
    /// The group that it belongs to.
    groups: [u32; WARP],
    bytes: u8,
    to: Lanes,
    values: Lanes,
    taint: Taint,
}

pub fn execute(warp: &mut Warp, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
    match inst.op {
        Op::CopyAsync { bytes } => begin_copy(warp, machine, inst, bytes, mask),
        Op::AwaitCopies { all } => {
            let but = warp.registers[inst.args[0] as usize];
            end(warp, machine, mask, Some(&but).filter(|_| !all))
        }
        _ => {
            // A group ends.
            lanes(mask).for_each(|lane| warp.copies.groups[lane] += 1);
            Ok(())
        }
    }
}

/// Begins a copy: reads the source.
fn begin_copy(warp: &mut Warp, machine: &mut Machine, inst: &Inst, bytes: u8, mask: u32) -> Result<(), Stop> {
    let lengths = warp.registers[inst.args[2] as usize];
    let fits = |element: &u8| lanes(mask).all(|lane| lengths[lane].is_multiple_of(u64::from(*element)));
    let element = [8.min(bytes), 4].into_iter().find(fits).unwrap_or(1);
    for at in (0..bytes).step_by(element.into()) {
        warp.registers[inst.d as usize] = [0; WARP];
        warp.taints.clear(inst.d, u32::MAX);
        let copied = lanes(mask).filter(|&lane| u64::from(at) < lengths[lane]).map(|lane| 1 << lane).sum();
        let op = Op::Load { space: Space::Global, bytes: element, signed: false };
        let load = Inst { op, args: [inst.args[1]; 4], offset: inst.offset.wrapping_add(at.into()), ..*inst };
        access::access(warp, machine, &load, copied)?;
        let to = warp.registers[inst.args[0] as usize].map(|to| to.wrapping_add(u64::from(at)));
        warp.copies.begun.push(Copy {
            inst: *inst,
            pc: machine.pc,
            mask,
            groups: warp.copies.groups,
            bytes: element,
            to,
            values: warp.registers[inst.d as usize],
            taint: warp.taints.of(inst.d),
        });
    }
    Ok(())
}

/// Ends the copies of all groups of the lanes but the last `but` of each, or without it all copies.
pub fn end(warp: &mut Warp, machine: &mut Machine, mask: u32, but: Option<&Lanes>) -> Result<(), Stop> {
    let mut begun = std::mem::take(&mut warp.copies.begun);
    let groups = warp.copies.groups;
    for copy in &mut begun {
        let is_due = |&lane: &usize| match but {
            Some(but) => u64::from(copy.groups[lane]).saturating_add(but[lane]) < u64::from(groups[lane]),
            None => true,
        };
        let due: u32 = lanes(copy.mask & mask).filter(is_due).map(|lane| 1 << lane).sum();
        if due != 0 {
            copy.mask &= !due;
            end_copy(warp, machine, copy, due)?;
        }
    }
    begun.retain(|copy| copy.mask != 0);
    warp.copies.begun = begun;
    Ok(())
}

fn end_copy(warp: &mut Warp, machine: &mut Machine, copy: &Copy, mask: u32) -> Result<(), Stop> {
    let (value, to) = (copy.inst.d, copy.inst.d2);
    (warp.registers[value as usize], warp.registers[to as usize]) = (copy.values, copy.to);
    if warp.taints.any {
        warp.taints.set(value, u32::MAX, &copy.taint);
    }
    let op = Op::Store { space: Space::Shared, bytes: copy.bytes };
    machine.pc = copy.pc;
    access::access(warp, machine, &Inst { op, args: [to, value, to, to], offset: 0, ..copy.inst }, mask)
}
