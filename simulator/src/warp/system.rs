//! The services of the system that a kernel calls: `printf`, `malloc` and `free`, assertions and traps.

use super::{Machine, Stop, Warp, stop, write};
use crate::address_space::{AddressSpace, resolve};
use crate::fault::{Assertion, Detail, Kind, Source};
use crate::isa::Space;
use crate::kernel::{Inst, Op};
use crate::lanes::{WARP, lanes};
use crate::printf::{Part, Value, parts};

/// The longest text that is printed.
const LONGEST: u64 = 4096;

/// Prints for each lane: `args` are the addresses of the format and of the arguments, which are packed as in a `struct`. The
/// result is the number of arguments (CUDA C++ Programming Guide, Formatted Output).
pub fn print(warp: &mut Warp, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
    let [format, arguments, ..] = inst.args.map(|arg| arg as usize);
    for lane in lanes(mask) {
        let format = text(warp, machine, inst, warp.registers[format][lane], lane)?;
        let (start, mut offset, mut count) = (warp.registers[arguments][lane], 0, 0);
        let mut take = |warp: &mut Warp, machine: &mut Machine, bytes: u8| {
            let at = u64::next_multiple_of(offset, bytes.into());
            offset = at + u64::from(bytes);
            count += 1;
            read(warp, machine, inst, start + at, bytes, lane)
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
                stars.push(take(warp, machine, 4)? as i32);
            }
            let bits = take(warp, machine, conversion.value.bytes())?;
            let text =
                if conversion.value == Value::Text { text(warp, machine, inst, bits, lane)? } else { String::new() };
            printed += &conversion.write(&stars, bits, &text);
        }
        machine.printed.push_str(&printed);
        warp.registers[inst.d as usize][lane] = count;
    }
    Ok(())
}

/// The text at a generic address, up to its zero.
fn text(warp: &mut Warp, machine: &mut Machine, inst: &Inst, address: u64, lane: usize) -> Result<String, Stop> {
    let mut bytes = Vec::new();
    for at in 0..LONGEST {
        match read(warp, machine, inst, address + at, 1, lane)? {
            0 => break,
            byte => bytes.push(byte as u8),
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The number at a generic address.
fn read(
    warp: &mut Warp,
    machine: &mut Machine,
    inst: &Inst,
    address: u64,
    bytes: u8,
    lane: usize,
) -> Result<u64, Stop> {
    let (mask, mut out) = (1 << lane, [0; WARP]);
    for space in [Space::Global, Space::Shared, Space::Local] {
        let mut at = [address; WARP];
        machine.memory.in_slots(&mut at, mask);
        if resolve(space, &mut at, mask) == 0 {
            continue;
        }
        let (kernel, memory) = (machine.kernel, &mut *machine.memory);
        let (shared, local) = (&mut machine.block.shared.data[..], &mut warp.local.data[..]);
        let read = AddressSpace { space, kernel, memory, shared, local }.load(bytes, &at, mask, &mut out);
        read.map_err(|(_, error)| {
            let detail = format!("Invalid read of size {bytes} bytes by printf");
            stop(error.kind, inst, mask, detail).at(error)
        })?;
    }
    Ok(out[lane])
}

/// `malloc`: each lane gets memory of its own, or null. `free` gives it back.
pub fn heap(warp: &mut Warp, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
    let operands = warp.registers[inst.args[0] as usize];
    let mut addresses = [0; WARP];
    for lane in lanes(mask) {
        if let Op::Allocate = inst.op {
            addresses[lane] = machine.memory.allocate(operands[lane]).unwrap_or(0);
        } else if operands[lane] != 0 {
            let freed = machine.memory.free(operands[lane]);
            freed.map_err(|error| stop(error.kind, inst, 1 << lane, "Invalid free by a kernel").at(error))?;
        }
    }
    write(&mut warp.registers[inst.d as usize], &addresses, mask);
    warp.taints.clear(inst.d, mask);
    machine.effects += 1;
    Ok(())
}

/// Why a kernel ends itself.
pub fn aborted(warp: &Warp, machine: &Machine, inst: &Inst, mask: u32) -> Stop {
    let Op::Trap(instruction) = inst.op else { return failed_assertion(warp, machine, inst, mask) };
    stop(Kind::Trap, inst, mask, format!("Kernel executed `{instruction}`"))
}

/// The assertion that a lane's call of `__assertfail` names, with the values that it compared.
fn failed_assertion(warp: &Warp, machine: &Machine, inst: &Inst, mask: u32) -> Stop {
    let lane = mask.trailing_zeros() as usize;
    let arg = |index: usize| warp.registers[inst.args[index] as usize][lane];
    let text = |address: u64| {
        let byte = |at: u64| machine.memory.bytes(address + at, 1).ok().map(|bytes| bytes[0]).filter(|byte| *byte != 0);
        String::from_utf8_lossy(&(0..LONGEST).map_while(byte).collect::<Vec<_>>()).into_owned()
    };
    let source = Source { file: text(arg(1)), line: arg(2) as u32 };
    let detail = Detail::Assertion(Assertion { source, function: text(arg(3)), condition: text(arg(0)) });
    let mut edges = machine.kernel.assertions[inst.offset as usize].iter();
    let notes = edges.find_map(|edge| edge.values_compared(&warp.registers, lane)).unwrap_or_default();
    Stop { notes, ..stop(Kind::Assert, inst, mask, detail) }
}
