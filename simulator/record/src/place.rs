//! Where something happened: in the source, in the PTX, in which thread, and when.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A line of a source file: `src/fill.cu:18`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Source {
    /// The file, as the compiler named it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// The kernel or the call, and its line as far as that is known.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The kernel's name as in the PTX, or the name of the function that the host called.
    pub kernel: String,
    /// The line of the kernel's source.
    #[serde(flatten)]
    pub source: Option<Source>,
    /// The line of the module's PTX, from 1; `None` for the host's own calls.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ptx: Option<u32>,
}

/// `at kernel() in file:line`
impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at {}()", self.kernel)?;
        self.source.as_ref().map_or(Ok(()), |source| write!(f, " in {source}"))
    }
}

/// A thread, by its coordinates in its block and its block's in the grid.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Thread {
    /// The block's coordinates.
    pub block: [u32; 3],
    /// The thread's coordinates.
    pub thread: [u32; 3],
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ([bx, by, bz], [tx, ty, tz]) = (self.block, self.thread);
        write!(f, "thread ({tx},{ty},{tz}) in block ({bx},{by},{bz})")
    }
}

/// Where an instruction is: its line of the source, or else of the PTX.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    /// The line of the source.
    #[serde(flatten)]
    pub source: Option<Source>,
    /// The line of the PTX.
    pub ptx: u32,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.source {
            Some(source) => write!(f, "at {source}"),
            None => write!(f, "in line {} of the PTX", self.ptx),
        }
    }
}

/// A moment between launches: a program's progress shows in its kernels.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Moment {
    /// How many launches there were.
    pub launches: u64,
    /// The kernel of the last one.
    pub kernel: Option<String>,
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kernel {
            None => f.write_str("before the first launch"),
            Some(kernel) => write!(f, "after launch {} (`{kernel}`)", self.launches),
        }
    }
}
