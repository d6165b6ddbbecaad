//! The calls of the program that led to a report. A kernel runs inside of the call that launches it, so they name the launch, and not the
//! later call that returns the error.

use std::ops::Range;
use std::path::Path;
use std::ptr;
use std::sync::OnceLock;

use device_record::Frame;

/// At most this many are recorded.
const MOST: usize = 64;

/// A part of the name of the function of Rust that calls a thread's or a test's own code.
const OUTERMOST: &str = "__rust_begin_short_backtrace";

/// The calls, the innermost first, if `SNUFFER_SIM_BACKTRACE` is `1`.
pub fn frames() -> Vec<Frame> {
    static WANTED: OnceLock<bool> = OnceLock::new();
    if !WANTED.get_or_init(|| std::env::var_os("SNUFFER_SIM_BACKTRACE").is_some_and(|value| value == "1")) {
        return Vec::new();
    }
    static OWN: OnceLock<Vec<Range<usize>>> = OnceLock::new();
    let own = OWN.get_or_init(own_addresses);
    let mut frames = Vec::new();
    backtrace::trace(|frame| {
        // The innermost frames are of this library.
        if own.iter().any(|range| range.contains(&(frame.ip() as usize))) {
            return true;
        }
        backtrace::resolve_frame(frame, |symbol| {
            let Some(name) = symbol.name() else { return };
            let file = symbol.filename().map(Path::to_string_lossy).map(String::from);
            frames.push(Frame { function: format!("{name:#}"), file, line: symbol.lineno() });
        });
        let is_outermost = |frame: &Frame| frame.function == "main" || frame.function.contains(OUTERMOST);
        frames.len() < MOST && !frames.iter().any(is_outermost)
    });
    frames
}

/// The file and the line of an instruction of the program: the innermost call that is not of Rust's own libraries.
pub fn line_of(instruction: usize) -> Option<String> {
    let mut line = None;
    backtrace::resolve(ptr::without_provenance_mut(instruction), |symbol| {
        let file = symbol.filename().filter(|file| !file.starts_with("/rustc"));
        line = line.take().or_else(|| Some(format!("{}:{}", file?.display(), symbol.lineno()?)));
    });
    line
}

/// Where this library is in memory.
fn own_addresses() -> Vec<Range<usize>> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let mapping = |line: &str| {
        let mut words = line.split_whitespace();
        let (start, end) = words.next()?.split_once('-')?;
        let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
        Some((range, words.nth(4)?.to_string()))
    };
    let mappings: Vec<_> = maps.lines().filter_map(mapping).collect();
    let here = frames as fn() -> Vec<Frame> as usize;
    let own = mappings.iter().find(|(range, _)| range.contains(&here)).map(|(_, file)| file.clone());
    mappings.into_iter().filter(|(_, file)| Some(file) == own.as_ref()).map(|(range, _)| range).collect()
}
