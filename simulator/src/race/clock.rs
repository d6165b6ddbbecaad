//! Vector clocks (Lamport, "Time, clocks, and the ordering of events"; Mattern, "Virtual time and global states"), kept sparse: the
//! accesses of other threads that a thread knows to have happened before.

use std::cmp::Ordering;
use std::sync::Arc;

/// A thread of a launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct ThreadId {
    /// Its block, linear.
    pub block: u32,
    /// Its number in the block.
    pub thread: u32,
}

/// How far a thread has come when it makes an access.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Moment {
    /// Barriers that its block has passed.
    pub phase: u32,
    /// Barriers that its warp has passed.
    pub step: u32,
    /// How often it has published what it did.
    pub time: u32,
}

/// Whose accesses an entry of a clock bounds: those of a thread by their time, those of a warp by their step, and those of a block
/// by their phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Whose {
    Thread(u32, u32),
    Warp(u32, u32),
    Block(u32),
}

/// For each thread, warp and block of which something is known: the bound below which all of its accesses happened before.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Clock(Arc<Vec<(Whose, u32)>>);

impl Clock {
    /// Whether nothing is known.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Of how many threads, warps and blocks something is known.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether an access happened before.
    pub fn includes(&self, ThreadId { block, thread }: ThreadId, at: Moment) -> bool {
        self.bound(Whose::Thread(block, thread)) > at.time
            || self.bound(Whose::Warp(block, thread / 32)) > at.step
            || self.bound(Whose::Block(block)) > at.phase
    }

    /// Adds what a thread has done until now, and what the barriers order before that.
    pub fn add(&mut self, ThreadId { block, thread }: ThreadId, now: Moment) {
        let own = [
            (Whose::Thread(block, thread), now.time + 1),
            (Whose::Warp(block, thread / 32), now.step),
            (Whose::Block(block), now.phase),
        ];
        self.merge(&own);
    }

    /// Adds what another clock knows.
    pub fn learn(&mut self, other: &Self) {
        if self.is_empty() {
            self.0 = Arc::clone(&other.0);
        } else if !Arc::ptr_eq(&self.0, &other.0) {
            self.merge(&other.0);
        }
    }

    fn bound(&self, whose: Whose) -> u32 {
        self.0.binary_search_by_key(&whose, |(known, _)| *known).map_or(0, |place| self.0[place].1)
    }

    /// Merges entries that are sorted, as its own are.
    fn merge(&mut self, others: &[(Whose, u32)]) {
        let mut merged = Vec::with_capacity(self.0.len() + others.len());
        let (mut own, mut others) = (self.0.iter().copied().peekable(), others.iter().copied().peekable());
        while let (Some((mine, bound)), Some((theirs, other))) = (own.peek(), others.peek()) {
            match mine.cmp(theirs) {
                Ordering::Less => merged.extend(own.next()),
                Ordering::Greater => merged.extend(others.next()),
                Ordering::Equal => {
                    merged.push((*mine, *bound.max(other)));
                    own.next();
                    others.next();
                }
            }
        }
        merged.extend(own.chain(others));
        self.0 = Arc::new(merged);
    }
}
