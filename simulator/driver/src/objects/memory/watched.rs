//! Which copies from and to pinned memory are watched, and for how long.

use crate::objects::driver::Driver;
use crate::objects::memory::guarded::{self, PAGE};
use crate::objects::memory::in_flight::InFlight;
use crate::objects::reports::report;
use crate::objects::streams::happens_before::Key;
use device_record::How;
use std::ops::Range;

/// Longer copies are not watched: what they copied is kept.
const MOST: usize = 64 << 20;
/// How many copies are watched, the last ones: a program may never wait.
const COPIES: usize = 1024;
/// How many bytes of them are kept in all.
const BYTES: usize = 256 << 20;

impl Driver {
    /// Watches pinned memory of the host that a copy in a stream has just accessed.
    pub(super) fn watch(&mut self, host: u64, bytes: usize, how: How, stream: Key, call: &str) {
        if how == How::Write {
            self.stop_watching(&(host..host.saturating_add(bytes as u64)));
        }
        // Registered memory may be gone before the program says so.
        let Some((start, pinned)) = self.pinned_at(host).filter(|(_, pinned)| !pinned.is_registered) else { return };
        let allocation = start..start + pinned.bytes;
        if bytes > MOST || !self.config.checks.streams {
            return;
        }
        let time = match &self.acting {
            Some(clock) => clock[&stream],
            None => self.happens_before.now(stream),
        };
        let mut copy = InFlight::new((stream, time), call, how, host, bytes);
        // A function of the host may come after work that was deferred, and need not wait.
        if how == How::Write && self.acting.is_none() {
            copy.pages = whole_pages(allocation, host..host + bytes as u64);
        }
        self.in_flight.push(copy);
        let kept = |copies: &[InFlight]| copies.iter().map(InFlight::bytes).sum::<usize>();
        while self.in_flight.len() > COPIES || kept(&self.in_flight) > BYTES {
            self.in_flight.remove(0);
        }
    }

    /// Keeps the program from the memory that copies may still be writing.
    pub(crate) fn guard_copies(&self) {
        self.in_flight.iter().filter_map(|copy| copy.pages.as_ref()).for_each(guarded::close);
    }

    /// Lets everybody access it again, and reports who has.
    pub(crate) fn open_copies(&mut self) {
        if self.in_flight.iter().all(|copy| copy.pages.is_none()) {
            return;
        }
        for touched in guarded::open() {
            let is_there = |copy: &&mut InFlight| copy.pages.is_some() && copy.range().contains(&touched.address);
            let Some(copy) = self.in_flight.iter_mut().find(is_there) else { continue };
            // Once is enough.
            copy.pages = None;
            // A write is reported when the copy is settled: the contents differ.
            if touched.how == How::Read {
                report::finding(&copy.touched(&touched));
            }
        }
    }

    /// Looks at the memory of the copies that the program has waited for, and no longer watches it.
    pub(crate) fn settle_copies(&mut self) {
        let in_flight = std::mem::take(&mut self.in_flight);
        let is_done = |copy: &InFlight| self.happens_before.host_knows(copy.stream, copy.time);
        let (done, rest): (Vec<_>, Vec<_>) = in_flight.into_iter().partition(is_done);
        self.in_flight = rest;
        done.iter().filter_map(InFlight::changed).for_each(|found| report::finding(&found));
    }

    /// No longer watches the memory of copies that touch this range: it is freed, or the device writes to it.
    pub(crate) fn stop_watching(&mut self, range: &Range<u64>) {
        self.in_flight.retain(|copy| copy.range().end <= range.start || range.end <= copy.range().start);
    }

    /// No longer watches any memory of a context: a kernel or a function of the host that writes to pinned memory may tell the program
    /// that it need not wait.
    pub(crate) fn stop_watching_all(&mut self, context: usize) {
        self.in_flight.retain(|copy| copy.stream.0 != context);
    }
}

/// The pages of an allocation that have nothing but bytes of `copy`. The rest of the allocation's last page belongs to nobody.
fn whole_pages(allocation: Range<u64>, copy: Range<u64>) -> Option<Range<u64>> {
    let first = copy.start.next_multiple_of(PAGE);
    let last = if copy.end == allocation.end { copy.end.next_multiple_of(PAGE) } else { copy.end / PAGE * PAGE };
    (allocation.start.is_multiple_of(PAGE) && first < last).then_some(first..last)
}
