//! A buffer of global, shared or local memory with what the checkers know about each byte. Values are moved elsewhere, and
//! fast; here a warp's access is checked before it happens.

use crate::byte_set::ByteSet;
use crate::bytes::Bytes;
use crate::lanes::{Lanes, WARP, lanes};
use crate::race::{Accessor, Cells, EarlierAccess};
use crate::row::Row;
use crate::undefined::Undefined;

/// Bytes, which of their bits were never written, and who accessed them last.
#[derive(Debug, Default)]
pub struct ShadowedBuffer {
    pub data: Bytes,
    pub undefined: Undefined,
    /// The bytes outside of the tensor's view, which kernels must not access.
    pub hidden: ByteSet,
    pub cells: Cells,
}

/// Races are checked in buffers of up to this many bytes, because the cells are up to 24 times as large.
const MOST_RACED: usize = 16 << 20;

/// The bits of each lane's value that were never written.
pub type UndefinedBits = [u64; WARP];

/// What the checks of one warp's access found.
#[derive(Debug, Default)]
pub struct Observed {
    /// The undefined bits of what each lane reads, if there are any.
    pub undefined: Option<Box<UndefinedBits>>,
    /// The first lane whose access races, and the earlier access.
    pub race: Option<(usize, EarlierAccess)>,
    /// The same of a race that leaves the value as it was.
    pub same_value: Option<(usize, EarlierAccess)>,
    /// The first lane that reaches outside the view.
    pub outside: Option<usize>,
}

/// The values being written, and their undefined bits.
#[derive(Clone, Copy)]
pub struct Written<'a> {
    pub values: &'a Lanes,
    pub undefined: &'a UndefinedBits,
    /// Whether they are what an atomic combines with the old value.
    pub updates: bool,
}

impl ShadowedBuffer {
    /// `length` fresh bytes of value `fill`. `defined`: they count as written.
    pub fn new(length: usize, fill: u8, defined: bool) -> Self {
        let (data, undefined) = (Bytes::Own(vec![fill; length]), Undefined::new(length, defined));
        Self { data, undefined, hidden: ByteSet::default(), cells: Cells::default() }
    }

    /// `length` fresh bytes that are pretended; `None` if the process has no addresses for them.
    pub fn pretended(length: usize, defined: bool) -> Option<Self> {
        let (data, undefined) = (Bytes::pretended(length)?, Undefined::new(length, defined));
        Some(Self { data, undefined, ..Self::default() })
    }

    /// Adds zeros, which count as written, up to `length` bytes.
    pub fn grow(&mut self, length: usize) {
        self.data.grow(length);
        self.undefined = Undefined::new(length, true);
    }

    /// Whether its bytes are pretended.
    pub fn is_pretended(&self) -> bool {
        matches!(self.data, Bytes::Pretended(_))
    }

    /// Makes all bytes fresh again.
    pub fn reset(&mut self, length: usize, fill: u8, defined: bool) {
        self.data.reset(length, fill);
        self.undefined = Undefined::new(length, defined);
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
            for (lane, start) in valid(self.data.len(), bytes, starts, mask) {
                match self.undefined.at(start, bytes) {
                    0 => {}
                    undefined => observed.undefined.get_or_insert_default()[lane] = undefined,
                }
            }
        }
        self.check_view(bytes, starts, mask, observed);
        if let Some(accessor) = accessor.filter(|_| self.data.len() <= MOST_RACED) {
            let length = self.data.len();
            self.cells.prepare(length, bytes, accessor);
            self.cells.access(valid(length, bytes, starts, mask), bytes, false, accessor, |lane, earlier| {
                observed.race = observed.race.or(Some((lane, earlier)));
            });
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
            for (lane, start) in valid(self.data.len(), bytes, starts, mask) {
                self.undefined.set(start, bytes, written.undefined[lane]);
            }
        }
        self.check_view(bytes, starts, mask, observed);
        if let Some(accessor) = accessor.filter(|_| self.data.len() <= MOST_RACED) {
            let length = self.data.len();
            self.cells.prepare(length, bytes, accessor);
            self.cells.access(valid(length, bytes, starts, mask), bytes, true, accessor, |lane, earlier| {
                let there = &self.data[starts[lane] as usize..][..bytes];
                let is_same = !written.updates && is_same(there, lane, written.values, &earlier, accessor);
                let race = if is_same { &mut observed.same_value } else { &mut observed.race };
                *race = race.or(Some((lane, earlier)));
            });
        }
    }

    /// Checks rows that the lanes of one access are about to read, or write with defined values, and records that they do. False if there
    /// may be something to report: then nothing has changed.
    pub fn accesses_rows(&mut self, rows: &[Row], write: bool, accessor: Option<&Accessor>) -> bool {
        let reads_undefined = |row: &Row| !write && self.undefined.any_in(row.start, row.length());
        let leaves_view = |row: &Row| self.hidden.any_in(row.start, row.length());
        if !self.hidden.is_empty() && rows.iter().any(leaves_view)
            || !self.undefined.is_empty() && rows.iter().any(reads_undefined)
        {
            return false;
        }
        if let Some(accessor) = accessor.filter(|_| self.data.len() <= MOST_RACED) {
            self.cells.prepare(self.data.len(), rows[0].bytes, accessor);
            if !self.cells.access_rows(rows, write, accessor) {
                return false;
            }
        }
        if write && !self.undefined.is_empty() {
            for row in rows {
                self.define(row);
            }
        }
        true
    }

    fn define(&mut self, row: &Row) {
        if row.step == row.bytes {
            self.undefined.clear(row.start, row.length());
        } else {
            (0..row.lanes()).for_each(|lane| self.undefined.set(row.start + lane * row.step, row.bytes, 0));
        }
    }

    /// Finds a lane that reaches outside the view.
    fn check_view(&self, bytes: usize, starts: &Lanes, mask: u32, observed: &mut Observed) {
        if !self.hidden.is_empty() && observed.outside.is_none() {
            let mut lanes = valid(self.data.len(), bytes, starts, mask);
            observed.outside = lanes.find(|&(_, start)| self.hidden.bits_at(start, bytes) != 0).map(|(lane, _)| lane);
        }
    }
}

/// Whether a write changes nothing: the memory already holds the value, or another lane writes it in this instruction. Threads may write
/// the same value to one place.
fn is_same(there: &[u8], lane: usize, values: &Lanes, earlier: &EarlierAccess, accessor: &Accessor) -> bool {
    let value = values[lane].to_le_bytes();
    let here = earlier.block == accessor.block && earlier.thread >> 5 == accessor.warp;
    let together = earlier.write && earlier.pc == accessor.pc && here;
    let cut = u64::MAX >> (64 - 8 * there.len());
    let other = values[earlier.thread as usize % WARP];
    *there == value[..there.len()] || together && (other ^ values[lane]) & cut == 0
}

/// The lanes whose accesses are aligned and inside of `length` bytes, and where they begin.
fn valid(length: usize, bytes: usize, starts: &Lanes, mask: u32) -> impl Iterator<Item = (usize, usize)> {
    let holds = move |start: usize| start & (bytes - 1) == 0 && start < length && bytes <= length - start;
    lanes(mask).map(|lane| (lane, starts[lane] as usize)).filter(move |(_, start)| holds(*start))
}
