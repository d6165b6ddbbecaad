//! Copies between a device and pinned memory of the host that the program has not waited for. They run at the call. On hardware the device
//! may still read or write that memory while the program goes on, so the program must leave it as it is until it has waited.

use crate::objects::memory::guarded::Touched;
use crate::objects::reports::host_calls;
use crate::objects::streams::happens_before::Key;
use device_record::{Fault, How, Kind};
use std::ops::Range;
use std::{ptr, slice};

/// A copy that the program has not waited for.
pub(crate) struct InFlight {
    pub(super) stream: Key,
    pub(super) time: u64,
    call: String,
    /// The direction: a read or a write of host memory.
    how: How,
    host: u64,
    /// The contents of the host's memory right after the copy.
    held: Vec<u8>,
    /// The whole pages that hold nothing but bytes of this copy.
    pub(super) pages: Option<Range<u64>>,
}

impl InFlight {
    /// A copy that has just run.
    pub(super) fn new((stream, time): (Key, u64), call: &str, how: How, host: u64, bytes: usize) -> Self {
        // SAFETY: the copy has just read or written it.
        let held: &[u8] = unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(host as usize), bytes) };
        Self { stream, time, call: call.to_owned(), how, host, held: held.to_vec(), pages: None }
    }

    /// The report of an access to the memory that was noticed when it happened.
    pub(super) fn touched(&self, Touched { address, instruction, how }: &Touched) -> Fault {
        let call = &self.call;
        let what = format!(
            "Stream order: the program {how}s host memory that `{call}` {}s, and has not waited for the copy",
            self.how
        );
        let byte = address - self.host;
        let mut note = format!("byte {byte} of {}", self.bytes());
        if let Some(line) = host_calls::line_of(*instruction) {
            note = format!("{note}, at {line}");
        }
        Fault { address: Some(*address), notes: vec![note.into()], ..Fault::new(Kind::StreamRace, call, what) }
    }

    /// How many bytes it has copied.
    pub(super) fn bytes(&self) -> usize {
        self.held.len()
    }

    /// Where the host's memory is.
    pub(super) fn range(&self) -> Range<u64> {
        self.host..self.host + self.bytes() as u64
    }

    /// The report, if the program has changed the memory.
    pub(super) fn changed(&self) -> Option<Fault> {
        // SAFETY: pinned memory that the program has not freed, and that it leaves as it is during the calls of this library that it
        // waits with.
        let holds: &[u8] =
            unsafe { slice::from_raw_parts(ptr::with_exposed_provenance(self.host as usize), self.bytes()) };
        let byte = holds.iter().zip(&self.held).position(|(now, then)| now != then)?;
        let Self { call, how, .. } = self;
        let what = format!(
            "Stream order: the program writes host memory that `{call}` {how}s, and has not waited for the copy"
        );
        let note = format!(
            "byte {byte} of {} was {} when the copy began, and is {} now",
            self.bytes(),
            self.held[byte],
            holds[byte]
        );
        let address = Some(self.host + byte as u64);
        Some(Fault { address, notes: vec![note.into()], ..Fault::new(Kind::StreamRace, call, what) })
    }
}
