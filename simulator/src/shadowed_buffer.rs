//! A buffer of global, shared or local memory with what the checkers know about each byte. Values are moved elsewhere, and
//! fast; here a warp's access is checked before it happens.

use crate::byte_set::ByteSet;
use crate::bytes::Bytes;
use crate::lanes::{Lanes, WARP, lanes};
use crate::race::{Accessor, Cells, EarlierAccess};
use crate::row::Row;

/// Bytes, which of them were never written, and who accessed them last.
#[derive(Debug, Default)]
pub struct ShadowedBuffer {
    pub data: Bytes,
    pub undefined: ByteSet,
    /// The bytes outside of the tensor's view, which kernels must not access.
    pub hidden: ByteSet,
    pub cells: Cells,
}

/// Races are checked in buffers of up to this many bytes, because the cells are up to 24 times as large.
const MOST_RACED: usize = 16 << 20;

/// A bit for each byte of each lane's value that was never written.
pub type UndefinedBytes = [u8; WARP];

/// What the checks of one warp's access found.
#[derive(Debug, Default)]
pub struct Observed {
    /// The undefined bytes of what each lane reads.
    pub undefined: UndefinedBytes,
    /// The first lane that reads any.
    pub undefined_lane: Option<usize>,
    /// The first lane whose access races, and the earlier access.
    pub race: Option<(usize, EarlierAccess)>,
    /// The same of a race that leaves the value as it was.
    pub same_value: Option<(usize, EarlierAccess)>,
    /// The first lane that reaches outside the view.
    pub outside: Option<usize>,
}

/// What is written: the values, and which of their bytes are undefined.
#[derive(Clone, Copy)]
pub struct Written<'a> {
    pub values: &'a Lanes,
    pub undefined: &'a UndefinedBytes,
    /// Whether they are what an atomic combines with the old value.
    pub updates: bool,
}

impl ShadowedBuffer {
    /// `length` fresh bytes of value `fill`. `defined`: they count as written.
    pub fn new(length: usize, fill: u8, defined: bool) -> Self {
        let undefined = if defined { ByteSet::empty(length) } else { ByteSet::full(length) };
        Self { data: Bytes::Own(vec![fill; length]), undefined, hidden: ByteSet::default(), cells: Cells::default() }
    }

    /// `length` fresh bytes that are pretended; `None` if the process has no addresses for them.
    pub fn pretended(length: usize, defined: bool) -> Option<Self> {
        let undefined = if defined { ByteSet::empty(length) } else { ByteSet::full(length) };
        Some(Self { data: Bytes::pretended(length)?, undefined, ..Self::default() })
    }

    /// Adds zeros, which count as written, up to `length` bytes.
    pub fn grow(&mut self, length: usize) {
        self.data.grow(length);
        self.undefined = ByteSet::empty(length);
    }

    /// Whether its bytes are pretended.
    pub fn is_pretended(&self) -> bool {
        matches!(self.data, Bytes::Pretended(_))
    }

    /// Makes all bytes fresh again.
    pub fn reset(&mut self, length: usize, fill: u8, defined: bool) {
        self.data.reset(length, fill);
        self.undefined = if defined { ByteSet::empty(length) } else { ByteSet::full(length) };
    }

    /// Checks the lanes of `mask`, each of which is about to read `bytes` bytes at `starts`. Accesses out of bounds or
    /// misaligned are skipped: they will not happen.
    pub fn reads(
        &mut self,
        bytes: usize,
        starts: &Lanes,
        mask: u32,
        accessor: Option<&Accessor>,
        observed: &mut Observed,
    ) {
        if !self.undefined.is_empty() {
            for lane in self.valid(bytes, starts, mask) {
                observed.undefined[lane] = self.undefined.bits_at(starts[lane] as usize, bytes);
                if observed.undefined[lane] != 0 {
                    observed.undefined_lane = observed.undefined_lane.or(Some(lane));
                }
            }
        }
        self.check_view(bytes, starts, mask, observed);
        if let Some(accessor) = accessor.filter(|_| self.data.len() <= MOST_RACED) {
            let length = self.data.len();
            self.cells.prepare(length, bytes, accessor);
            for lane in lanes(mask) {
                let start = starts[lane] as usize;
                if holds(length, start, bytes)
                    && let Some(earlier) = self.cells.read(start, bytes, lane, accessor)
                {
                    observed.race = observed.race.or(Some((lane, earlier)));
                }
            }
        }
    }

    /// [`Self::reads`] for lanes that write.
    pub fn writes(
        &mut self,
        bytes: usize,
        starts: &Lanes,
        mask: u32,
        written: Written,
        accessor: Option<&Accessor>,
        observed: &mut Observed,
    ) {
        if !self.undefined.is_empty() || *written.undefined != [0; WARP] {
            let length = self.data.len();
            for lane in lanes(mask) {
                let start = starts[lane] as usize;
                if holds(length, start, bytes) {
                    self.undefined.set(start, bytes, written.undefined[lane]);
                }
            }
        }
        self.check_view(bytes, starts, mask, observed);
        if let Some(accessor) = accessor.filter(|_| self.data.len() <= MOST_RACED) {
            let length = self.data.len();
            self.cells.prepare(length, bytes, accessor);
            for lane in lanes(mask) {
                let start = starts[lane] as usize;
                if holds(length, start, bytes)
                    && let Some(earlier) = self.cells.write(start, bytes, lane, accessor)
                {
                    let is_same =
                        !written.updates && self.is_same(bytes, start, lane, written.values, &earlier, accessor);
                    let race = if is_same { &mut observed.same_value } else { &mut observed.race };
                    *race = race.or(Some((lane, earlier)));
                }
            }
        }
    }

    /// [`Self::reads`] for a row, or [`Self::writes`] of defined values. False if there may be something to report: then nothing has
    /// changed.
    pub fn accesses_row(&mut self, row: &Row, write: bool, accessor: Option<&Accessor>) -> bool {
        let tracks = !self.undefined.is_empty();
        if !self.hidden.is_empty() || !write && tracks && self.undefined.any_in(row.start, row.length()) {
            return false;
        }
        if let Some(accessor) = accessor.filter(|_| self.data.len() <= MOST_RACED) {
            self.cells.prepare(self.data.len(), row.bytes, accessor);
            if !self.cells.access_row(row, write, accessor) {
                return false;
            }
        }
        if write && tracks {
            if row.step == row.bytes {
                self.undefined.clear(row.start, row.length());
            } else {
                (0..row.lanes()).for_each(|lane| self.undefined.set(row.start + lane * row.step, row.bytes, 0));
            }
        }
        true
    }

    /// Finds a lane that reaches outside the view.
    fn check_view(&self, bytes: usize, starts: &Lanes, mask: u32, observed: &mut Observed) {
        if !self.hidden.is_empty() && observed.outside.is_none() {
            observed.outside =
                self.valid(bytes, starts, mask).find(|&lane| self.hidden.bits_at(starts[lane] as usize, bytes) != 0);
        }
    }

    /// Whether a write changes nothing: the memory already holds the value, or another lane writes it in this instruction.
    /// Threads may write the same value to one place.
    fn is_same(
        &self,
        bytes: usize,
        start: usize,
        lane: usize,
        values: &Lanes,
        earlier: &EarlierAccess,
        accessor: &Accessor,
    ) -> bool {
        let value = values[lane].to_le_bytes();
        let here = earlier.block == accessor.block && earlier.thread >> 5 == accessor.warp;
        let together = earlier.write && earlier.pc == accessor.pc && here;
        let cut = u64::MAX >> (64 - 8 * bytes);
        let other = values[earlier.thread as usize % WARP];
        self.data[start..start + bytes] == value[..bytes] || together && (other ^ values[lane]) & cut == 0
    }

    fn valid(&self, bytes: usize, starts: &Lanes, mask: u32) -> impl Iterator<Item = usize> {
        let length = self.data.len();
        lanes(mask).filter(move |&lane| holds(length, starts[lane] as usize, bytes))
    }
}

/// Whether an aligned access of this size is inside of `length` bytes.
fn holds(length: usize, start: usize, bytes: usize) -> bool {
    start & (bytes - 1) == 0 && start < length && bytes <= length - start
}
