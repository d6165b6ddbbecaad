//! Matrices spread over the lanes: `ldmatrix`, `stmatrix`, `movmatrix`, and the loads and stores of `wmma`. Each is made of
//! plain loads and stores of all lanes, so that these check it.

mod product;

use super::access;
use super::accessor::displaced;
use super::taint::{self, Taint};
use super::{Machine, Stop, Warp, stop};
use crate::address_space::{AddressSpace, resolve};
use crate::fault::{Detail, How};
use crate::isa::{Matrix, MatrixFragment, Space};
use crate::kernel::{Inst, Op, Register, ZERO};
use crate::lanes::{Lanes, WARP};

/// The bytes of a row that has an address of its own.
const ROW: u64 = 16;

pub fn execute(warp: &mut Warp, machine: &mut Machine, inst: &Inst, number: u32) -> Result<(), Stop> {
    let matrix = &machine.kernel.matrices[number as usize];
    let registers = &matrix.registers;
    match matrix.what {
        Matrix::Rows { transposed, writes, .. } => rows(warp, machine, inst, registers, transposed, writes)?,
        Matrix::Whole { fragment, space, along, writes } => {
            let elements = if along { fragment.element.per_register() } else { 1 };
            let bytes = (elements * fragment.element.bits() / 8) as u8;
            let part = part_of(inst, space, bytes, writes);
            whole(warp, machine, inst, &part, (&fragment, along), registers)?;
        }
        Matrix::Transpose => transpose(warp, registers[0], registers[1]),
        Matrix::Multiply(product) => product::multiply(warp, &product, registers),
    }
    Ok(())
}

/// Each register has one matrix, four bytes of a row to a lane. Lane `8m + r` has the address of row `r` of matrix `m`.
fn rows(
    warp: &mut Warp,
    machine: &mut Machine,
    inst: &Inst,
    registers: &[Register],
    transposed: bool,
    writes: bool,
) -> Result<(), Stop> {
    let base = &warp.registers[inst.args[0] as usize];
    let mut at: Lanes = std::array::from_fn(|lane| displaced(Space::Shared, base[lane], inst.offset));
    let named = u32::MAX >> (WARP - 8 * registers.len());
    taint::check_address(warp, machine, inst, named);
    // Addresses are generic ones of shared memory, or its own.
    resolve(Space::Shared, &mut at, named);
    // The lane that passed the row's address is at fault.
    let how = if writes { How::Write } else { How::Read };
    let detail = || Detail::Access { how, space: Space::Shared.into(), bytes: ROW };
    // Transposed, a lane has two elements of a column, which are in two rows.
    let parts = if transposed { 2 } else { 1 };
    let part = part_of(inst, Space::Shared, 4 / parts as u8, writes);
    for (matrix, &register) in registers.iter().enumerate() {
        if let Some(row) = (8 * matrix..8 * matrix + 8).find(|&row| !at[row].is_multiple_of(ROW)) {
            let error = AddressSpace::misaligned(at[row], ROW);
            return Err(stop(error.kind, inst, 1 << row, detail()).at(error));
        }
        for number in 0..parts {
            // Whose address it is, and how far from there.
            let row_of = |lane: usize| {
                let (row, byte) =
                    if transposed { (lane % 4 * 2 + number, 2 * (lane / 4)) } else { (lane / 4, 4 * (lane % 4)) };
                (8 * matrix + row, byte)
            };
            let places = std::array::from_fn(|lane| at[row_of(lane).0] + row_of(lane).1 as u64);
            move_part(warp, machine, &part, register, 2 * number, places).map_err(|stop| Stop {
                lane: row_of(stop.lane).0,
                detail: detail(),
                ..stop
            })?;
        }
    }
    Ok(())
}

/// Loads, or stores, the elements of a matrix in memory: as many at once as a register has, if they are side by side.
fn whole(
    warp: &mut Warp,
    machine: &mut Machine,
    inst: &Inst,
    part: &Inst,
    (fragment, along): (&MatrixFragment, bool),
    registers: &[Register],
) -> Result<(), Stop> {
    taint::check_address(warp, machine, inst, u32::MAX);
    if warp.taints.any {
        taint::report_undefined(warp, machine, inst, inst.args[1], u32::MAX, "is used as a stride");
    }
    let (Op::Load { space, .. } | Op::Store { space, .. }) = part.op else { return Ok(()) };
    let (base, stride) = (warp.registers[inst.args[0] as usize], warp.registers[inst.args[1] as usize]);
    let (bits, step) = (fragment.element.bits(), if along { fragment.element.per_register() } else { 1 });
    for index in (0..fragment.elements()).step_by(step) {
        let (down, right) = fragment.of_index(index);
        let at = std::array::from_fn(|lane| {
            let (line, place) = fragment.of_lane(lane);
            let (line, place) = (line + down, place + right);
            let (far, near) = if along { (line, place) } else { (place, line) };
            // The stride has 32 bits (9.7.15.4.3).
            let elements = far as u64 * (stride[lane] & 0xffff_ffff) + near as u64;
            displaced(space, base[lane], inst.offset.wrapping_add((elements * bits as u64 / 8) as i64))
        });
        let (register, bit) = fragment.position(index);
        move_part(warp, machine, part, registers[register], bit / 8, at)?;
    }
    Ok(())
}

/// Moves a part of a register, from byte `byte` of it on, from or to memory. What is loaded into byte 0 clears the others.
fn move_part(
    warp: &mut Warp,
    machine: &mut Machine,
    inst: &Inst,
    register: Register,
    byte: usize,
    mut at: Lanes,
) -> Result<(), Stop> {
    let (Op::Load { space, bytes, .. } | Op::Store { space, bytes }) = inst.op else { return Ok(()) };
    let (whole, part) = (register as usize, inst.d as usize);
    if let Op::Store { .. } = inst.op {
        warp.registers[part] = warp.registers[whole].map(|bits| bits >> (8 * byte));
        if warp.taints.any {
            let taint = warp.taints.of(register);
            let undefined = taint.undefined.map(|bits| bits >> (8 * byte));
            warp.taints.set(inst.d, u32::MAX, &Taint { undefined, ..taint });
        }
        return access::access_at(warp, space, bytes, machine, inst, &mut at, u32::MAX);
    }
    access::access_at(warp, space, bytes, machine, inst, &mut at, u32::MAX)?;
    let kept = if byte == 0 { [0; WARP] } else { warp.registers[whole] };
    warp.registers[whole] = std::array::from_fn(|lane| kept[lane] | warp.registers[part][lane] << (8 * byte));
    if warp.taints.any {
        let kept = if byte == 0 { Taint::default() } else { warp.taints.of(register) };
        let mut new = warp.taints.of(inst.d);
        for (undefined, kept) in new.undefined.iter_mut().zip(kept.undefined) {
            *undefined = *undefined << (8 * byte) | kept;
        }
        if kept.undefined != [0; WARP] {
            new.origin = kept.origin;
        }
        warp.taints.set(register, u32::MAX, &new);
    }
    Ok(())
}

/// A lane has two elements of a row, the lower first, and gets two of a column.
fn transpose(warp: &mut Warp, to: Register, from: Register) {
    let (bits, taint) = (warp.registers[from as usize], warp.taints.of(from));
    // The lane and the half that have what becomes half `half` of a lane.
    let source = |lane: usize, half: usize| (8 * (lane % 4) + 4 * half + lane / 8, lane / 4 % 2);
    let half_of = |lane: usize, half: usize| {
        let (lane, from) = source(lane, half);
        (bits[lane] >> (16 * from) & 0xffff) << (16 * half)
    };
    warp.registers[to as usize] = std::array::from_fn(|lane| half_of(lane, 0) | half_of(lane, 1));
    if warp.taints.any {
        let half_of = |lane: usize, half: usize| {
            let (lane, from) = source(lane, half);
            (taint.undefined[lane] >> (16 * from) & 0xffff) << (16 * half)
        };
        let undefined = std::array::from_fn(|lane| half_of(lane, 0) | half_of(lane, 1));
        warp.taints.set(to, u32::MAX, &Taint { undefined, wrong: [0; WARP], ..taint });
    }
}

/// The load, or the store, of a part of a register by an instruction on matrices: by its register for parts, `d`.
fn part_of(inst: &Inst, space: Space, bytes: u8, writes: bool) -> Inst {
    if writes {
        let [address, ..] = inst.args;
        return Inst { op: Op::Store { space, bytes }, args: [address, inst.d, ZERO, ZERO], ..*inst };
    }
    Inst { op: Op::Load { space, bytes, signed: false }, ..*inst }
}
