//! What happened, what is at the address, and what else is known, each with its line of text.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::{Location, Moment, Source, Thread};

/// How memory is accessed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation.
    Atomic,
    /// Only the address is used.
    Access,
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Atomic => "atomic",
            Self::Access => "access",
        })
    }
}

/// The missing step that would have ordered two racing accesses (PTX ISA 8.7.3, 8.8).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Missing {
    /// A fence between the access that takes the lock or reads the flag, and the later access.
    AcquireFence,
    /// A fence between the earlier access, and the one that releases the lock or sets the flag.
    ReleaseFence,
    /// A wider scope of the atomic, the flag or the fence.
    Scope,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::AcquireFence => "no fence follows the access that takes the lock or reads the flag",
            Self::ReleaseFence => "no fence precedes the access that releases the lock or sets the flag",
            Self::Scope => "an atomic, flag or fence between them is for one block only",
        })
    }
}

/// A space of addresses (PTX ISA 5.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Space {
    /// The device's memory.
    Global,
    /// The block's memory.
    Shared,
    /// The thread's own memory.
    Local,
    /// The parameters.
    Param,
    /// Any of them, by the address.
    Generic,
}

impl fmt::Display for Space {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Global => "__global__",
            Self::Shared => "__shared__",
            Self::Local => "__local__",
            Self::Param => "__param__",
            Self::Generic => "__generic__",
        })
    }
}

/// A device-side assertion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Assertion {
    /// Where it is, as the compiler was given the file.
    #[serde(flatten)]
    pub source: Source,
    /// The function that it is in.
    pub function: String,
    /// What does not hold.
    pub condition: String,
}

impl Assertion {
    /// The driver's own line.
    pub fn line(&self, Thread { block, thread }: Thread) -> String {
        let ([bx, by, bz], [tx, ty, tz]) = (block, thread);
        let Self { source, function, condition } = self;
        let place = format!("block: [{bx},{by},{bz}], thread: [{tx},{ty},{tz}]");
        format!("{source}: {function}: {place} Assertion `{condition}` failed.")
    }

    /// Reads what [`Self::line`] writes.
    pub fn parse(line: &str) -> Option<(Self, Thread)> {
        let coordinates = |text: &str| {
            let numbers: Result<Vec<u32>, _> = text.split(',').map(str::parse).collect();
            numbers.ok()?.try_into().ok()
        };
        let (place, rest) = line.split_once(": ")?;
        let (file, number) = place.rsplit_once(':')?;
        let (function, rest) = rest.split_once(": block: [")?;
        let (block, rest) = rest.split_once("], thread: [")?;
        let (thread, rest) = rest.split_once("] Assertion `")?;
        let source = Source { file: file.to_string(), line: number.parse().ok()? };
        let condition = rest.strip_suffix("` failed.")?.to_string();
        let thread = Thread { block: coordinates(block)?, thread: coordinates(thread)? };
        Some((Self { source, function: function.to_string(), condition }, thread))
    }
}

/// What happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// An assertion failed.
    Assertion(Assertion),
    /// An access failed.
    Access {
        /// What it does.
        how: How,
        /// Where.
        space: Space,
        /// How many bytes at once.
        bytes: u64,
    },
    /// An access outside of the tensor's view.
    OutOfView {
        /// What it does.
        how: How,
        /// Where.
        space: Space,
    },
    /// An access that is not ordered after an earlier one.
    Race {
        /// What it does.
        how: How,
        /// What the earlier one did.
        earlier: How,
        /// Where.
        space: Space,
    },
    /// Work of a stream that is not ordered after work of another.
    StreamOrder {
        /// The kernel or call.
        call: String,
        /// What it does.
        how: How,
        /// The kernel or call before it.
        before: String,
        /// What that did.
        earlier: How,
    },
    /// Blocks that were left out.
    Sampled {
        /// How many blocks ran.
        ran: u64,
        /// How many there are.
        of: u64,
    },
    /// A function that the simulated device does not have.
    Missing {
        /// Its name.
        function: String,
    },
    /// A call that was asked to fail.
    Returns {
        /// The function.
        function: String,
        /// The name of the error.
        code: String,
    },
    /// In words, where the kind says the rest.
    #[serde(untagged)]
    Text(String),
}

impl fmt::Display for Detail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let does = |how: &How| if *how == How::Write { "writes" } else { "reads" };
        match self {
            Self::Assertion(Assertion { source, function, condition }) => {
                write!(f, "{source}: {function}: Assertion `{condition}` failed.")
            }
            Self::Access { how, space, bytes } => write!(f, "Invalid {space} {how} of size {bytes} bytes"),
            Self::OutOfView { how, space } => write!(f, "Outside the view: {space} {how}"),
            Self::Race { how, earlier, space } => {
                write!(f, "Race reported between {how} access and {earlier} access to {space} memory")
            }
            Self::StreamOrder { call, how, before, earlier } => {
                let (now, then) = (does(how), does(earlier));
                write!(f, "Stream order: `{call}` {now} what `{before}` {then} in another stream")
            }
            Self::Sampled { ran, of } => {
                write!(f, "a launch on pretended memory, of which only {ran} of {of} blocks ran,")
            }
            Self::Missing { function } => write!(f, "{function} is not simulated"),
            Self::Returns { function, code } => write!(f, "{function} returns {code}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<String> for Detail {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl From<&str> for Detail {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}

/// What is at an address, as a line says it after `and is`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Near {
    /// A byte of an allocation.
    Byte {
        /// How far from where the allocation begins.
        offset: u64,
        /// The allocation's bytes.
        size: u64,
    },
    /// An access around an allocation.
    Allocation {
        /// How far from where the allocation begins.
        offset: i64,
        /// The allocation's bytes.
        size: u64,
        /// The access's bytes; 0 for an address alone.
        bytes: u64,
    },
    /// Where an allocation began.
    Freed {
        /// The allocation's bytes.
        size: u64,
    },
    /// The null pointer, or an index from it.
    Null,
    /// An address that no allocation ever had.
    Nowhere,
    /// An address that is not aligned.
    NotMultiple {
        /// What it must be a multiple of.
        of: u64,
        /// Whether a vector is accessed.
        vector: bool,
    },
    /// An array in shared or local memory.
    Array {
        /// Its name.
        name: String,
        /// How far from where it begins.
        offset: i64,
        /// Its bytes.
        size: u64,
    },
    /// An address of shared or local memory in which there is no array.
    NoArray,
    /// Bytes that a copy both reads and writes.
    Overlap {
        /// How many.
        bytes: u64,
    },
}

impl fmt::Display for Near {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Byte { offset, size } => write!(f, "at offset {offset} of an allocation of size {size} bytes"),
            Self::Allocation { offset, size, bytes } => {
                let distance = offset.unsigned_abs();
                match offset {
                    ..0 => write!(f, "{distance} bytes before the nearest allocation of size {size} bytes"),
                    _ if *bytes == 0 => write!(f, "offset {offset} of an allocation of size {size} bytes"),
                    _ if distance >= *size => {
                        let after = distance - size;
                        write!(f, "{after} bytes after the nearest allocation of size {size} bytes")
                    }
                    _ => write!(f, "{bytes} bytes at offset {offset} of an allocation of size {size} bytes"),
                }
            }
            Self::Freed { size } => write!(f, "that of an allocation of size {size} bytes that was freed before"),
            Self::Null => f.write_str("near the null pointer"),
            Self::Nowhere => f.write_str("where no allocation of this device ever was"),
            Self::NotMultiple { of, vector } => {
                write!(f, "no multiple of {of}{}", if *vector { ", as a vector's must be" } else { "" })
            }
            Self::Array { name, offset, size } => {
                let distance = offset.unsigned_abs();
                match offset {
                    ..0 => write!(f, "{distance} bytes before `{name}` of {size} bytes"),
                    _ if distance >= *size => write!(f, "{} bytes after `{name}` of {size} bytes", distance - size),
                    _ => write!(f, "offset {offset} of `{name}` of {size} bytes"),
                }
            }
            Self::NoArray => f.write_str("where the kernel has no array"),
            Self::Overlap { bytes } => write!(f, "the first of {bytes} bytes that are both read and written"),
        }
    }
}

/// For whom threads wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Whom {
    /// All threads of their block.
    Block,
    /// Other lanes of their warp.
    Warp,
    /// Other blocks of a cooperative launch.
    Grid,
}

impl fmt::Display for Whom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Block => "the block",
            Self::Warp => "others of the warp",
            Self::Grid => "others of the grid",
        })
    }
}

/// What else is known: a line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Note {
    /// When the memory was allocated.
    Allocated(Moment),
    /// When it was freed.
    Freed(Moment),
    /// The other access of a race.
    Other {
        /// What it did.
        how: How,
        /// Where.
        at: Location,
        /// By which thread.
        by: Thread,
    },
    /// Why nothing orders the two accesses of a race.
    Unordered(Missing),
    /// Both accesses of a race leave the same value.
    SameValue,
    /// Where an undefined value was read.
    ReadAt(Location),
    /// Where a wrong number was made.
    MadeAt(Location),
    /// Threads that wait at one place.
    Waiting {
        /// How many.
        threads: u32,
        /// For whom.
        whom: Whom,
        /// Where.
        at: Location,
    },
    /// In words: bytes around the address, values that were compared.
    #[serde(untagged)]
    Text(String),
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Allocated(moment) => write!(f, "allocated {moment}"),
            Self::Freed(moment) => write!(f, "freed {moment}"),
            Self::Other { how, at, by } => write!(f, "and {how} access {at} by {by}"),
            Self::Unordered(missing) => write!(f, "{missing}"),
            Self::SameValue => f.write_str("which leaves the value as it was"),
            Self::ReadAt(at) => write!(f, "read {at}"),
            Self::MadeAt(at) => write!(f, "made {at}"),
            Self::Waiting { threads, whom, at: Location { source, ptx } } => {
                let wait = if *threads == 1 { "thread waits" } else { "threads wait" };
                let at = source.as_ref().map_or(String::new(), |source| format!(" at {source},"));
                write!(f, "{threads} {wait} for {whom}{at} in line {ptx} of the PTX")
            }
            Self::Text(text) => f.write_str(text),
        }
    }
}

impl From<String> for Note {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}
