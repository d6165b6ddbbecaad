//! Loads and stores whose lanes access memory side by side, or vectors side by side, or load one value: almost all do, or are a few such
//! rows. They are checked and made at once if there is nothing to report. All others are left to the functions that look at each lane.

use super::accessor::{accessor, count, displaced};
use super::{Machine, Warp, extend, loop_detection, write};
use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::lanes::{Lanes, WARP};
use crate::row::Row;

/// The most rows that an access is cut into.
const MOST: usize = 4;

/// Lanes whose addresses are at equal distances.
#[derive(Clone, Copy, Default)]
struct Run {
    /// The address of the first lane.
    first: u64,
    step: usize,
    mask: u32,
}

/// Makes an access of this kind. False if it is none, or there may be something to report: then nothing has happened.
pub fn access(warp: &mut Warp, machine: &mut Machine, inst: &Inst, mask: u32) -> bool {
    let (space, bytes, signed, loads) = match inst.op {
        Op::Load { space, bytes, signed } => (space, bytes, signed, true),
        Op::Store { space, bytes } => (space, bytes, false, false),
        _ => return false,
    };
    let Some((runs, cuts)) = runs(&warp.registers[inst.args[0] as usize], bytes, mask) else { return false };
    let reads_alone = loop_detection::reads_alone(warp, machine, inst);
    let stores_one_by_one = !loads && (runs[0].step == 0 || reads_alone || is_undefined(warp, inst));
    if stores_one_by_one || machine.order.is_some() || machine.grid_barrier.is_some() {
        return false;
    }
    let (mut rows, mut holder) = ([Row::default(); MOST], None);
    for (row, run) in rows.iter_mut().zip(&runs[..cuts]) {
        let Some((number, placed)) = place(machine, space, run, bytes, inst.offset) else { return false };
        if *holder.get_or_insert(number) != number {
            return false;
        }
        *row = placed;
    }
    let rows = &rows[..cuts];
    // A byte that two lanes write is looked at lane by lane.
    let meets_another = |(number, row): (usize, &Row)| rows[..number].iter().any(|other| row.meets(other));
    if !loads && rows.iter().enumerate().any(meets_another) {
        return false;
    }
    let accessor = accessor(warp, machine, inst, space, None);
    let buffer = match (space, holder) {
        (Space::Global, Some(number)) => machine.memory.buffer(number, !loads),
        _ => &mut machine.block.shared,
    };
    if !buffer.accesses_rows(rows, !loads, accessor.as_ref()) {
        return false;
    }
    for row in rows {
        let bytes = &mut buffer.data[row.start..row.start + row.length()];
        if loads {
            load(bytes, row, signed, &mut warp.registers[inst.d as usize]);
        } else {
            store(bytes, row, &warp.registers[inst.args[1] as usize]);
        }
    }
    if loads {
        warp.taints.clear(inst.d, mask);
    }
    count(machine, inst, !loads || !machine.alone && !reads_alone);
    true
}

/// The lanes' addresses as one run, or as a few in which they lie side by side, and how many. `None` if they are neither.
fn runs(at: &Lanes, bytes: u8, mask: u32) -> Option<([Run; MOST], usize)> {
    let mut runs = [Run::default(); MOST];
    if mask == 0 {
        return None;
    }
    let (unit, first) = (u64::from(bytes), mask.trailing_zeros() as usize);
    // Lanes that are not side by side may only read one value.
    let is_full = mask >> first & (mask >> first).wrapping_add(1) == 0;
    let step = match mask.count_ones() {
        1 => unit,
        _ if is_full => at[first + 1].wrapping_sub(at[first]),
        _ => 0,
    };
    if [0, 2, 4].map(|times| times * unit).contains(&step) && is_run(at, step, mask) {
        runs[0] = Run { first: at[first], step: step as usize, mask };
        return Some((runs, 1));
    }
    let mut starts = mask & !(following(at, unit) & mask << 1);
    if starts.count_ones() as usize > MOST {
        return None;
    }
    let mut count = 0;
    while starts != 0 {
        let first = starts.trailing_zeros();
        starts &= starts - 1;
        // The lanes up to the next run, or to a gap.
        let lanes = ((mask & !starts) >> first).trailing_ones();
        runs[count] = Run { first: at[first as usize], step: bytes.into(), mask: u32::MAX >> (32 - lanes) << first };
        count += 1;
    }
    Some((runs, count))
}

/// Whether the lanes of `mask` are at this distance from one to the next.
fn is_run(at: &Lanes, step: u64, mask: u32) -> bool {
    let first = mask.trailing_zeros() as usize;
    let before = at[first].wrapping_sub(first as u64 * step);
    let mut differ = 0;
    for (lane, at) in at.iter().enumerate() {
        let counts = u64::from(mask >> lane & 1).wrapping_neg();
        differ |= (at ^ before.wrapping_add(lane as u64 * step)) & counts;
    }
    differ == 0
}

/// The lanes that are at this distance from the one before.
fn following(at: &Lanes, step: u64) -> u32 {
    let mut following = 0;
    for lane in 1..WARP {
        following |= u32::from(at[lane] == at[lane - 1].wrapping_add(step)) << lane;
    }
    following
}

/// Whether a store writes bytes that were never written themselves.
fn is_undefined(warp: &Warp, inst: &Inst) -> bool {
    warp.taints.any && warp.taints.of(inst.args[1]).undefined != [0; WARP]
}

/// The number of the allocation that holds a run, and the row that it is there; shared memory is one, too. `None` also if it is not
/// aligned, or in a thread's own memory.
fn place(machine: &Machine, space: Space, run: &Run, bytes: u8, offset: i64) -> Option<(usize, Row)> {
    let mut row = Row { start: 0, bytes: bytes.into(), step: run.step, mask: run.mask };
    let (address, length) = (displaced(space, run.first, offset), row.length());
    // Sizes are powers of two, and a division takes longer than all else here.
    let is_aligned = |at: u64| at & (u64::from(bytes) - 1) == 0;
    if !is_aligned(address) {
        return None;
    }
    let number;
    (number, row.start) = match space {
        Space::Global => machine.memory.find(address, length)?,
        Space::Shared => {
            // No lane's address wraps.
            let narrow = |address: u64| address.checked_add(length as u64).is_some_and(|end| end <= 1 << 32);
            let start = machine
                .kernel
                .shared_arrays
                .find(address, length as u32)
                .filter(|_| narrow(run.first) && narrow(address))?;
            let fits = start.checked_add(length).is_some_and(|end| end <= machine.block.shared.data.len());
            (0, fits.then_some(start)?)
        }
        _ => return None,
    };
    is_aligned(row.start as u64).then_some((number, row))
}

fn load(from: &[u8], row: &Row, signed: bool, d: &mut Lanes) {
    match row.bytes {
        1 => load_each::<1>(from, row, signed, d),
        2 => load_each::<2>(from, row, signed, d),
        4 => load_each::<4>(from, row, signed, d),
        _ => load_each::<8>(from, row, signed, d),
    }
}

fn load_each<const N: usize>(from: &[u8], row: &Row, signed: bool, d: &mut Lanes) {
    let value = |bytes: &[u8]| {
        let mut wide = [0; 8];
        wide[..N].copy_from_slice(&bytes[..N]);
        let value = u64::from_le_bytes(wide);
        if signed { extend(value, N as u8, true) } else { value }
    };
    if row.step == 0 {
        return write(d, &[value(from); WARP], row.mask);
    }
    let lanes = d[row.first_lane()..].iter_mut();
    match row.step {
        step if step == N => lanes.zip(from.chunks_exact(N)).for_each(|(d, bytes)| *d = value(bytes)),
        step => lanes.zip(from.chunks(step)).for_each(|(d, bytes)| *d = value(bytes)),
    }
}

fn store(to: &mut [u8], row: &Row, values: &Lanes) {
    match row.bytes {
        1 => store_each::<1>(to, row, values),
        2 => store_each::<2>(to, row, values),
        4 => store_each::<4>(to, row, values),
        _ => store_each::<8>(to, row, values),
    }
}

fn store_each<const N: usize>(to: &mut [u8], row: &Row, values: &Lanes) {
    let put = |(to, value): (&mut [u8], &u64)| to[..N].copy_from_slice(&value.to_le_bytes()[..N]);
    let values = &values[row.first_lane()..];
    if row.step == N {
        to.chunks_exact_mut(N).zip(values).for_each(put);
    } else {
        to.chunks_mut(row.step).zip(values).for_each(put);
    }
}
