//! This program as a worker of the ops that it defines.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::ops::own;

/// A program that defines ops, and serves cases of them itself.
#[derive(Debug, Clone)]
pub struct OwnWorker {
    /// The program.
    pub program: PathBuf,
    /// The arguments with which it comes to where it serves.
    pub args: Vec<OsString>,
    /// The name of the op that it serves there, or [`ALL`](Self::ALL).
    pub op: &'static str,
}

impl OwnWorker {
    /// In place of an op's name: the program serves all ops that it brings.
    pub const ALL: &'static str = "*";

    /// The worker for the ops that this program brings, if it brings some.
    pub fn of_this_program() -> Option<Self> {
        own::brought()?;
        Some(Self { program: std::env::current_exe().ok()?, args: Vec::new(), op: Self::ALL })
    }
}
