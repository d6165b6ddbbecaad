//! Copies between a device and pinned memory of the host that the program has not waited for. They run at the call. On hardware the device
//! may still read or write that memory while the program goes on, so the program must leave it as it is until it has waited.

use crate::objects::driver::Driver;
use crate::objects::reports::report;
use crate::objects::streams::happens_before::Key;
use device_record::{Fault, How, Kind};
use std::ops::Range;
use std::{ptr, slice};

/// Longer copies are not watched: what they copied is kept.
const MOST: usize = 64 << 20;

/// A copy that the program has not waited for.
pub(crate) struct InFlight {
    stream: Key,
    time: u64,
    call: String,
    /// What it does with the host's memory.
    how: How,
    host: u64,
    /// What the host's memory held when the copy had run.
    held: Vec<u8>,
}

impl InFlight {
    fn range(&self) -> Range<u64> {
        self.host..self.host + self.held.len() as u64
    }

    /// The report, if the program has changed the memory.
    fn changed(&self) -> Option<Fault> {
        // SAFETY: pinned memory that the program has not freed, and that it leaves as it is during the calls of this library that it
        // waits with.
        let holds: &[u8] =
            unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(self.host as usize), self.held.len()) };
        let byte = holds.iter().zip(&self.held).position(|(now, then)| now != then)?;
        let Self { call, how, .. } = self;
        let what = format!(
            "Stream order: the program writes host memory that `{call}` {how}s, and has not waited for the copy"
        );
        let note = format!(
            "byte {byte} of {} was {} when the copy began, and is {} now",
            self.held.len(),
            self.held[byte],
            holds[byte]
        );
        let address = Some(self.host + byte as u64);
        Some(Fault { address, notes: vec![note.into()], ..Fault::new(Kind::StreamRace, call, what) })
    }
}

impl Driver {
    /// Watches pinned memory of the host that a copy in a stream has just accessed.
    pub(super) fn watch(&mut self, host: u64, bytes: usize, how: How, stream: Key, call: &str) {
        if how == How::Write {
            self.stop_watching(&(host..host.saturating_add(bytes as u64)));
        }
        // Registered memory may be gone before the program says so.
        let is_ours = self.pinned_at(host).is_some_and(|pinned| !pinned.is_registered);
        if bytes > MOST || !self.config.checks.streams || !is_ours {
            return;
        }
        let time = match &self.acting {
            Some(clock) => clock[&stream],
            None => self.happens_before.now(stream),
        };
        // SAFETY: the copy has just read or written it.
        let held: &[u8] = unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(host as usize), bytes) };
        let held = held.to_vec();
        self.in_flight.push(InFlight { stream, time, call: call.to_owned(), how, host, held });
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
