//! The worker's write-ahead journal: a file that outlives the worker, with the current case and how far it has come.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::protocol::{self, Request};
use crate::outcome::Phase;

/// Layout: the phase (1 byte), the request's length (4 bytes), the request as it came over the socket.
const HEADER: usize = 5;

/// The journal of one worker.
#[derive(Debug)]
pub struct Journal {
    file: File,
}

/// The content of a journal.
#[derive(Debug)]
pub struct Entry {
    /// The number of the last request that began.
    pub number: u64,
    /// How far it had come.
    pub phase: Phase,
}

impl Journal {
    /// Creates or truncates the journal at `path`.
    pub fn create(path: &Path) -> io::Result<Self> {
        Ok(Self { file: File::create(path)? })
    }

    /// Records that the request with this body begins.
    pub fn begin(&self, body: &[u8]) -> io::Result<()> {
        let mut entry = Vec::with_capacity(HEADER + body.len());
        entry.push(Phase::Inputs as u8);
        entry.extend_from_slice(&(body.len() as u32).to_le_bytes());
        entry.extend_from_slice(body);
        self.file.write_all_at(&entry, 0)
    }

    /// Records that `phase` begins.
    pub fn enter(&self, phase: Phase) -> io::Result<()> {
        self.file.write_all_at(&[phase as u8], 0)
    }

    /// Reads the journal at `path`; `None` if no request began.
    pub fn read(path: &Path) -> io::Result<Option<Entry>> {
        let bytes = std::fs::read(path)?;
        let Some((header, rest)) = bytes.split_at_checked(HEADER) else { return Ok(None) };
        let length = u32::from_le_bytes([header[1], header[2], header[3], header[4]]) as usize;
        let Some(body) = rest.get(..length) else { return Ok(None) };
        let phase = match header[0] {
            2 => Phase::Backward,
            1 => Phase::Forward,
            _ => Phase::Inputs,
        };
        let request: Request = protocol::decode(body)?;
        Ok(Some(Entry { number: request.number, phase }))
    }
}
