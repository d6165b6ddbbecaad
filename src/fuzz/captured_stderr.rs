//! What this process writes to its error stream while something runs: a device reports its diagnoses only there.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;

use anyhow::Context;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::stdio::{dup2_stderr, stderr};

/// A file in memory that takes the error stream's place.
#[derive(Debug)]
pub struct CapturedStderr {
    file: File,
    real: OwnedFd,
}

impl CapturedStderr {
    /// Nothing is redirected yet.
    pub fn new() -> anyhow::Result<Self> {
        let file = memfd_create("said", MemfdFlags::CLOEXEC).context("cannot make a file in memory")?;
        let real = rustix::io::dup(stderr()).context("cannot duplicate the error stream")?;
        Ok(Self { file: File::from(file), real })
    }

    /// What `act` returns, and what was written to the error stream meanwhile.
    pub fn during<T>(&mut self, act: impl FnOnce() -> T) -> anyhow::Result<(T, String)> {
        dup2_stderr(&self.file).context("cannot redirect the error stream")?;
        let result = act();
        dup2_stderr(&self.real).context("cannot restore the error stream")?;
        let mut text = Vec::new();
        if self.file.stream_position()? > 0 {
            self.file.seek(SeekFrom::Start(0))?;
            self.file.read_to_end(&mut text)?;
            self.file.seek(SeekFrom::Start(0))?;
            self.file.set_len(0)?;
        }
        Ok((result, String::from_utf8_lossy(&text).into_owned()))
    }
}
