//! The worker's write-ahead journal: a file that outlives the worker, with the current case and how far it has come.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::outcome::Phase;

/// Layout: the phase (1 byte), the number of the request (8 bytes).
const SIZE: usize = 9;

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

    /// Records that the request with this number begins.
    pub fn begin(&self, number: u64) -> io::Result<()> {
        let mut entry = [Phase::Inputs as u8; SIZE];
        entry[1..].copy_from_slice(&number.to_le_bytes());
        self.file.write_all_at(&entry, 0)
    }

    /// Records that `phase` begins.
    pub fn enter(&self, phase: Phase) -> io::Result<()> {
        self.file.write_all_at(&[phase as u8], 0)
    }

    /// Reads the journal at `path`; `None` if no request began.
    pub fn read(path: &Path) -> io::Result<Option<Entry>> {
        let Ok([phase, number @ ..]) = <[u8; SIZE]>::try_from(std::fs::read(path)?) else { return Ok(None) };
        let phase = match phase {
            2 => Phase::Backward,
            1 => Phase::Forward,
            _ => Phase::Inputs,
        };
        Ok(Some(Entry { number: u64::from_le_bytes(number), phase }))
    }
}
