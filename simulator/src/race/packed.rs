//! The cells of a buffer for kernels whose threads are ordered by barriers of whole blocks and warps alone. 32 of them are a segment.
//! Lanes in a row leave stamps that differ only in the lane: so a segment keeps few cells for all of them, until somebody accesses it in
//! another way.

use std::ops::Range;

use super::stamp::{At, Cell, Stamp};
use super::{Accessor, CellSize, EarlierAccess};
use crate::lanes::WARP;
use crate::row::Row;

/// The most parts of a segment, and the most elements of a vector that a lane accesses.
const MOST_PARTS: usize = 4;

/// Cells of a segment that differ only in the lane that accesses them.
#[derive(Debug, Clone, Copy, Default)]
struct Part {
    /// The first of its cells, if each lane accesses one.
    begin: u8,
    /// The lane that accesses the segment's first cell, if the part has it: other lanes are counted from there.
    lane: u8,
    /// The cell as if lane 0 accessed it.
    cell: Cell,
}

/// 32 cells in a row.
#[derive(Debug, Clone, Copy)]
struct Segment {
    /// How many cells in a row each lane accesses, one instruction for each of them, which is a part. If each accesses one, parts are cells
    /// side by side.
    width: u8,
    /// How many parts there are.
    count: u8,
    /// True if its cells are kept one by one instead.
    apart: bool,
    /// Where they are, or were: a number in [`PackedCells::singles`], from 1. 0 is nowhere.
    single: u32,
    parts: [Part; MOST_PARTS],
}

impl Segment {
    /// One that nobody has accessed.
    fn new(width: usize, single: u32) -> Self {
        let width = width as u8;
        Self { width, count: width, apart: false, single, parts: [Part::default(); MOST_PARTS] }
    }

    fn parts(&self) -> &[Part] {
        &self.parts[..usize::from(self.count)]
    }

    /// Whether the launch of `now` has accessed it, unless its cells are kept one by one.
    fn is_accessed(&self, now: Stamp) -> bool {
        self.parts().iter().any(|part| part.cell.is_accessed(now))
    }

    fn cell(&self, place: usize) -> Cell {
        let width = usize::from(self.width);
        let part = match width {
            1 => self.parts().iter().rfind(|part| usize::from(part.begin) <= place).expect("the first begins at 0"),
            _ => &self.parts[place % width],
        };
        part.cell.of_lane((place / width + usize::from(part.lane)) % WARP)
    }

    /// The parts that are the cells of a piece, which are those of a vector's element, or lie side by side. `None` if there are none, and
    /// there is no room for them.
    fn parts_of(&mut self, piece: &Piece) -> Option<Range<usize>> {
        if piece.width > 1 {
            let part = piece.place % piece.width;
            return piece.is_whole.then_some(part..part + 1);
        }
        let begin = self.cut(piece.place)?;
        Some(begin..self.cut(piece.place + piece.count)?)
    }

    /// The part that begins at a cell.
    fn cut(&mut self, place: usize) -> Option<usize> {
        let count = usize::from(self.count);
        let number = self.parts().iter().position(|part| usize::from(part.begin) >= place).unwrap_or(count);
        if place == WARP || number < count && usize::from(self.parts[number].begin) == place {
            return Some(number);
        }
        if count == MOST_PARTS {
            return None;
        }
        self.parts.copy_within(number - 1..count, number);
        self.parts[number].begin = place as u8;
        self.count += 1;
        Some(number)
    }
}

/// The cells of one buffer.
#[derive(Debug, Default)]
pub struct PackedCells {
    size: CellSize,
    count: usize,
    segments: Vec<Segment>,
    singles: Vec<[Cell; WARP]>,
}

/// The part of a row that lies in one segment.
#[derive(Clone, Copy)]
struct Piece {
    segment: usize,
    /// The first of the cells, how far it is from one to the next, and how many there are.
    place: usize,
    width: usize,
    count: usize,
    /// The lane of the first of them, and that of the segment's first cell if the row had it.
    lane: usize,
    origin: usize,
    /// True if they are all cells of a vector's element.
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
        let wanted = CellSize::of(bytes);
        if self.size.count(length) > self.count || wanted < self.size {
            self.make(length, wanted);
        }
    }

    #[cold]
    fn make(&mut self, length: usize, wanted: CellSize) {
        if self.count == 0 {
            self.size = wanted;
        } else if wanted < self.size {
            self.split(wanted);
        }
        let count = self.size.count(length);
        if count > self.count {
            // The parts of the last segment do not describe the cells that are added to it.
            if !self.count.is_multiple_of(WARP) {
                self.single(self.count / WARP, None);
            }
            self.resize(count);
        }
    }

    /// Makes smaller cells.
    fn split(&mut self, size: CellSize) {
        let cells = (0..self.count).map(|number| self.cell(number));
        let cells: Vec<Cell> = cells.flat_map(|cell| std::iter::repeat_n(cell, size.parts_of(self.size))).collect();
        *self = Self { size, ..Self::default() };
        self.resize(cells.len());
        for (number, cells) in cells.chunks(WARP).enumerate() {
            self.single(number, None)[..cells.len()].copy_from_slice(cells);
        }
    }

    fn resize(&mut self, count: usize) {
        self.segments.resize(count.div_ceil(WARP), Segment::new(1, 0));
        self.count = count;
    }

    fn cell(&self, number: usize) -> Cell {
        let (segment, place) = (&self.segments[number / WARP], number % WARP);
        if segment.apart { self.singles[segment.single as usize - 1][place] } else { segment.cell(place) }
    }

    /// The cells of a segment, one by one: those that the launch of `now` has accessed, or without it all of them.
    #[inline]
    fn single(&mut self, number: usize, now: Option<Stamp>) -> &mut [Cell; WARP] {
        let segment = &mut self.segments[number];
        if !segment.apart {
            if segment.single == 0 {
                self.singles.push([Cell::default(); WARP]);
                segment.single = self.singles.len() as u32;
            }
            let is_fresh = now.is_some_and(|now| !segment.is_accessed(now));
            self.singles[segment.single as usize - 1] =
                if is_fresh { [Cell::default(); WARP] } else { std::array::from_fn(|place| segment.cell(place)) };
            segment.apart = true;
        }
        &mut self.singles[segment.single as usize - 1]
    }

    /// Records an access of one lane; returns an access that it is not ordered after.
    #[inline]
    pub fn access(&mut self, start: usize, bytes: usize, write: bool, now: Stamp, at: At) -> Option<EarlierAccess> {
        let mut race = None;
        for number in self.size.cells(start, bytes) {
            let cell = &mut self.single(number / WARP, Some(now))[number % WARP];
            race = cell.race(write, now, at).or(race);
            cell.record(write, now, at);
        }
        race
    }

    /// Records the access of a row if it is permitted, as almost all are: then its cells are looked for only once. False if nothing was
    /// recorded.
    pub fn access_row(&mut self, row: &Row, write: bool, accessor: &Accessor) -> bool {
        let (now, at) = (Stamp::new(accessor, 0), At::new(accessor));
        let mut found = std::array::from_fn(|_| (0, 0..0));
        let Some(count) = self.find(row, now, &mut found) else {
            let is_permitted = self.permits_row(row, write, accessor);
            if is_permitted {
                self.record_row(row, write, accessor);
            }
            return is_permitted;
        };
        let found = &found[..count];
        let parts = |(segment, parts): &(usize, Range<usize>)| &self.segments[*segment].parts[parts.clone()];
        if found.iter().flat_map(parts).any(|part| part.cell.race(write, now, at).is_some()) {
            return false;
        }
        for (segment, parts) in found {
            for part in &mut self.segments[*segment].parts[parts.clone()] {
                part.cell.record(write, now, at);
            }
        }
        true
    }

    /// The segments and the parts of them that are the cells of a row, and how many segments. `None` if there are too many, or a cell is
    /// in no such part.
    fn find(&mut self, row: &Row, now: Stamp, found: &mut [(usize, Range<usize>); MOST_PARTS]) -> Option<usize> {
        if row.step == 0 || CellSize::of(row.bytes) != self.size {
            return None;
        }
        let mut count = 0;
        for piece in pieces(row, self.size, self.count) {
            *found.get_mut(count)? = (piece.segment, self.parts_of(&piece, now)?);
            count += 1;
        }
        Some(count)
    }

    /// Whether lanes may access a row. False if it may be a race, or the cells are too small.
    pub fn permits_row(&mut self, row: &Row, write: bool, accessor: &Accessor) -> bool {
        let at = At::new(accessor);
        if row.step == 0 {
            let now = Stamp::new(accessor, 0);
            return !self.size.cells(row.start, row.bytes).any(|number| self.cell(number).is_written(now));
        }
        CellSize::of(row.bytes) == self.size
            && self.visit(row, accessor, |cell, now| cell.race(write, now, at).is_none())
    }

    /// Records the access of a row, which is permitted.
    pub fn record_row(&mut self, row: &Row, write: bool, accessor: &Accessor) {
        let at = At::new(accessor);
        if row.step > 0 {
            self.visit(row, accessor, |cell, now| {
                cell.record(write, now, at);
                true
            });
            return;
        }
        // The lanes between the first and the last leave no trace of their own.
        let stamps = [row.mask.trailing_zeros(), row.mask.ilog2()].map(|lane| Stamp::new(accessor, lane as usize));
        for number in self.size.cells(row.start, row.bytes) {
            let cell = &mut self.single(number / WARP, Some(stamps[0]))[number % WARP];
            for now in stamps {
                cell.record(false, now, at);
            }
        }
    }

    /// Visits the cells of a row, each with the stamp of the lane that accesses it, or one cell for many. Ends with the first for which
    /// `visit` is false.
    fn visit(&mut self, row: &Row, accessor: &Accessor, mut visit: impl FnMut(&mut Cell, Stamp) -> bool) -> bool {
        let now = Stamp::new(accessor, 0);
        pieces(row, self.size, self.count).all(|piece| match self.parts_of(&piece, now) {
            Some(parts) => self.segments[piece.segment].parts[parts].iter_mut().all(|part| visit(&mut part.cell, now)),
            None => {
                let cells = self.single(piece.segment, Some(now))[piece.place..]
                    .iter_mut()
                    .step_by(piece.width)
                    .take(piece.count);
                cells.zip(piece.lane..).all(|(cell, lane)| visit(cell, now.of_lane(lane)))
            }
        })
    }

    /// The parts of a segment that are the cells of a piece, and differ in the same lanes; `None` if its cells have to be looked at one by
    /// one. A segment that this launch has not accessed gets such parts.
    #[inline]
    fn parts_of(&mut self, piece: &Piece, now: Stamp) -> Option<Range<usize>> {
        let segment = &mut self.segments[piece.segment];
        let is_alike = !segment.apart && usize::from(segment.width) == piece.width;
        let parts = is_alike.then(|| segment.parts_of(piece)).flatten();
        let parts = match parts {
            Some(parts) => parts,
            None => {
                let is_accessed = if segment.apart {
                    self.singles[segment.single as usize - 1].iter().any(|cell| cell.is_accessed(now))
                } else {
                    segment.is_accessed(now)
                };
                if is_accessed {
                    return None;
                }
                *segment = Segment::new(piece.width, segment.single);
                segment.parts_of(piece)?
            }
        };
        let lane = piece.origin as u8;
        for part in &mut segment.parts[parts.clone()] {
            if part.lane != lane {
                if part.cell.is_accessed(now) {
                    return None;
                }
                (part.lane, part.cell) = (lane, Cell::default());
            }
        }
        Some(parts)
    }
}

/// A row of cells, cut at the segments. There are `cells` in all.
fn pieces(row: &Row, size: CellSize, cells: usize) -> impl Iterator<Item = Piece> {
    let (first, width, lanes) = (size.cell(row.start), size.cell(row.step), row.lanes());
    // A power of two.
    let shift = width.trailing_zeros();
    let mut done = 0;
    std::iter::from_fn(move || {
        let number = first + (done << shift);
        let (segment, place) = (number / WARP, number % WARP);
        let count = ((WARP - place + width - 1) >> shift).min(lanes - done);
        let lane = row.first_lane() + done;
        let origin = (lane + WARP - (place >> shift)) % WARP;
        let is_whole = place < width && place + (count << shift) >= WARP.min(cells - segment * WARP);
        done += count;
        (count > 0).then_some(Piece { segment, place, width, count, lane, origin, is_whole })
    })
}

#[cfg(test)]
mod tests {
    use super::{At, PackedCells, Row, Stamp, WARP};
    use crate::jitter::mix;
    use crate::lanes::lanes;
    use crate::race::{Accessor, EarlierAccess};

    const BYTES: usize = 4;
    const CELLS: usize = 150;

    /// Records an access lane by lane; returns the races.
    fn one_by_one(cells: &mut PackedCells, row: &Row, write: bool, accessor: &Accessor) -> Vec<Option<EarlierAccess>> {
        let (now, at) = (Stamp::new(accessor, 0), At::new(accessor));
        let starts = lanes(row.mask).enumerate().map(|(turn, lane)| (lane, row.start + turn * row.step));
        starts.map(|(lane, start)| cells.access(start, row.bytes, write, now.of_lane(lane), at)).collect()
    }

    /// A row that fits, an accessor and the kind of access.
    fn any(chance: u64) -> (Row, Accessor<'static>, bool) {
        let part = |bits: u32, count: u64| (mix(chance ^ u64::from(bits) << 40) % count) as usize;
        let (step, lanes) = ([0, 1, 1, 1, 2, 4][part(1, 6)], [WARP, WARP, WARP, 3, 16, 20][part(2, 6)]);
        let room = CELLS - step * (lanes - 1);
        let first = if part(3, 2) == 0 { 0 } else { part(4, room as u64) };
        // Half of the rows begin where lane 0 would access a cell at a multiple of 16.
        let first_lane = if part(10, 2) == 0 { first % 16 } else { part(11, WARP as u64) }.min(WARP - lanes);
        let mask = u32::MAX >> (WARP - lanes) << first_lane;
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
            // Several rows are checked first, and then recorded.
            let is_permitted = if mix(chance).is_multiple_of(2) {
                at_once.access_row(&row, write, &accessor)
            } else {
                let is_permitted = at_once.permits_row(&row, write, &accessor);
                if is_permitted {
                    at_once.record_row(&row, write, &accessor);
                }
                is_permitted
            };
            let races = one_by_one(&mut in_turn, &row, write, &accessor);
            if is_permitted {
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
