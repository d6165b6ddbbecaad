//! Copies to shared memory that end later, and barrier objects in shared memory (PTX ISA 9.7.9.25.3, 9.7.13.15).

use super::memory::{Atomic, Space, Update};
use super::{Action, Form, Table, op};
use crate::lanes::{Lane, Lanes, WARP};

/// A barrier object, as its 64 bits: how many arrivals each phase needs, how many this one still needs, how many bytes of
/// transactions are under way, and the phase's parity.
#[derive(Debug, Clone, Copy)]
pub struct BarrierObject {
    expected: u64,
    pending: u64,
    bytes: u64,
    odd: bool,
}

impl BarrierObject {
    /// An object for one arrival: that for `n` has `n` times these bits.
    pub const ONE: u64 = 1 | 1 << 20;

    fn of(bits: u64) -> Self {
        let field = |at: u32| bits >> at & 0xf_ffff;
        Self { expected: field(0), pending: field(20), bytes: bits >> 40 & 0x7f_ffff, odd: bits >> 63 == 1 }
    }

    /// The bits, after the phase has ended if nothing is missing.
    fn bits(mut self) -> u64 {
        if self.pending == 0 && self.bytes == 0 {
            (self.pending, self.odd) = (self.expected, !self.odd);
        }
        self.expected | (self.pending & 0xf_ffff) << 20 | (self.bytes & 0x7f_ffff) << 40 | u64::from(self.odd) << 63
    }

    fn arrive(self, count: u64) -> Self {
        Self { pending: self.pending.wrapping_sub(count), ..self }
    }

    fn drop(self, count: u64) -> Self {
        Self { expected: self.expected.wrapping_sub(count) & 0xf_ffff, ..self }.arrive(count)
    }

    fn expect(self, bytes: u64) -> Self {
        Self { bytes: self.bytes.wrapping_add(bytes), ..self }
    }
}

pub(super) fn forms(table: &mut Table) {
    table.group("Asynchronous copies (9.7.9.25.3)");
    for cache in ["ca", "cg"] {
        table.add(format!("cp.async.{cache}.shared.global"), Action::CopyAsync);
    }
    table.add("cp.async.commit_group", Action::CommitCopies);
    table.add("cp.async.wait_group", Action::AwaitCopies);
    table.add("cp.async.wait_all", Action::AwaitCopies);

    table.group("Barrier objects (9.7.13.15)");
    let arrive: Update = |old, count, _| BarrierObject::of(old).arrive(count).bits();
    let updates: [(&str, Update); 6] = [
        ("arrive", arrive),
        ("arrive_drop", |old, count, _| BarrierObject::of(old).drop(count).bits()),
        ("arrive.expect_tx", |old, bytes, _| BarrierObject::of(old).expect(bytes).arrive(1).bits()),
        ("arrive_drop.expect_tx", |old, bytes, _| BarrierObject::of(old).expect(bytes).drop(1).bits()),
        ("expect_tx", |old, bytes, _| BarrierObject::of(old).expect(bytes).bits()),
        ("complete_tx", |old, bytes, _| BarrierObject::of(old).expect(bytes.wrapping_neg()).bits()),
    ];
    for (space_name, space) in [("", Space::Generic), (".shared", Space::Shared)] {
        let atomic = |update| Atomic { space, bytes: 8, update, asks: false };
        for (name, update) in updates {
            table.add(format!("mbarrier.{name}{space_name}.b64"), Action::Atomic(atomic(update)));
        }
        for name in ["init", "inval"] {
            table.add(format!("mbarrier.{name}{space_name}.b64"), Action::InitBarrierObject(space));
        }
        for wait in ["test_wait", "try_wait"] {
            table.add(format!("mbarrier.{wait}{space_name}.b64"), Action::TestPhase { space, parity: false });
            table.add(format!("mbarrier.{wait}.parity{space_name}.b64"), Action::TestPhase { space, parity: true });
        }
        table.add(format!("cp.async.mbarrier.arrive.noinc{space_name}.b64"), Action::ArriveAfterCopies(atomic(arrive)));
        // One arrival more is expected first.
        let nothing: Update = |old, _, _| old;
        table.add(format!("cp.async.mbarrier.arrive{space_name}.b64"), Action::ArriveAfterCopies(atomic(nothing)));
    }
    table.add("mbarrier.pending_count.b64", op!(|a: u64| BarrierObject::of(a).pending));
}
