//! Matrices spread over the lanes: lane `l` is number `l % 4` of group `l / 4`. The layouts are those of PTX ISA 9.7.15.5
//! (`mma.m16n8k16` and `m16n8k32` of bytes) and 9.7.15.5.15 (`ldmatrix`).

use super::access_checks::WarpAccess;
use super::taint::Taint;
use super::{Machine, Stop, Warp, stop};
use crate::address_space::{AddressSpace, resolve};
use crate::isa::Space;
use crate::kernel::{Inst, Register};
use crate::lanes::WARP;

impl Warp {
    /// Each register gets one matrix: rows of 16 bytes, four bytes to a lane. Lane `8m + r` has the address of row `r` of
    /// matrix `m`.
    pub(super) fn load_matrix(&mut self, machine: &mut Machine, inst: &Inst, to: &[Register]) -> Result<(), Stop> {
        let mut at = self.registers[inst.args[0] as usize];
        for address in &mut at {
            *address = address.wrapping_add(inst.offset as u64);
        }
        let named = if to.len() == 4 { u32::MAX } else { (1 << (8 * to.len())) - 1 };
        // Addresses are generic ones of shared memory, or its own.
        resolve(Space::Shared, &mut at, named);
        for (matrix, &register) in to.iter().enumerate() {
            let rows = std::array::from_fn(|lane| at[8 * matrix + lane / 4] + 4 * (lane as u64 % 4));
            let access = WarpAccess { space: Space::Shared, bytes: 4, at: &rows, mask: u32::MAX };
            self.check_read(machine, inst, access, register);
            let (memory, shared, local) = (&mut *machine.memory, &mut machine.shared.data, &mut self.local.data);
            let mut address_space =
                AddressSpace { space: Space::Shared, kernel: machine.kernel, memory, shared, local };
            let misaligned = (8 * matrix..8 * matrix + 8).find(|&row| !at[row].is_multiple_of(16));
            let read = match misaligned {
                Some(row) => Err((row, AddressSpace::misaligned(at[row], 16))),
                // The lane that passed the row's address is at fault.
                None => address_space
                    .load(4, &rows, u32::MAX, &mut self.registers[register as usize])
                    .map_err(|(lane, error)| (8 * matrix + lane / 4, error)),
            };
            read.map_err(|(lane, error)| {
                let detail = "Invalid __shared__ read of size 16 bytes".to_string();
                let stop = stop(error.kind, inst, 1 << lane, detail);
                Stop { address: Some(error.address), near: error.place, notes: error.notes, ..stop }
            })?;
        }
        Ok(())
    }

    /// `d = a · b + c` of 16 × `depth` and `depth` × 8 signed bytes, in wrapping 32-bit arithmetic.
    pub(super) fn multiply(&mut self, depth: usize, list: &[Register]) {
        let (d, rest) = list.split_at(4);
        let (a, rest) = rest.split_at(depth / 8);
        let (b, c) = rest.split_at(depth / 16);
        let byte = |register: Register, lane: usize, place: usize| {
            i32::from((self.registers[register as usize][lane] >> (8 * place)) as i8)
        };
        let (mut left, mut right) = ([[0; 32]; 16], [[0; 32]; 8]);
        for lane in 0..WARP {
            let (group, own) = (lane / 4, lane % 4);
            for place in 0..4 {
                for (number, &register) in a.iter().enumerate() {
                    left[group + 8 * (number % 2)][own * 4 + place + 16 * (number / 2)] = byte(register, lane, place);
                }
                for (number, &register) in b.iter().enumerate() {
                    right[group][own * 4 + place + 16 * number] = byte(register, lane, place);
                }
            }
        }
        let mut results = [[0; WARP]; 4];
        for (number, result) in results.iter_mut().enumerate() {
            for (lane, sum) in result.iter_mut().enumerate() {
                let (row, column) = (lane / 4 + 8 * (number / 2), lane % 4 * 2 + number % 2);
                let addend = self.registers[c[number] as usize][lane] as i32;
                let products = left[row].iter().zip(&right[column]).map(|(x, y)| x * y);
                *sum = u64::from(products.fold(addend, i32::wrapping_add) as u32);
            }
        }
        for (number, (result, &register)) in results.iter().zip(d).enumerate() {
            self.registers[register as usize] = *result;
            if self.tainted {
                self.taint(register, u32::MAX, &self.product_taint(number, [a, b, c]));
            }
        }
    }

    /// The taint of one register of a product: of elements whose row or column of the factors is tainted.
    fn product_taint(&self, number: usize, [a, b, c]: [&[Register]; 3]) -> Taint {
        let doubtful = |register: &Register, lane: usize| self.taints[*register as usize].undefined[lane] != 0;
        let mut new = self.taint_of(c[number]);
        let tainted = a.iter().chain(b).map(|&register| self.taint_of(register));
        new.origin = tainted.filter(|taint| taint.undefined != [0; WARP]).fold(new.origin, |_, taint| taint.origin);
        for lane in 0..WARP {
            let (half, column) = (number / 2, lane % 4 * 2 + number % 2);
            let row =
                (lane / 4 * 4..lane / 4 * 4 + 4).any(|own| a.iter().skip(half).step_by(2).any(|r| doubtful(r, own)));
            let column = (column * 4..column * 4 + 4).any(|own| b.iter().any(|r| doubtful(r, own)));
            if row || column {
                new.undefined[lane] = u8::MAX;
            }
        }
        new
    }
}
