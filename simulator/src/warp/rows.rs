//! Loads and stores whose lanes access memory side by side, or vectors side by side, or load one value: almost all do. They are checked and
//! made at once if there is nothing to report. All others are left to the functions that look at each lane.

use super::accessor::{accessor, count, displaced};
use super::{Machine, Warp, extend, loop_detection, write};
use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::lanes::{Lanes, WARP};
use crate::row::Row;
use crate::shadowed_buffer::ShadowedBuffer;

/// Makes an access of this kind. False if it is none, or there may be something to report: then nothing has happened.
pub fn access(warp: &mut Warp, machine: &mut Machine, inst: &Inst, mask: u32) -> bool {
    let (space, bytes, signed, loads) = match inst.op {
        Op::Load { space, bytes, signed } => (space, bytes, signed, true),
        Op::Store { space, bytes } => (space, bytes, false, false),
        _ => return false,
    };
    let Some((first, step)) = steps(&warp.registers[inst.args[0] as usize], bytes, mask) else { return false };
    let mut row = Row { start: 0, bytes: bytes.into(), step, mask };
    let reads_alone = loop_detection::reads_alone(warp, machine, inst);
    let stores_one_by_one = !loads && (step == 0 || reads_alone || is_undefined(warp, inst));
    if stores_one_by_one || machine.order.is_some() || machine.grid_barrier.is_some() {
        return false;
    }
    let accessor = accessor(warp, machine, inst, space, None);
    let Some((buffer, start)) = holder(machine, space, first, inst.offset, &row, !loads) else { return false };
    row.start = start;
    if !buffer.accesses_row(&row, !loads, accessor.as_ref()) {
        return false;
    }
    let bytes = &mut buffer.data[start..start + row.length()];
    if loads {
        load(bytes, &row, signed, &mut warp.registers[inst.d as usize]);
        warp.taints.clear(inst.d, mask);
    } else {
        store(bytes, &row, &warp.registers[inst.args[1] as usize]);
    }
    count(machine, inst, !loads || !machine.alone && !reads_alone);
    true
}

/// The address of the first lane, and how far it is from one lane's to the next's; `None` if that is not a row.
fn steps(at: &Lanes, bytes: u8, mask: u32) -> Option<(u64, usize)> {
    if mask == 0 {
        return None;
    }
    let first = at[mask.trailing_zeros() as usize];
    // The lanes of a row are the first ones of the warp.
    let step = match mask {
        0b1 => u64::from(bytes),
        _ if mask & mask.wrapping_add(1) == 0 => at[1].wrapping_sub(first),
        _ => 0,
    };
    if ![0, 1, 2, 4].map(|times| times * u64::from(bytes)).contains(&step) {
        return None;
    }
    let mut differ = 0;
    for (lane, at) in at.iter().enumerate() {
        let counts = u64::from(mask >> lane & 1).wrapping_neg();
        differ |= (at ^ first.wrapping_add(lane as u64 * step)) & counts;
    }
    (differ == 0).then_some((first, step as usize))
}

/// Whether a store writes bytes that were never written themselves.
fn is_undefined(warp: &Warp, inst: &Inst) -> bool {
    warp.taints.any && warp.taints.of(inst.args[1]).undefined != [0; WARP]
}

/// The buffer that holds a row, and where it begins there. `None` also if it is not aligned, or in a thread's own memory.
fn holder<'a>(
    machine: &'a mut Machine,
    space: Space,
    first: u64,
    offset: i64,
    row: &Row,
    write: bool,
) -> Option<(&'a mut ShadowedBuffer, usize)> {
    let (address, length) = (displaced(space, first, offset), row.length());
    if !address.is_multiple_of(row.bytes as u64) {
        return None;
    }
    let (buffer, start) = match space {
        Space::Global => machine.memory.holder(address, length, write)?,
        Space::Shared => {
            // No lane's address wraps.
            let narrow = |address: u64| address.checked_add(length as u64).is_some_and(|end| end <= 1 << 32);
            let start = machine
                .kernel
                .shared_arrays
                .find(address, length as u32)
                .filter(|_| narrow(first) && narrow(address))?;
            let buffer = &mut machine.block.shared;
            let fits = start.checked_add(length).is_some_and(|end| end <= buffer.data.len());
            (buffer, fits.then_some(start)?)
        }
        _ => return None,
    };
    start.is_multiple_of(row.bytes).then_some((buffer, start))
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
    match row.step {
        0 => write(d, &[value(from); WARP], row.mask),
        step if step == N => d.iter_mut().zip(from.chunks_exact(N)).for_each(|(d, bytes)| *d = value(bytes)),
        step => d.iter_mut().zip(from.chunks(step)).for_each(|(d, bytes)| *d = value(bytes)),
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
    if row.step == N {
        to.chunks_exact_mut(N).zip(values).for_each(put);
    } else {
        to.chunks_mut(row.step).zip(values).for_each(put);
    }
}
