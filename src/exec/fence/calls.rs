//! The calls that led to an access, as addresses in the program. The process that dies only walks its stack: looking functions up takes a
//! tenth of a second in each process, and the parent does it once for all.

use std::collections::HashMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::SystemTime;

use addr2line::Loader;
use device_record::{Frame, Record, Source};
use serde::{Deserialize, Serialize};

use crate::run::crate_path;

/// This program: its file, and where that is loaded.
pub struct Program {
    path: PathBuf,
    base: u64,
}

impl Program {
    /// That of this process.
    #[allow(unsafe_code, reason = "a system call")]
    pub fn own() -> io::Result<Self> {
        /// The first file is the program (`dl_iterate_phdr(3)`): returning 1 ends the iteration with it.
        unsafe extern "C" fn first(file: *mut libc::dl_phdr_info, _: usize, base: *mut libc::c_void) -> libc::c_int {
            // SAFETY: the system passes a valid pointer, and the caller below that of a `u64`.
            unsafe { *base.cast::<u64>() = (*file).dlpi_addr };
            1
        }
        let mut base = 0_u64;
        // SAFETY: the function has the signature that the call asks for, and `base` outlives it.
        unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut base).cast()) };
        Ok(Self { path: std::env::current_exe()?, base })
    }
}

/// A record of an access. Its place in the program is still an address.
#[derive(Serialize, Deserialize)]
pub struct Unlocated {
    #[serde(flatten)]
    record: Record,
    /// `None` in the records of a simulated device, which know their places.
    #[serde(default)]
    calls: Option<Calls>,
}

/// Calls of one thread.
#[derive(Serialize, Deserialize)]
struct Calls {
    program: PathBuf,
    /// In the file of the program, the innermost first.
    addresses: Vec<u64>,
}

impl Unlocated {
    /// `record` of an access of this thread in `program`.
    pub fn here(record: Record, program: &Program) -> Self {
        let mut addresses = Vec::new();
        backtrace::trace(|frame| {
            // A call returns to the instruction after it.
            addresses.push((frame.ip() as u64).wrapping_sub(1).wrapping_sub(program.base));
            true
        });
        Self { record, calls: Some(Calls { program: program.path.clone(), addresses }) }
    }

    /// The record with its place: the innermost call of candle, or of an op. A crate below candle works on the buffers that candle
    /// gives it.
    pub fn located(self) -> Record {
        let Self { mut record, calls } = self;
        if let Some(Frame { function, file, line }) = calls.and_then(|calls| calls.of_the_case()) {
            record.fault.place.kernel = function;
            record.fault.place.source = file.zip(line).map(|(file, line)| Source { file, line });
        }
        record
    }
}

impl Calls {
    fn of_the_case(&self) -> Option<Frame> {
        let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
        let modified = self.program.metadata().and_then(|file| file.modified()).ok()?;
        let symbols = programs.entry((self.program.clone(), modified)).or_insert_with(|| Symbols::of(&self.program));
        self.addresses.iter().find_map(|&address| symbols.call_of_the_case(address))
    }
}

/// The programs whose functions were looked up, as they were built then.
static PROGRAMS: LazyLock<Mutex<HashMap<(PathBuf, SystemTime), Symbols>>> = LazyLock::new(Mutex::default);

/// The functions of a program.
struct Symbols {
    /// `None` if the file cannot be read.
    file: Option<Loader>,
    /// The addresses that were looked up: one case after the other ends at the same.
    known: HashMap<u64, Option<Frame>>,
}

impl Symbols {
    fn of(program: &Path) -> Self {
        Self { file: Loader::new(program).ok(), known: HashMap::new() }
    }

    /// The call at `address`, the innermost one if functions are inlined there, if it is one of candle or of an op.
    fn call_of_the_case(&mut self, address: u64) -> Option<Frame> {
        let Self { file, known } = self;
        let look_up = || calls(file.as_ref()?, address).into_iter().find(is_of_a_case);
        known.entry(address).or_insert_with(look_up).clone()
    }
}

/// The calls at `address`, the innermost first. Without debug information there is only a name.
fn calls(file: &Loader, address: u64) -> Vec<Frame> {
    let mut calls = Vec::new();
    if let Ok(mut frames) = file.find_frames(address) {
        while let Ok(Some(frame)) = frames.next() {
            let Some(name) = frame.function.as_ref().and_then(|name| name.demangle().ok()) else { continue };
            let (file, line) = frame.location.map_or((None, None), |place| (place.file, place.line));
            calls.push(Frame { function: name.into_owned(), file: file.map(String::from), line });
        }
    }
    if calls.is_empty()
        && let Some(name) = file.find_symbol(address)
    {
        calls.push(Frame {
            function: addr2line::demangle_auto(name.into(), None).into_owned(),
            file: None,
            line: None,
        });
    }
    calls
}

/// True for a call of one of candle's functions, or of an op that brings a function of its own. Without debug information, only the
/// name tells.
fn is_of_a_case(call: &Frame) -> bool {
    let file = call.file.as_deref().map(crate_path).unwrap_or_default();
    let in_candle = |text: &str, end: &str| {
        ["candle_core", "candle_nn"].iter().any(|name| text.starts_with(&format!("{name}{end}")))
    };
    in_candle(&file.replace('-', "_"), "/")
        || file.contains("src/ops/")
        || in_candle(call.function.trim_start_matches('<'), "::")
}
