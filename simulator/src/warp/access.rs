//! Loads, stores and atomics of a warp. Checks each before it happens: bytes that were never written, races, and bytes outside of
//! views.

use super::accessor::{accessor, count, displaced};
use super::taint::Taint;
use super::{Machine, Stop, Warp, extend, loop_detection, rows, stop};
use crate::address_space::{AddressSpace, resolve};
use crate::fault::{Detail, How, Kind, Near, Note};
use crate::isa::{Scope, Space};
use crate::kernel::{Inst, Kernel, Op, Register};
use crate::lanes::{Lanes, WARP, lanes};
use crate::memory::AccessError;
use crate::race::{Accessor, Order, Site};
use crate::shadowed_buffer::{Observed, UndefinedBits, Written};

/// An access that a warp is about to make: in one space, lane by lane.
#[derive(Clone, Copy)]
struct WarpAccess<'a> {
    space: Space,
    bytes: usize,
    at: &'a Lanes,
    mask: u32,
}

pub fn access(warp: &mut Warp, machine: &mut Machine, inst: &Inst, mask: u32) -> Result<(), Stop> {
    if rows::access(warp, machine, inst, mask) {
        return Ok(());
    }
    let (space, bytes) = match inst.op {
        Op::Load { space, bytes, .. } | Op::Store { space, bytes } => (space, bytes),
        Op::Atomic { space, bytes, .. } | Op::Align { space, bytes } => (space, bytes),
        _ => return Ok(()),
    };
    let mut at = warp.registers[inst.args[0] as usize];
    for address in &mut at {
        *address = displaced(space, *address, inst.offset);
    }
    access_at(warp, space, bytes, machine, inst, &mut at, mask)
}

/// Accesses memory at these addresses.
#[inline]
pub fn access_at(
    warp: &mut Warp,
    space: Space,
    bytes: u8,
    machine: &mut Machine,
    inst: &Inst,
    at: &mut Lanes,
    mask: u32,
) -> Result<(), Stop> {
    if matches!(space, Space::Global | Space::Generic) {
        machine.memory.in_slots(at, mask);
    }
    if space == Space::Generic {
        return generic(warp, machine, inst, at, mask);
    }
    access_in(warp, space, bytes, machine, inst, at, mask)
}

/// Lanes of a generic access may be in different spaces, which are accessed one after the other.
fn generic(warp: &mut Warp, machine: &mut Machine, inst: &Inst, at: &Lanes, mask: u32) -> Result<(), Stop> {
    let (Op::Load { bytes, .. } | Op::Store { bytes, .. } | Op::Atomic { bytes, .. } | Op::Align { bytes, .. }) =
        inst.op
    else {
        return Ok(());
    };
    for space in [Space::Global, Space::Shared, Space::Local] {
        let mut offsets = *at;
        let mask = resolve(space, &mut offsets, mask);
        if mask != 0 {
            access_in(warp, space, bytes, machine, inst, &offsets, mask)?;
        }
    }
    Ok(())
}

fn access_in(
    warp: &mut Warp,
    space: Space,
    bytes: u8,
    machine: &mut Machine,
    inst: &Inst,
    at: &Lanes,
    mask: u32,
) -> Result<(), Stop> {
    let how = match inst.op {
        Op::Load { .. } => How::Read,
        Op::Store { .. } => How::Write,
        Op::Atomic { .. } => How::Atomic,
        _ => How::Access,
    };
    if let Some(barrier) = &mut machine.grid_barrier {
        barrier.accessed(machine.pc, inst, space, at, mask);
    }
    check_access(warp, machine, inst, WarpAccess { space, bytes: bytes.into(), at, mask });
    let mut rest = mask;
    while let Err((lane, error)) = perform(warp, machine, inst, (space, bytes), at, rest) {
        let detail = Detail::Access { how, space: space.into(), bytes: bytes.into() };
        let found = stop(error.kind, inst, 1 << lane, detail).at(error);
        machine.fails(warp.number, found)?;
        // The lanes of an atomic take turns, and those before have had theirs.
        rest &= if let Op::Atomic { .. } = inst.op { !(u32::MAX >> (WARP - 1 - lane)) } else { !(1 << lane) };
        if let Op::Load { .. } | Op::Atomic { .. } = inst.op {
            warp.registers[inst.d as usize][lane] = 0;
        }
    }
    Ok(())
}

/// Makes an access; if it fails, the first lane whose own does.
fn perform(
    warp: &mut Warp,
    machine: &mut Machine,
    inst: &Inst,
    (space, bytes): (Space, u8),
    at: &Lanes,
    mask: u32,
) -> Result<(), (usize, AccessError)> {
    let [_, b, c, _] = inst.args.map(|arg| arg as usize);
    let (kernel, memory) = (machine.kernel, &mut *machine.memory);
    let (shared, local) = (&mut machine.block.shared.data[..], &mut warp.local.data[..]);
    let mut address_space = AddressSpace { space, kernel, memory, shared, local };
    match inst.op {
        Op::Load { signed, .. } => {
            let d = &mut warp.registers[inst.d as usize];
            let read = address_space.load(bytes, at, mask, d);
            if signed && bytes < 8 {
                lanes(mask).for_each(|lane| d[lane] = extend(d[lane], bytes, true));
            }
            read
        }
        Op::Store { .. } => address_space.store(bytes, at, mask, &warp.registers[b]),
        Op::Atomic { update, .. } => {
            let (operand, other) = (warp.registers[b], warp.registers[c]);
            let d = &mut warp.registers[inst.d as usize];
            lanes(mask).try_for_each(|lane| {
                address_space.load(bytes, at, 1 << lane, d)?;
                let mut new = [0; WARP];
                new[lane] = update(d[lane], operand[lane], other[lane]);
                address_space.store(bytes, at, 1 << lane, &new)
            })
        }
        _ => match lanes(mask).find(|&lane| !at[lane].is_multiple_of(u64::from(bytes))) {
            Some(lane) => {
                let near = Near::NotMultiple { of: bytes.into(), vector: true };
                Err((lane, AccessError { kind: Kind::Misaligned, address: at[lane], near, notes: Vec::new() }))
            }
            None => Ok(()),
        },
    }
}

/// Checks the access that an instruction is about to make.
fn check_access(warp: &mut Warp, machine: &mut Machine, inst: &Inst, access: WarpAccess) {
    match inst.op {
        Op::Load { .. } => return check_read(warp, machine, inst, access, inst.d),
        Op::Store { .. } | Op::Atomic { .. } => {}
        _ => return,
    }
    let source = inst.args[1] as usize;
    let mut undefined = warp.taints.of(inst.args[1]).undefined;
    let changes = !changes_nothing(warp, machine, inst, access, &undefined);
    let mut order = machine.order.take();
    count(machine, inst, changes);
    let accessor = accessor(warp, machine, inst, access.space, order.as_deref());
    let mut observed = Observed::default();
    if let Op::Atomic { .. } = inst.op {
        reads(warp, machine, access, None, &mut observed);
        remember_undefined(warp, machine, inst.d, access, &observed);
        let read = observed.undefined.iter().flat_map(|read| read.iter());
        undefined.iter_mut().zip(read).for_each(|(own, read)| *own |= read);
    }
    let values = warp.registers[source];
    let updates = matches!(inst.op, Op::Atomic { .. });
    let written = Written { values: &values, undefined: &undefined, updates };
    let WarpAccess { space, bytes, at, mask } = access;
    match space {
        Space::Shared | Space::Local => {
            let starts = starts(machine.kernel, space, bytes, at);
            let buffer = if space == Space::Shared { &mut machine.block.shared } else { &mut warp.local };
            buffer.writes(bytes, &starts, mask, written, accessor.as_ref(), &mut observed);
        }
        _ => machine.memory.writes(bytes, at, mask, written, accessor.as_ref(), &mut observed),
    }
    if let Some(order) = &mut order {
        follow(warp, machine, inst, access, order);
    }
    machine.order = order;
    report_observed(warp, machine, inst, access, &observed);
}

/// Whether a long loop only writes what is there already.
fn changes_nothing(
    warp: &Warp,
    machine: &Machine,
    inst: &Inst,
    WarpAccess { space, bytes, at, mask }: WarpAccess,
    undefined: &UndefinedBits,
) -> bool {
    let values = &warp.registers[inst.args[1] as usize];
    matches!((inst.op, space), (Op::Store { .. }, Space::Global))
        && loop_detection::reads_alone(warp, machine, inst)
        && machine.memory.holds_already(bytes, at, mask, values, undefined)
}

/// Checks a read into register `d`.
fn check_read(warp: &mut Warp, machine: &mut Machine, inst: &Inst, access: WarpAccess, d: Register) {
    // Nothing else changes what the only warp of a launch reads.
    let may_change =
        !matches!(inst.op, Op::Load { .. }) || !machine.alone && !loop_detection::reads_alone(warp, machine, inst);
    let mut order = machine.order.take();
    count(machine, inst, may_change);
    let accessor = accessor(warp, machine, inst, access.space, order.as_deref());
    let mut observed = Observed::default();
    reads(warp, machine, access, accessor.as_ref(), &mut observed);
    if let Some(order) = &mut order {
        follow(warp, machine, inst, access, order);
    }
    machine.order = order;
    remember_undefined(warp, machine, d, access, &observed);
    report_observed(warp, machine, inst, access, &observed);
}

/// Orders the accesses of these lanes before it and those after it.
pub fn fence(warp: &Warp, machine: &mut Machine, scope: Scope, mask: u32) {
    let now = warp.moment(machine);
    if let Some(order) = &mut machine.order {
        lanes(mask).for_each(|lane| order.fence(warp.thread(machine.block.number, lane), scope, now));
    }
}

/// Records what threads tell each other by an access.
fn follow(warp: &Warp, machine: &Machine, inst: &Inst, access: WarpAccess, order: &mut Order) {
    let WarpAccess { space, at, mask, .. } = access;
    let shared_by = match space {
        Space::Global => None,
        Space::Shared => Some(machine.block.number),
        _ => return,
    };
    let (reads, writes) = match inst.op {
        Op::Load { .. } => (true, false),
        Op::Store { .. } => (false, true),
        _ => (true, true),
    };
    let now = warp.moment(machine);
    for lane in lanes(mask) {
        let (thread, site) = (warp.thread(machine.block.number, lane), Site { address: at[lane], shared_by });
        let Some(strength) = inst.strength else {
            if writes {
                order.forgets(site);
            }
            continue;
        };
        if reads {
            order.reads(thread, site, strength);
        }
        if writes {
            order.writes(thread, site, strength, reads, now);
        }
    }
}

fn reads(
    warp: &mut Warp,
    machine: &mut Machine,
    access: WarpAccess,
    accessor: Option<&Accessor>,
    observed: &mut Observed,
) {
    let WarpAccess { space, bytes, at, mask } = access;
    match space {
        Space::Shared | Space::Local => {
            let starts = starts(machine.kernel, space, bytes, at);
            let buffer = if space == Space::Shared { &mut machine.block.shared } else { &mut warp.local };
            buffer.reads(bytes, &starts, mask, accessor, observed);
        }
        _ => machine.memory.reads(bytes, at, mask, accessor, observed),
    }
}

/// Records which bits of a register were read from memory that was never written.
fn remember_undefined(warp: &mut Warp, machine: &mut Machine, d: Register, access: WarpAccess, observed: &Observed) {
    let WarpAccess { space, at, mask, .. } = access;
    let Some(mut undefined) = observed.undefined.as_deref().copied() else { return warp.taints.clear(d, mask) };
    let lane = lanes(mask).find(|&lane| undefined[lane] != 0).unwrap_or_default();
    let address = at[lane] + u64::from(undefined[lane].trailing_zeros() / 8);
    if let Op::Load { bytes, signed: true, .. } = machine.kernel.code[machine.pc as usize].op {
        // The bits above the value repeat its sign.
        undefined = undefined.map(|bits| extend(bits, bytes, true));
    }
    let near = machine.describe_address(space, address);
    machine.origins.entry(machine.pc).or_insert((address, near));
    warp.taints.set(d, mask, &Taint { undefined, origin: machine.pc, ..Taint::default() });
}

/// Reports what the checks found.
fn report_observed(
    warp: &Warp,
    machine: &mut Machine,
    inst: &Inst,
    WarpAccess { space, at, .. }: WarpAccess,
    observed: &Observed,
) {
    let how = if matches!(inst.op, Op::Load { .. }) { How::Read } else { How::Write };
    let same_value = observed.same_value.filter(|_| machine.checks.same_values);
    if let Some((lane, earlier)) = &observed.race.or(same_value) {
        let before = if earlier.write { How::Write } else { How::Read };
        let detail = Detail::Race { how, earlier: before, space: space.into() };
        let mut found = stop(Kind::Race, inst, 1 << lane, detail);
        (found.address, found.near) = (Some(at[*lane]), Some(machine.describe_address(space, at[*lane])));
        found.notes.push(machine.other_side(before, earlier));
        found.notes.extend(earlier.missing.map(Note::Unordered));
        found.notes.extend(observed.race.is_none().then_some(Note::SameValue));
        machine.report(warp.number, found);
    }
    if let Some(lane) = observed.outside {
        let detail = Detail::OutOfView { how, space: space.into() };
        let mut found = stop(Kind::OutOfView, inst, 1 << lane, detail);
        (found.address, found.near) = (Some(at[lane]), Some(machine.describe_address(space, at[lane])));
        machine.report(warp.number, found);
    }
}

/// The offset of each lane's address in the memory of all arrays of its space; beyond it, if the address is in no array.
fn starts(kernel: &Kernel, space: Space, bytes: usize, at: &Lanes) -> Lanes {
    let (arrays, stride) = match space {
        Space::Shared => (&kernel.shared_arrays, 0),
        _ => (&kernel.local_arrays, kernel.local as usize),
    };
    std::array::from_fn(|lane| match arrays.find(at[lane], bytes as u32) {
        Some(start) => (lane * stride + start) as u64,
        None => u64::MAX,
    })
}
