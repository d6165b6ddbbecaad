//! The bytes around a faulting address, for people.

use crate::fault::Note;

/// How many bytes are shown on either side.
const AROUND: i64 = 16;

/// A line with the bytes of `data` around the `bytes` at `at`, which are in brackets; `--` is a byte outside of `data`.
/// `None` if there are no bytes to show, or too many.
pub fn around(data: &[u8], at: i64, bytes: u64) -> Option<Note> {
    let bytes = i64::try_from(bytes).ok().filter(|bytes| (1..=AROUND).contains(bytes))?;
    let end = at.checked_add(bytes)?;
    let first = at.checked_sub(AROUND)?.max(0);
    let last = end.checked_add(AROUND)?.min(data.len() as i64);
    if first >= last {
        return None;
    }
    let mut line = "bytes:".to_string();
    for place in first.min(at)..last.max(end) {
        line += if place == at { " [" } else { " " };
        let byte = usize::try_from(place).ok().and_then(|place| data.get(place));
        line += &byte.map_or("--".to_string(), |byte| format!("{byte:02x}"));
        line += if place + 1 == end { "]" } else { "" };
    }
    Some(line.into())
}
