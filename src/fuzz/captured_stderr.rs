//! Captures the standard error of this process while something runs. Devices report their diagnoses only there.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::os::fd::OwnedFd;

use anyhow::Context;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::stdio::{dup2_stderr, stderr};

/// A file in memory that temporarily replaces standard error.
#[derive(Debug)]
pub struct CapturedStderr {
    file: File,
    real: OwnedFd,
}

impl CapturedStderr {
    /// Creates the file, and redirects nothing yet.
    pub fn new() -> anyhow::Result<Self> {
        let file = memfd_create("stderr", MemfdFlags::CLOEXEC).context("cannot make a file in memory")?;
        let real = rustix::io::dup(stderr()).context("cannot duplicate the error stream")?;
        Ok(Self { file: File::from(file), real })
    }

    /// Runs `act`. Returns its result and what was written to standard error meanwhile.
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
