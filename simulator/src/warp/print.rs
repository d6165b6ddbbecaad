//! `printf` of a warp's threads, one after the other.

use super::{Machine, Stop, Warp, stop};
use crate::address_space::{AddressSpace, resolve};
use crate::isa::Space;
use crate::kernel::Inst;
use crate::lanes::{WARP, lanes};
use crate::printf::{Part, Value, parts};

/// The longest text that is printed.
const LONGEST: u64 = 4096;

impl Warp {
    /// Prints for each lane: `args` are the addresses of the format and of the arguments, which are packed as in a `struct`. The
    /// result is the number of arguments (CUDA C++ Programming Guide, Formatted Output).
    pub(super) fn print(&mut self, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
        let [format, arguments, ..] = inst.args.map(|arg| arg as usize);
        for lane in lanes(mask) {
            let format = self.text(machine, inst, self.registers[format][lane], lane)?;
            let (start, mut offset, mut count) = (self.registers[arguments][lane], 0, 0);
            let mut take = |warp: &mut Self, machine: &mut Machine, bytes: u8| {
                let at = u64::next_multiple_of(offset, bytes.into());
                offset = at + u64::from(bytes);
                count += 1;
                warp.read(machine, inst, start + at, bytes, lane)
            };
            let mut printed = String::new();
            for part in parts(&format) {
                let conversion = match part {
                    Part::Text(text) => {
                        printed += text;
                        continue;
                    }
                    Part::Conversion(conversion) => conversion,
                };
                let mut stars = Vec::new();
                for _ in 0..conversion.stars {
                    stars.push(take(self, machine, 4)? as i32);
                }
                let bits = take(self, machine, conversion.value.bytes())?;
                let text =
                    if conversion.value == Value::Text { self.text(machine, inst, bits, lane)? } else { String::new() };
                printed += &conversion.write(&stars, bits, &text);
            }
            machine.printed.push_str(&printed);
            self.registers[inst.d as usize][lane] = count;
        }
        Ok(())
    }

    /// The text at a generic address, up to its zero.
    fn text(&mut self, machine: &mut Machine, inst: &Inst, address: u64, lane: usize) -> Result<String, Stop> {
        let mut bytes = Vec::new();
        for at in 0..LONGEST {
            match self.read(machine, inst, address + at, 1, lane)? {
                0 => break,
                byte => bytes.push(byte as u8),
            }
        }
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The number at a generic address.
    fn read(&mut self, machine: &mut Machine, inst: &Inst, address: u64, bytes: u8, lane: usize) -> Result<u64, Stop> {
        let (mask, mut out) = (1 << lane, [0; WARP]);
        for space in [Space::Global, Space::Shared, Space::Local] {
            let mut at = [address; WARP];
            machine.memory.in_slots(&mut at, mask);
            if resolve(space, &mut at, mask) == 0 {
                continue;
            }
            let (kernel, memory) = (machine.kernel, &mut *machine.memory);
            let (shared, local) = (&mut machine.shared.data[..], &mut self.local.data[..]);
            let read = AddressSpace { space, kernel, memory, shared, local }.load(bytes, &at, mask, &mut out);
            read.map_err(|(_, error)| {
                let detail = format!("Invalid read of size {bytes} bytes by printf");
                stop(error.kind, inst, mask, detail).at(error)
            })?;
        }
        Ok(out[lane])
    }
}
