//! The block's sixteen barriers (PTX ISA 9.7.13.1): who arrives, when one completes, and what the waiting threads then learn.
//! Reports threads of one warp that wait at different ones, or forever, with every place where threads wait.

use std::collections::BTreeMap;

use super::machine::BARRIERS;
use super::taint::Taint;
use super::{Fragment, Machine, State, Stop, Warp, stop, write};
use crate::fault::{Fault, Kind, Note, Whom};
use crate::isa::{BlockBarrier, Reduction};
use crate::kernel::{Inst, Op, ZERO};
use crate::lanes::{WARP, lanes, mask_of};
use crate::race::Moment;

/// Lanes of `mask` arrive at a barrier. They wait there in the state that this returns, or go on.
pub fn arrive(
    warp: &mut Warp,
    machine: &mut Machine,
    barrier: BlockBarrier,
    inst: &Inst,
    mask: u32,
) -> Result<Option<State>, Stop> {
    let lane = mask.trailing_zeros() as usize;
    let [number, threads, ..] = inst.args.map(|arg| warp.registers[arg as usize][lane] as u32);
    let all = threads == 0 && barrier.waits;
    if number as usize >= BARRIERS || !all && (threads == 0 || !(threads as usize).is_multiple_of(WARP)) {
        let detail = "Barrier error detected. Invalid arguments".to_string();
        let notes = vec![format!(
            "barrier {number} for {threads} threads: there are {BARRIERS} barriers, and a count is a multiple of {WARP}"
        )
        .into()];
        return Err(Stop { notes, ..stop(Kind::Barrier, inst, mask, detail) });
    }
    if let Some(barrier) = &mut machine.grid_barrier {
        barrier.leave();
    }
    if barrier.waits {
        return Ok(Some(State::Barrier(number as u8)));
    }
    machine.block.arrived[number as usize] += counted(warp, mask);
    let now = warp.moment(machine);
    if let Some(order) = &mut machine.order {
        lanes(mask).for_each(|lane| order.arrive(warp.thread(machine.block.number, lane), number as usize, now));
    }
    Ok(None)
}

/// How many threads arrive with the lanes of `mask`. Warps arrive as a whole.
fn counted(warp: &Warp, mask: u32) -> u32 {
    if mask == warp.live { WARP as u32 } else { mask.count_ones() }
}

fn waiting_at(warp: &Warp, number: usize) -> impl Iterator<Item = &Fragment> {
    warp.fragments.iter().filter(move |fragment| fragment.state == State::Barrier(number as u8))
}

fn mask_at(warp: &Warp, number: usize) -> u32 {
    waiting_at(warp, number).fold(0, |all, fragment| all | fragment.mask)
}

/// Lets the threads go on that wait at barrier `number`. Those that learn something of the others get `answers`, by
/// [`Reduction`].
fn release(warp: &mut Warp, machine: &Machine, number: usize, answers: [u64; 3], taint: &Taint) {
    for index in 0..warp.fragments.len() {
        let Fragment { pc, mask, state } = warp.fragments[index];
        if state != State::Barrier(number as u8) {
            continue;
        }
        let inst = &machine.kernel.code[pc];
        if let Op::Barrier(BlockBarrier { reduction: Some(reduction), .. }) = inst.op {
            write(&mut warp.registers[inst.d as usize], &[answers[reduction as usize]; WARP], mask);
            if warp.taints.any || taint.undefined != [0; WARP] {
                warp.taints.set(inst.d, mask, taint);
            }
        }
        warp.fragments[index] = Fragment { pc: pc + 1, mask, state: State::Ready };
    }
}

/// Reports if some threads of this warp wait for the block, and others elsewhere: all threads of a warp must reach an
/// aligned barrier together (PTX ISA 9.7.13.1).
pub fn report_divergence(warp: &Warp, machine: &mut Machine) {
    if let Some(found) = diverged(warp, machine) {
        machine.report(warp.number, found);
    }
}

fn diverged(warp: &Warp, machine: &Machine) -> Option<Stop> {
    let waits = |fragment: &&Fragment| matches!(fragment.state, State::Barrier(_));
    let aligned = |fragment: &Fragment| {
        matches!(machine.kernel.code[fragment.pc].op, Op::Barrier(BlockBarrier { aligned: true, .. }))
    };
    let mut waiting = warp.fragments.iter().filter(waits);
    // Who asks again may come.
    if warp.polls() || warp.fragments.len() < 2 || !waiting.any(aligned) {
        return None;
    }
    let first = warp.fragments.iter().filter(waits).min_by_key(|fragment| fragment.pc)?;
    Some(Stop {
        kind: Kind::Barrier,
        lane: first.mask.trailing_zeros() as usize,
        source: machine.kernel.code[first.pc].source,
        address: None,
        detail: "Barrier error detected. Divergent thread(s) in warp".into(),
        near: None,
        notes: waiting_places([warp], machine),
    })
}

/// Lets threads go on where enough have arrived; `false` if that is nowhere. Threads that have ended are not waited for.
pub fn complete(warps: &mut [Warp], machine: &mut Machine) -> bool {
    let mut any = false;
    for number in 0..BARRIERS {
        let Some((warp, fragment)) = warps.iter().find_map(|warp| Some((warp, waiting_at(warp, number).next()?)))
        else {
            continue;
        };
        let inst = &machine.kernel.code[fragment.pc];
        let needed = warp.registers[inst.args[1] as usize][fragment.mask.trailing_zeros() as usize] as u32;
        let masks = || warps.iter().map(|warp| (warp, mask_at(warp, number)));
        let enough = match needed {
            0 => masks().all(|(warp, mask)| mask == warp.live),
            _ => {
                let waiting =
                    masks().filter(|(_, mask)| *mask != 0).map(|(warp, mask)| counted(warp, mask)).sum::<u32>();
                machine.block.arrived[number] + waiting >= needed
            }
        };
        if enough {
            report_early_exits(warps, machine, number);
            order(warps, machine, number);
            let (answers, taint) = reduced(warps, machine, number);
            for warp in &mut *warps {
                release(warp, machine, number, answers, &taint);
            }
            machine.block.arrived[number] = 0;
            any = true;
        }
    }
    any
}

/// Orders what those have done who meet at barrier `number`. If all threads of the block do, a new phase begins.
fn order(warps: &[Warp], machine: &mut Machine, number: usize) {
    let block = machine.block.number;
    let all = warps.iter().all(|warp| mask_at(warp, number) == warp.live);
    let Some(order) = machine.order.as_mut().filter(|_| !all || machine.block.arrived[number] > 0) else {
        machine.block.phase += 1;
        if let Some(order) = &mut machine.order {
            order.meet(block);
        }
        return;
    };
    let phase = machine.block.phase;
    let moment = |warp: &Warp| Moment { phase, step: warp.step, time: 0 };
    let of_warp = |warp: &Warp| {
        let moment = moment(warp);
        lanes(mask_at(warp, number)).map(|lane| (warp.thread(block, lane), moment)).collect::<Vec<_>>()
    };
    let threads: Vec<_> = warps.iter().flat_map(of_warp).collect();
    order.meet_some(&threads, Some(number));
}

/// Reports threads that have ended before a barrier of all threads.
fn report_early_exits(warps: &[Warp], machine: &mut Machine, number: usize) {
    let ended: u32 = warps.iter().map(|warp| (warp.threads & !warp.live).count_ones()).sum();
    let Some((warp, fragment)) = warps.iter().find_map(|warp| Some((warp, waiting_at(warp, number).next()?))) else {
        return;
    };
    let inst = machine.kernel.code[fragment.pc];
    if !machine.checks.early_exits || ended == 0 || inst.args[1] != ZERO {
        return;
    }
    let mut found = stop(Kind::Barrier, &inst, fragment.mask, "Barrier error detected. Divergent thread(s) in block");
    found.notes = waiting_places(warps, machine);
    let (plural, have) = if ended == 1 { ("", "has") } else { ("s", "have") };
    found.notes.push(format!("{ended} thread{plural} of the block {have} ended").into());
    machine.report(warp.number, found);
}

/// What the threads that wait at a barrier learn of each other's predicates, by [`Reduction`], and whether that is undefined.
fn reduced(warps: &[Warp], machine: &Machine, number: usize) -> ([u64; 3], Taint) {
    let (mut holds, mut fails, mut taint) = (0, 0, Taint::default());
    for warp in warps {
        for fragment in waiting_at(warp, number) {
            let inst = &machine.kernel.code[fragment.pc];
            if let Op::Barrier(BlockBarrier { reduction: Some(_), .. }) = inst.op {
                let held = (mask_of(&warp.registers[inst.args[2] as usize]) & fragment.mask).count_ones();
                (holds, fails) = (holds + held, fails + fragment.mask.count_ones() - held);
                let its = warp.taints.of(inst.args[2]);
                if lanes(fragment.mask).any(|lane| its.undefined[lane] != 0) {
                    taint = Taint { undefined: [u64::MAX; WARP], origin: its.origin, ..taint };
                }
            }
        }
    }
    let mut answers = [0; 3];
    answers[Reduction::Count as usize] = u64::from(holds);
    answers[Reduction::All as usize] = u64::from(fails == 0);
    answers[Reduction::Any as usize] = u64::from(holds > 0);
    (answers, taint)
}

/// The fault of a block in which no thread can go on; `stuck` is the first warp that does not only wait for the block.
pub fn deadlock(stuck: &Warp, warps: &[Warp], machine: &Machine) -> Fault {
    let first = stuck.fragments.first();
    let stop = Stop {
        kind: Kind::Deadlock,
        lane: first.map_or(0, |fragment| fragment.mask.trailing_zeros() as usize),
        source: first.map(|fragment| machine.kernel.code[fragment.pc].source).unwrap_or_default(),
        address: None,
        detail: "Barrier error detected. No thread of the block can go on".into(),
        near: None,
        notes: waiting_places(warps, machine),
    };
    machine.fault(stuck.number, stop)
}

/// Each place where threads of `warps` wait, with how many.
fn waiting_places<'a>(warps: impl IntoIterator<Item = &'a Warp>, machine: &Machine) -> Vec<Note> {
    let mut threads: BTreeMap<usize, u32> = BTreeMap::new();
    for fragment in warps.into_iter().flat_map(|warp| &warp.fragments) {
        *threads.entry(fragment.pc).or_default() += fragment.mask.count_ones();
    }
    let note = |(pc, threads): (usize, u32)| {
        let whom = match machine.kernel.code[pc].op {
            Op::Barrier(_) => Whom::Block,
            Op::Shuffle(_) | Op::Gather(_) | Op::Matrix(_) | Op::WarpBarrier => Whom::Warp,
            _ if machine.grid_barrier.is_some() => Whom::Grid,
            _ => Whom::Warp,
        };
        Note::Waiting { threads, whom, at: machine.location(pc as u32) }
    };
    threads.into_iter().map(note).collect()
}
