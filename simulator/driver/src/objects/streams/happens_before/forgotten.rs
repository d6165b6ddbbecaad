//! Forgets streams, allocations and contexts that are destroyed. Otherwise a program with a stream for each request would take ever
//! more time and memory.

use super::{BRANCH, Clock, HappensBefore, Key, LEGACY, knows};
use crate::objects::streams::per_thread;
use std::collections::HashSet;

/// The fewest destroyed streams that are worth looking through.
const FEWEST_COLLECTED: usize = 16;

impl HappensBefore {
    /// Forgets the allocations that were lost with their context.
    pub fn forget_all(&mut self, is_lost: impl Fn(u64) -> bool) {
        self.memory.retain(|&allocation, _| !is_lost(allocation));
    }

    /// Takes note that a stream was destroyed. It is remembered until the program knows that its work is done.
    pub fn retire(&mut self, stream: Key) {
        let branches =
            self.branches.extract_if(|(of, _), _| *of == stream).map(|(_, branch)| (stream.0, BRANCH | branch));
        self.retired.extend(branches.chain([stream]));
    }

    /// The same for the stream that a thread had, in each context, until it ended.
    pub fn retire_in_all_contexts(&mut self, stream: usize) {
        let keys: Vec<Key> = self.streams.keys().filter(|key| key.1 == stream).copied().collect();
        for key in keys {
            self.retire(key);
        }
    }

    /// The same for all streams of a context, except the default ones, which the next context at its index has again. The
    /// program has waited for the context.
    pub fn retire_context(&mut self, context: usize) {
        self.synchronize(context, None);
        self.branches.retain(|(of, _), _| of.0 != context);
        let is_default = |stream: usize| stream == LEGACY || per_thread::is_one(stream);
        self.retired.extend(self.streams.keys().filter(|key| key.0 == context && !is_default(key.1)));
    }

    /// True if enough streams were destroyed to look for some to forget.
    pub fn is_worth_collecting(&self) -> bool {
        self.retired.len() >= self.worth_collecting.max(FEWEST_COLLECTED)
    }

    /// Forgets the destroyed streams of which the program knows everything, or everything but work on memory that was freed since, such
    /// as the freeing itself: nothing that begins now can be unordered with them. No work may be deferred, because that began
    /// earlier.
    pub fn collect(&mut self) {
        let host = &self.host;
        let works = self.memory.values().flat_map(|history| history.write.iter().chain(&history.reads));
        let matter: HashSet<Key> = works.map(|work| work.stream).collect();
        let is_done = |key: &Key, clock: &Clock| {
            let is_known =
                |(&stream, &time): (&Key, &u64)| knows(host, stream, time) || stream == *key && !matter.contains(key);
            clock.iter().all(is_known)
        };
        let is_done = |key: &Key| self.streams.get(key).is_none_or(|clock| is_done(key, clock));
        let (done, left) = self.retired.drain().partition::<HashSet<_>, _>(is_done);
        self.worth_collecting = 2 * left.len();
        self.retired = left;
        self.streams.retain(|key, _| !done.contains(key));
        self.blocking.retain(|key| !done.contains(key));
        for clock in self.streams.values_mut().chain([&mut self.host]) {
            clock.retain(|key, _| !done.contains(key));
        }
        for history in self.memory.values_mut() {
            history.write.take_if(|work| done.contains(&work.stream));
            history.reads.retain(|work| !done.contains(&work.stream));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{A, B, DEFAULT, work};
    use super::HappensBefore;

    #[test]
    fn destroyed_streams_are_forgotten_once_the_program_has_waited_for_them() {
        let mut order = HappensBefore::default();
        for number in 100..10_100 {
            let stream = (0, number);
            assert!(!work(&mut order, stream, number % 2 == 0));
            order.synchronize(0, Some(number));
            order.retire(stream);
            if order.is_worth_collecting() {
                order.collect();
            }
        }
        assert!(order.streams.len() <= 16 && order.host.len() <= 16, "{order:?}");
        assert!(order.memory[&7].reads.len() <= 16, "{order:?}");
    }

    #[test]
    fn a_destroyed_stream_whose_last_work_frees_its_memory_is_forgotten() {
        let mut order = HappensBefore::default();
        for number in 100..10_100 {
            let stream = (0, number);
            assert!(!work(&mut order, stream, true));
            order.synchronize(0, Some(number));
            order.begin(stream, false);
            order.forget(7);
            order.retire(stream);
            if order.is_worth_collecting() {
                order.collect();
            }
        }
        assert!(order.streams.len() <= 16 && order.host.len() <= 16, "{order:?}");
    }

    #[test]
    fn a_destroyed_stream_that_knows_of_others_is_remembered() {
        let mut order = HappensBefore::default();
        assert!(!work(&mut order, A, true));
        let event = order.recorded(A);
        order.begin(B, true);
        order.wait(B, &event);
        order.retire(B);
        order.collect();
        // The default stream waits for B, which waited for A.
        assert!(!work(&mut order, DEFAULT, true));
    }

    #[test]
    fn a_destroyed_stream_that_nobody_waited_for_still_races() {
        let mut order = HappensBefore::default();
        assert!(!work(&mut order, A, true));
        order.retire(A);
        order.collect();
        assert!(work(&mut order, B, true));
    }

    #[test]
    fn an_event_of_a_forgotten_stream_teaches_nothing() {
        let mut order = HappensBefore::default();
        assert!(!work(&mut order, A, true));
        let event = order.recorded(A);
        order.synchronize(0, Some(A.1));
        order.retire(A);
        order.collect();
        order.wait(B, &event);
        assert!(order.recorded(B).is_empty());
        assert!(!work(&mut order, B, true), "the program has waited for it");
    }

    #[test]
    fn many_streams_that_the_program_waited_for_know_only_of_themselves() {
        let mut order = HappensBefore::default();
        for number in 100..1_100 {
            assert!(!work(&mut order, (0, number), true));
            order.synchronize(0, Some(number));
        }
        assert!(order.streams.values().all(|clock| clock.len() == 1));
    }

    #[test]
    fn a_new_context_has_nothing_to_do_with_an_earlier_one_at_its_index() {
        let mut order = HappensBefore::default();
        assert!(!work(&mut order, A, true));
        order.retire_context(0);
        order.collect();
        assert!(!work(&mut order, DEFAULT, true));
    }
}
