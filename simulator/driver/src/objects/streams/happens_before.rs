//! The happens-before order of work in streams, by vector clocks. Work on the same memory in two streams must be ordered: by
//! an event that was waited for, by the program's own waiting, or by the default stream, which waits for the others. Here
//! work runs at the call, so nothing goes wrong; on hardware it may. Only functions of the host, and what must wait for them,
//! do not run at the call: this order says what that is.

mod forgotten;

use std::collections::{HashMap, HashSet};

/// A stream: context and handle.
pub type Key = (usize, usize);

/// How much of each stream's work is known to be done.
pub type Clock = HashMap<Key, u64>;

/// An access to an allocation: by which call, when, and in which stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Work {
    pub what: String,
    pub stream: Key,
    pub wrote: bool,
    time: u64,
}

#[derive(Debug, Default)]
struct History {
    write: Option<Work>,
    reads: Vec<Work>,
}

/// The clocks of all streams, and the last accesses to each allocation.
#[derive(Debug, Default)]
pub struct HappensBefore {
    /// The work that each stream has waited for, beyond the work that the program has waited for: all new work comes after that.
    streams: HashMap<Key, Clock>,
    /// The streams that wait for the default stream, and it for them.
    blocking: HashSet<Key>,
    host: Clock,
    memory: HashMap<u64, History>,
    /// The streams that stand for paths of a graph, by the stream of its launch and their number.
    branches: HashMap<(Key, usize), usize>,
    /// How many such streams there ever were.
    branched: usize,
    /// Streams that were destroyed, and are still remembered because others may have to wait for them.
    retired: HashSet<Key>,
    /// How many of them are looked through for some that can be forgotten.
    worth_collecting: usize,
}

/// The default stream that all threads share, in a stream's key.
pub const LEGACY: usize = 0;

/// Marks what is in the place of a stream's handle for a path of a graph.
const BRANCH: usize = 0xB7 << 56;

impl HappensBefore {
    /// Begins work in a stream, after everything that the stream and the program know of.
    pub fn begin(&mut self, stream: Key, blocking: bool) {
        if blocking {
            self.blocking.insert(stream);
        }
        let mut clock = self.known(stream, blocking);
        clock.retain(|other, time| *other == stream || !knows(&self.host, *other, *time));
        *clock.entry(stream).or_insert(0) += 1;
        self.streams.insert(stream, clock);
    }

    /// What work would come after that began in a stream now.
    pub fn known(&self, stream: Key, blocking: bool) -> Clock {
        let mut clock = self.recorded(stream);
        join(&mut clock, &self.host);
        let legacy = |key: &Key| key.1 == LEGACY;
        for (other, known) in &self.streams {
            let waits = legacy(&stream) && self.blocking.contains(other) || blocking && legacy(other);
            if other.0 == stream.0 && waits {
                join(&mut clock, known);
            }
        }
        clock
    }

    /// Records that the last work of a stream, or that of this time, accesses an allocation. Returns work in another stream that
    /// is unordered with it.
    pub fn access(
        &mut self,
        (stream, time): (Key, Option<&Clock>),
        allocation: u64,
        wrote: bool,
        what: &str,
    ) -> Option<Work> {
        let clock = time.unwrap_or_else(|| &self.streams[&stream]);
        let history = self.memory.entry(allocation).or_default();
        // Work that was deferred began before the program knew what it knows now.
        let is_known = |work: &Work| {
            knows(clock, work.stream, work.time) || time.is_none() && knows(&self.host, work.stream, work.time)
        };
        let unordered = |work: &&Work| !is_known(work);
        let reads = history.reads.iter().filter(|_| wrote);
        let found = history.write.iter().chain(reads).find(unordered).cloned();
        let work = Work { what: what.to_owned(), stream, wrote, time: clock[&stream] };
        if wrote {
            *history = History { write: Some(work), reads: Vec::new() };
        } else {
            history.reads.retain(|read| read.stream != stream);
            history.reads.push(work);
        }
        found
    }

    /// Forgets an allocation that was freed.
    pub fn forget(&mut self, allocation: u64) {
        self.memory.remove(&allocation);
    }

    /// When the last work of a stream began.
    pub fn now(&self, stream: Key) -> u64 {
        self.streams[&stream][&stream]
    }

    /// True if the program has waited for the stream's work up to this time.
    pub fn host_knows(&self, stream: Key, time: u64) -> bool {
        knows(&self.host, stream, time)
    }

    /// What a stream knows of, for an event.
    pub fn recorded(&self, stream: Key) -> Clock {
        self.streams.get(&stream).cloned().unwrap_or_default()
    }

    /// A stream waits for an event.
    pub fn wait(&mut self, stream: Key, event: &Clock) {
        let news = self.news(event);
        join(self.streams.entry(stream).or_default(), &news);
    }

    /// A stream that stands for a path of a graph that is launched in this one. It knows of nothing that the other does not.
    pub fn branch(&mut self, stream: Key, number: usize) -> Key {
        let branch = *self.branches.entry((stream, number)).or_insert_with(|| {
            self.branched += 1;
            self.branched - 1
        });
        (stream.0, BRANCH | branch)
    }

    /// The program waits for an event.
    pub fn host_waits(&mut self, event: &Clock) {
        let news = self.news(event);
        join(&mut self.host, &news);
    }

    /// The part of a clock that the program has not waited for yet. Entries of forgotten streams are out of date.
    fn news(&self, event: &Clock) -> Clock {
        let is_new =
            |(stream, time): &(&Key, &u64)| self.streams.contains_key(*stream) && !knows(&self.host, **stream, **time);
        event.iter().filter(is_new).map(|(&stream, &time)| (stream, time)).collect()
    }

    /// The program waits for a stream, or for all of a context.
    pub fn synchronize(&mut self, context: usize, stream: Option<usize>) {
        for (key, clock) in &self.streams {
            if key.0 == context && stream.is_none_or(|stream| stream == key.1) {
                join(&mut self.host, clock);
            }
        }
    }
}

/// True if, by this clock, the stream's work up to this time is done.
fn knows(clock: &Clock, stream: Key, time: u64) -> bool {
    clock.get(&stream).is_some_and(|&known| known >= time)
}

fn join(clock: &mut Clock, other: &Clock) {
    for (&stream, &time) in other {
        let known = clock.entry(stream).or_insert(0);
        *known = time.max(*known);
    }
}

#[cfg(test)]
mod tests {
    use super::HappensBefore;

    pub(super) const A: (usize, usize) = (0, 10);
    pub(super) const B: (usize, usize) = (0, 11);
    pub(super) const DEFAULT: (usize, usize) = (0, 0);

    /// Runs work of a stream on one allocation, and says whether it is unordered.
    pub(super) fn work(order: &mut HappensBefore, stream: (usize, usize), wrote: bool) -> bool {
        order.begin(stream, false);
        order.access((stream, None), 7, wrote, "work").is_some()
    }

    #[test]
    fn work_of_two_streams_has_no_order_unless_one_waits() {
        let mut order = HappensBefore::default();
        assert!(!work(&mut order, A, true));
        assert!(work(&mut order, B, false), "a read after a write");
        assert!(work(&mut order, A, true), "a write after a read");
    }

    #[test]
    fn reads_of_two_streams_are_fine() {
        let mut order = HappensBefore::default();
        assert!(!work(&mut order, A, false) && !work(&mut order, B, false));
    }

    #[test]
    fn an_event_orders_what_was_before_it() {
        let mut order = HappensBefore::default();
        assert!(!work(&mut order, A, true));
        let event = order.recorded(A);
        order.wait(B, &event);
        assert!(!work(&mut order, B, true));
        // What came after the event is not ordered by it.
        assert!(work(&mut order, A, true));
    }

    #[test]
    fn the_program_that_waited_has_ordered_all() {
        let mut order = HappensBefore::default();
        assert!(!work(&mut order, A, true));
        order.synchronize(0, Some(A.1));
        assert!(!work(&mut order, B, true));
        order.synchronize(0, None);
        assert!(!work(&mut order, A, true));
    }

    #[test]
    fn the_default_stream_waits_for_blocking_streams_and_they_for_it() {
        let mut order = HappensBefore::default();
        order.begin(A, true);
        assert!(order.access((A, None), 7, true, "work").is_none());
        order.begin(DEFAULT, false);
        assert!(order.access((DEFAULT, None), 7, true, "work").is_none());
        order.begin(A, true);
        assert!(order.access((A, None), 7, true, "work").is_none());
        assert!(work(&mut order, B, false), "a stream that does not block");
    }
}
