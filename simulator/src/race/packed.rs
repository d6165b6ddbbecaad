//! The cells of a buffer for kernels whose threads are ordered by barriers of whole blocks and warps alone. 32 of them are a segment.
//! Lanes in a row leave stamps that differ only in the lane: so a segment keeps few cells for all of them, until somebody accesses it in
//! another way.

use super::stamp::{At, Cell, Stamp};
use super::{Accessor, EarlierAccess};
use crate::lanes::WARP;
use crate::row::Row;

/// The most elements of a vector that a lane accesses.
const WIDEST: usize = 4;

/// Which lane accesses which cell of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Layout {
    /// How many cells in a row each lane accesses, one instruction for each of them.
    width: u8,
    /// The cell of lane 0, if each lane accesses one: a row of lanes that begins there goes on in the next segment.
    turn: u8,
}

impl Layout {
    /// The part of its segment that a cell belongs to, and how many lanes after the first of them it is accessed.
    fn of(self, place: usize) -> (usize, usize) {
        let (width, turn) = (usize::from(self.width), usize::from(self.turn));
        if width > 1 {
            (place % width, place / width)
        } else {
            (usize::from(place >= turn), (place + WARP - turn) % WARP)
        }
    }
}

/// 32 cells in a row.
#[derive(Debug, Clone, Copy)]
struct Segment {
    layout: Layout,
    /// The first cell of each part, from which the lane makes the others. Without vectors these are the cells before the turn, as if lane 0
    /// accessed one of them, and those from there on.
    parts: [Cell; WIDEST],
    /// True if its cells are kept one by one instead.
    apart: bool,
    /// Where they are, or were: a number in [`PackedCells::singles`], from 1. 0 is nowhere.
    single: u32,
}

impl Segment {
    /// One that nobody has accessed.
    fn new(layout: Layout, single: u32) -> Self {
        Self { layout, parts: [Cell::default(); WIDEST], apart: false, single }
    }

    fn cell(&self, place: usize) -> Cell {
        let (part, lane) = self.layout.of(place);
        self.parts[part].of_lane(lane)
    }
}

/// The cells of one buffer, each as large as the smallest access so far.
#[derive(Debug, Default)]
pub struct PackedCells {
    shift: u32,
    count: usize,
    segments: Vec<Segment>,
    singles: Vec<[Cell; WARP]>,
}

/// The part of a row that lies in one segment.
#[derive(Clone, Copy)]
struct Piece {
    segment: usize,
    /// The first of the cells, the first lane, and how many there are.
    place: usize,
    lane: usize,
    count: usize,
    /// The part that these cells belong to, and the lane of its first cell.
    part: usize,
    base: usize,
    /// True if they are all cells of that part.
    is_whole: bool,
}

impl PackedCells {
    /// Forgets all accesses.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Makes cells of at most `bytes` for `length` bytes.
    #[inline]
    pub fn prepare(&mut self, length: usize, bytes: usize) {
        let shift = bytes.trailing_zeros();
        if self.count << self.shift < length || shift < self.shift {
            self.make(length, shift);
        }
    }

    #[cold]
    fn make(&mut self, length: usize, shift: u32) {
        if self.count == 0 {
            self.shift = shift;
        } else if shift < self.shift {
            self.split(shift);
        }
        let count = length.div_ceil(1 << self.shift);
        if count > self.count {
            // The parts of the last segment do not describe the cells that are added to it.
            if !self.count.is_multiple_of(WARP) {
                self.single(self.count / WARP);
            }
            self.resize(count);
        }
    }

    /// Makes smaller cells.
    fn split(&mut self, shift: u32) {
        let parts = 1 << (self.shift - shift);
        let cells = (0..self.count).map(|number| self.cell(number));
        let cells: Vec<Cell> = cells.flat_map(|cell| std::iter::repeat_n(cell, parts)).collect();
        *self = Self { shift, ..Self::default() };
        self.resize(cells.len());
        for (number, cells) in cells.chunks(WARP).enumerate() {
            self.single(number)[..cells.len()].copy_from_slice(cells);
        }
    }

    fn resize(&mut self, count: usize) {
        self.segments.resize(count.div_ceil(WARP), Segment::new(Layout { width: 1, turn: 0 }, 0));
        self.count = count;
    }

    fn cell(&self, number: usize) -> Cell {
        let (segment, place) = (&self.segments[number / WARP], number % WARP);
        if segment.apart { self.singles[segment.single as usize - 1][place] } else { segment.cell(place) }
    }

    /// The cells of a segment, one by one.
    #[inline]
    fn single(&mut self, number: usize) -> &mut [Cell; WARP] {
        let segment = &mut self.segments[number];
        if !segment.apart {
            if segment.single == 0 {
                self.singles.push([Cell::default(); WARP]);
                segment.single = self.singles.len() as u32;
            }
            self.singles[segment.single as usize - 1] = std::array::from_fn(|place| segment.cell(place));
            segment.apart = true;
        }
        &mut self.singles[segment.single as usize - 1]
    }

    /// Records an access of one lane; returns an access that it is not ordered after.
    #[inline]
    pub fn access(
        &mut self,
        start: usize,
        bytes: usize,
        lane: usize,
        write: bool,
        accessor: &Accessor,
    ) -> Option<EarlierAccess> {
        let (now, at) = (Stamp::new(accessor, lane), At::new(accessor));
        let mut race = None;
        for number in self.numbers(start, bytes) {
            let cell = &mut self.single(number / WARP)[number % WARP];
            race = cell.race(write, now, at).or(race);
            cell.record(write, now, at);
        }
        race
    }

    /// The cells of an access.
    fn numbers(&self, start: usize, bytes: usize) -> std::ops::Range<usize> {
        start >> self.shift..(start + bytes).div_ceil(1 << self.shift)
    }

    /// Records what lanes access in a row. False if nothing was recorded, because it may be a race or the cells are too small.
    pub fn access_row(&mut self, row: &Row, write: bool, accessor: &Accessor) -> bool {
        if row.bytes != 1 << self.shift {
            return false;
        }
        let (now, at) = (Stamp::new(accessor, 0), At::new(accessor));
        let (first, width, lanes) = (row.start >> self.shift, row.step / row.bytes, row.lanes());
        let layout = Layout { width: width as u8, turn: if width > 1 { 0 } else { (first % WARP) as u8 } };
        for piece in pieces(layout, first, lanes, self.count) {
            let of_lane = |lane: usize| now.of_lane(lane);
            let races = if self.fits(&piece, layout, now) {
                self.segments[piece.segment].parts[piece.part].race(write, of_lane(piece.base), at).is_some()
            } else {
                let cells = self.single(piece.segment)[piece.place..].iter().step_by(width).take(piece.count);
                cells.enumerate().any(|(turn, cell)| cell.race(write, of_lane(piece.lane + turn), at).is_some())
            };
            if races {
                return false;
            }
        }
        for piece in pieces(layout, first, lanes, self.count) {
            if piece.is_whole && !self.segments[piece.segment].apart {
                self.segments[piece.segment].parts[piece.part].record(write, now.of_lane(piece.base), at);
            } else {
                let cells = self.single(piece.segment)[piece.place..].iter_mut().step_by(width).take(piece.count);
                cells.enumerate().for_each(|(turn, cell)| cell.record(write, now.of_lane(piece.lane + turn), at));
            }
        }
        true
    }

    /// True if one cell of the segment describes all cells of the piece. A segment that this launch has not accessed takes the new layout.
    #[inline]
    fn fits(&mut self, piece: &Piece, layout: Layout, now: Stamp) -> bool {
        let segment = &mut self.segments[piece.segment];
        if !piece.is_whole || segment.layout == layout && !segment.apart {
            return piece.is_whole;
        }
        let cells = if segment.apart { &self.singles[segment.single as usize - 1][..] } else { &segment.parts };
        if cells.iter().any(|cell| cell.is_accessed(now)) {
            return false;
        }
        *segment = Segment::new(layout, segment.single);
        true
    }

    /// Records that lanes read one value. False if nothing was recorded, because it may be a race.
    pub fn read_one(&mut self, row: &Row, accessor: &Accessor) -> bool {
        let at = At::new(accessor);
        // The lanes between the first and the last leave no trace of their own.
        let [first, last] =
            [row.mask.trailing_zeros(), row.mask.ilog2()].map(|lane| Stamp::new(accessor, lane as usize));
        let cells = self.numbers(row.start, row.bytes);
        if cells.clone().any(|number| self.cell(number).is_written(first)) {
            return false;
        }
        for number in cells {
            let cell = &mut self.single(number / WARP)[number % WARP];
            cell.record(false, first, at);
            cell.record(false, last, at);
        }
        true
    }
}

/// A row of `lanes` that begins at cell `first`, cut at the segments. There are `cells` in all.
fn pieces(layout: Layout, first: usize, lanes: usize, cells: usize) -> impl Iterator<Item = Piece> {
    let width = usize::from(layout.width);
    let mut lane = 0;
    std::iter::from_fn(move || {
        let number = first + lane * width;
        let (segment, place) = (number / WARP, number % WARP);
        let count = (WARP - place).div_ceil(width).min(lanes - lane);
        let (part, _) = layout.of(place);
        // Where the part begins and ends.
        let (begin, end) = match (width, part) {
            (1, 0) => (0, usize::from(layout.turn)),
            (1, _) => (usize::from(layout.turn), WARP),
            _ => (part, WARP),
        };
        let is_whole = place == begin && place + count * width >= end.min(cells - segment * WARP);
        let piece = Piece { segment, place, lane, count, part, base: if width > 1 { lane } else { 0 }, is_whole };
        lane += count;
        (count > 0).then_some(piece)
    })
}

#[cfg(test)]
mod tests {
    use super::{PackedCells, Row, WARP};
    use crate::jitter::mix;
    use crate::lanes::lanes;
    use crate::race::{Accessor, EarlierAccess};

    const BYTES: usize = 4;
    const CELLS: usize = 150;

    /// Records an access lane by lane; returns the races.
    fn one_by_one(cells: &mut PackedCells, row: &Row, write: bool, accessor: &Accessor) -> Vec<Option<EarlierAccess>> {
        let starts = lanes(row.mask).map(|lane| (lane, row.start + lane * row.step));
        starts.map(|(lane, start)| cells.access(start, row.bytes, lane, write, accessor)).collect()
    }

    /// A row that fits, an accessor and the kind of access.
    fn any(chance: u64) -> (Row, Accessor<'static>, bool) {
        let part = |bits: u32, count: u64| (mix(chance ^ u64::from(bits) << 40) % count) as usize;
        let (step, lanes) = ([0, 1, 1, 1, 2, 4][part(1, 6)], [WARP, WARP, WARP, 3, 20][part(2, 5)]);
        let room = CELLS - step * (lanes - 1);
        let first = if part(3, 2) == 0 { 0 } else { part(4, room as u64) };
        let mask = u32::MAX >> (WARP - lanes);
        let row = Row { start: first * BYTES, bytes: BYTES, step: step * BYTES, mask };
        let accessor = Accessor {
            epoch: 1 + (chance >> 5) as u32 % 1000,
            block: part(5, 2) as u32,
            warp: part(6, 2) as u32,
            phase: part(7, 2) as u32,
            step: 0,
            pc: part(8, 9) as u32,
            strong: None,
            order: None,
        };
        (row, accessor, step > 0 && part(9, 3) == 0)
    }

    #[test]
    fn rows_leave_the_same_as_their_lanes() {
        let (mut at_once, mut in_turn, mut done) = (PackedCells::default(), PackedCells::default(), 0);
        at_once.prepare(CELLS * BYTES, BYTES);
        in_turn.prepare(CELLS * BYTES, BYTES);
        for chance in 0..32_000 {
            let (row, accessor, write) = any(chance);
            let succeeds = match row.step {
                0 => at_once.read_one(&row, &accessor),
                _ => at_once.access_row(&row, write, &accessor),
            };
            let races = one_by_one(&mut in_turn, &row, write, &accessor);
            if succeeds {
                done += 1;
                assert!(races.iter().all(Option::is_none), "{chance}: {row:?} races");
            } else {
                assert_eq!(one_by_one(&mut at_once, &row, write, &accessor), races, "{chance}: {row:?}");
            }
            for number in 0..CELLS {
                let [one, other] = [&at_once, &in_turn].map(|cells| cells.cell(number).in_launch(accessor.epoch));
                assert_eq!(one, other, "{chance}: cell {number} after {row:?}");
            }
        }
        assert!(done > 5_000, "{done} rows at once");
    }
}
