//! Collective instructions of a warp: shuffles, votes, matrices and barriers, for which the lanes of a member mask meet.

use super::taint::Taint;
use super::{Machine, State, Stop, Warp, barrier, matrix, stop, write};
use crate::fault::Kind;
use crate::isa::{Choose, Gather};
use crate::kernel::{Inst, Op};
use crate::lanes::{WARP, lanes};

/// Executes a collective instruction, or returns how to wait for the lanes that are missing.
pub fn execute(warp: &mut Warp, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<Option<State>, Stop> {
    if let Op::Barrier(barrier) = inst.op {
        return barrier::arrive(warp, machine, barrier, inst, mask);
    }
    let [a, b, _, e] = inst.args.map(|arg| arg as usize);
    let (missing, state) = match inst.op {
        Op::Shuffle(_) => (missing(warp, inst, e, mask)? != 0, State::Lanes),
        Op::Gather(_) => (missing(warp, inst, b, mask)? != 0, State::Lanes),
        Op::WarpBarrier => (missing(warp, inst, a, mask)? != 0, State::Warp),
        _ => (lanes_are_missing(warp, inst, mask)?, State::Lanes),
    };
    if missing {
        return Ok(Some(state));
    }
    match inst.op {
        Op::Shuffle(choose) => {
            check_members(warp, machine, inst, e, mask);
            shuffle(warp, machine, choose, inst, mask);
        }
        Op::Gather(gather) => {
            check_members(warp, machine, inst, b, mask);
            self::gather(warp, gather, inst, mask);
        }
        Op::Matrix(number) => matrix::execute(warp, machine, inst, number)?,
        _ => {
            let met = release_members(warp, a, mask);
            order_lanes(warp, machine, a, mask, met);
        }
    }
    Ok(None)
}

fn shuffle(warp: &mut Warp, machine: &mut Machine, choose: Choose, inst: &Inst, mask: u32) {
    let [from, places, clamps, members] = inst.args.map(|arg| warp.registers[arg as usize]);
    let mut absent = None;
    let (mut value, mut inside) = (from, [0; WARP]);
    let (taint, mut new) = (warp.taints.of(inst.args[0]), warp.taints.of(inst.args[0]));
    for lane in lanes(mask) {
        let (source, valid) = choose.source(lane as u32, places[lane] as u32, clamps[lane] as u32);
        if members[lane] as u32 & mask & 1 << (source % 32) == 0 {
            absent = absent.or(Some((lane, source)));
        }
        value[lane] = from[source as usize % WARP] & 0xffff_ffff;
        inside[lane] = u64::from(valid);
        new.undefined[lane] = taint.undefined[source as usize % WARP];
        new.wrong[lane] = taint.wrong[source as usize % WARP];
    }
    if warp.taints.any {
        warp.taints.set(inst.d, mask, &new);
        warp.taints.clear(inst.d2, mask);
    }
    write(&mut warp.registers[inst.d as usize], &value, mask);
    write(&mut warp.registers[inst.d2 as usize], &inside, mask);
    if let Some((lane, source)) = absent {
        let detail = "Barrier error detected. Shuffle reads from an inactive lane".to_string();
        let found = stop(Kind::Barrier, inst, 1 << lane, detail);
        let notes = vec![
            format!("lane {source} does not take part: the value that lane {lane} gets from it is undefined").into(),
        ];
        machine.report(warp.number, Stop { notes, ..found });
    }
}

/// Reports two lanes that exchange with each other and pass different member masks.
fn check_members(warp: &Warp, machine: &mut Machine, inst: &Inst, members: usize, mask: u32) {
    let named = &warp.registers[members];
    if lanes(mask).all(|lane| named[lane] as u32 == named[mask.trailing_zeros() as usize] as u32) {
        return;
    }
    let differs = |lane: usize| {
        let members = named[lane] as u32;
        lanes(members & mask).find(|&other| named[other] as u32 != members).map(|other| (lane, other))
    };
    if let Some((lane, other)) = lanes(mask).find_map(differs) {
        let detail = "Barrier error detected. Lanes that meet name different members".to_string();
        let found = stop(Kind::Barrier, inst, 1 << lane, detail);
        let [own, its] = [lane, other].map(|lane| named[lane] as u32);
        let notes = vec![format!("lane {lane} names 0x{own:x}, and lane {other} in it names 0x{its:x}").into()];
        machine.report(warp.number, Stop { notes, ..found });
    }
}

fn gather(warp: &mut Warp, gather: Gather, inst: &Inst, mask: u32) {
    let [values, members] = [0, 1].map(|arg| warp.registers[inst.args[arg] as usize]);
    let (mut answers, mut holds) = ([0; WARP], [0; WARP]);
    for lane in lanes(mask) {
        let (answer, held) = gather(&values, members[lane] as u32 & mask, lane);
        (answers[lane], holds[lane]) = (answer, held.into());
    }
    write(&mut warp.registers[inst.d as usize], &answers, mask);
    write(&mut warp.registers[inst.d2 as usize], &holds, mask);
    if warp.taints.any {
        // If one value is undefined, so is the answer.
        let taint = warp.taints.of(inst.args[0]);
        let known = lanes(mask).all(|lane| taint.undefined[lane] == 0);
        let new = Taint { undefined: [if known { 0 } else { u64::MAX }; WARP], ..taint };
        warp.taints.set(inst.d, mask, &new);
        warp.taints.set(inst.d2, mask, &new);
    }
}

/// The living lanes of the member masks of `mask` that are missing: not in `mask`, nor, for a `bar.warp.sync`, waiting
/// at one.
fn missing(warp: &Warp, inst: &Inst, members: usize, mask: u32) -> Result<u32, Stop> {
    let mut needed = 0;
    for lane in lanes(mask) {
        let members = warp.registers[members][lane] as u32;
        if members >> lane & 1 == 0 {
            let detail = "Barrier error detected. Lane is not among the members that it names".to_string();
            let notes = vec![format!("lane {lane} names 0x{members:x}").into()];
            return Err(Stop { notes, ..stop(Kind::Barrier, inst, 1 << lane, detail) });
        }
        needed |= members;
    }
    let mut here = mask;
    if matches!(inst.op, Op::WarpBarrier) {
        let waiting = warp.fragments.iter().filter(|fragment| fragment.state == State::Warp);
        here |= waiting.fold(0, |all, fragment| all | fragment.mask);
    }
    Ok(needed & warp.live & !here)
}

/// Whether lanes of the warp are elsewhere. An aligned instruction needs all of them. If one has ended, the result is
/// undefined (PTX ISA 9.7.15.5). The ISA does not define it for a warp that is not full.
fn lanes_are_missing(warp: &Warp, inst: &Inst, mask: u32) -> Result<bool, Stop> {
    if warp.live != warp.threads {
        let detail = "Barrier error detected. Aligned instruction in a warp of which threads have ended".to_string();
        return Err(stop(Kind::Barrier, inst, mask, detail));
    }
    if warp.threads != u32::MAX {
        let detail = "an aligned instruction in a warp that is not full".to_string();
        return Err(stop(Kind::Unsupported, inst, mask, detail));
    }
    Ok(mask != u32::MAX)
}

/// Releases the members that wait at any `bar.warp.sync`, and returns all who meet.
fn release_members(warp: &mut Warp, members: usize, mask: u32) -> u32 {
    let members = lanes(mask).fold(0, |all, lane| all | warp.registers[members][lane] as u32);
    let mut met = mask;
    for fragment in &mut warp.fragments {
        if fragment.state == State::Warp && fragment.mask & members != 0 {
            fragment.state = State::Ready;
            fragment.pc += 1;
            met |= fragment.mask;
        }
    }
    met
}

/// Orders what lanes of `met` have done who meet at the barrier of `mask`, each with those that it names. If all do, a new step begins.
fn order_lanes(warp: &mut Warp, machine: &mut Machine, members: usize, mask: u32, met: u32) {
    let (now, block) = (warp.moment(machine), machine.block.number);
    let Some(order) = &mut machine.order else {
        warp.step += 1;
        return;
    };
    let mut rest = met;
    while rest & mask != 0 {
        let first = (rest & mask).trailing_zeros() as usize;
        let group = rest & (warp.registers[members][first] as u32 | 1 << first);
        rest &= !group;
        let threads: Vec<_> = lanes(group).map(|lane| (warp.thread(block, lane), now)).collect();
        if group == warp.live {
            order.share(&threads);
            warp.step += 1;
        } else {
            order.meet_some(&threads, None);
        }
    }
}
