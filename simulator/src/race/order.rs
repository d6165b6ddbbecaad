//! What orders the accesses of a launch beyond barriers of all threads: release and acquire patterns at a place in memory
//! (PTX ISA 8.7, 8.8), and barriers of some threads. Kept for kernels that use them, and for the threads that do.

use std::collections::HashMap;

use super::clock::{Clock, Moment, ThreadId};
use crate::fault::Missing;
use crate::isa::{Scope, Strength};

/// A place in memory by which threads tell each other something: its address, and the block if it is in shared memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Site {
    /// The address, or the offset in shared memory.
    pub address: u64,
    /// The block, linear.
    pub shared_by: Option<u32>,
}

/// Clocks beyond this size learn no more of what explains a race, nor a place of what orders no access yet.
const MOST_GUESSED: usize = 256;

/// What the present value of a place stands for.
#[derive(Debug, Default)]
struct Published {
    /// What happened before it, for all threads.
    device: Clock,
    /// What happened before it, for the threads of one block.
    blocks: HashMap<u32, Clock>,
    /// What would have, if every scope were wide enough.
    widened: Clock,
    /// What would have, if a fence preceded it.
    fenced: Clock,
}

/// What a thread knows, and what it has published.
#[derive(Debug, Default)]
struct Thread {
    time: u32,
    /// What happened before.
    known: Clock,
    /// What it has read of places, and knows once it executes a fence.
    heard: Clock,
    /// The part of that for which a fence of its block is enough.
    heard_in_block: Clock,
    /// What happened before its last fence of each scope, if there was one.
    fences: [Option<Clock>; 2],
    /// What it would know, if every scope were wide enough, or a fence preceded what it read.
    widened: Clock,
    fenced: Clock,
}

/// The order of a launch's accesses, as far as barriers of whole blocks and warps do not say it.
#[derive(Debug, Default)]
pub struct Order {
    threads: HashMap<ThreadId, Thread>,
    /// What all threads of a block know.
    blocks: HashMap<u32, Clock>,
    sites: HashMap<Site, Published>,
    /// What those knew who have arrived at a barrier without waiting there.
    arrived: HashMap<(u32, usize), Clock>,
}

impl Order {
    /// How often a thread has published what it did.
    pub fn time(&self, thread: ThreadId) -> u32 {
        self.threads.get(&thread).map_or(0, |known| known.time)
    }

    /// Whether a thread comes after an access of another.
    pub fn knows(&self, thread: ThreadId, other: ThreadId, at: Moment) -> bool {
        self.blocks.get(&thread.block).is_some_and(|known| known.includes(other, at))
            || self.threads.get(&thread).is_some_and(|known| known.known.includes(other, at))
    }

    /// What would have ordered a thread after an access of another, had it been there.
    pub fn missing(&self, thread: ThreadId, other: ThreadId, at: Moment) -> Option<Missing> {
        let known = self.threads.get(&thread)?;
        if known.heard.includes(other, at) && !known.widened.includes(other, at) {
            Some(Missing::AcquireFence)
        } else if known.widened.includes(other, at) {
            Some(Missing::Scope)
        } else if known.fenced.includes(other, at) {
            Some(Missing::ReleaseFence)
        } else {
            None
        }
    }

    /// A thread executes a fence.
    pub fn fence(&mut self, thread: ThreadId, scope: Scope, now: Moment) {
        let own = self.threads.entry(thread).or_default();
        let (heard, heard_in_block) = (std::mem::take(&mut own.heard), std::mem::take(&mut own.heard_in_block));
        own.known.learn(&heard_in_block);
        if scope == Scope::Device {
            own.known.learn(&heard);
        } else {
            own.widened.learn(&heard);
            own.heard = heard;
        }
        let before = self.publish(thread, now);
        let own = self.threads.entry(thread).or_default();
        own.fences[Scope::Block as usize] = Some(before.clone());
        if scope == Scope::Device {
            own.fences[Scope::Device as usize] = Some(before);
        }
    }

    /// A thread reads a place by a strong access.
    pub fn reads(&mut self, thread: ThreadId, site: Site, strength: Strength) {
        let Some(published) = self.sites.get(&site) else { return };
        let own = self.threads.entry(thread).or_default();
        let in_block = published.blocks.get(&thread.block);
        let everywhere = (strength.scope == Scope::Device).then_some(&published.device);
        if strength.acquires {
            in_block.into_iter().chain(everywhere).for_each(|clock| own.known.learn(clock));
        } else {
            if let Some(clock) = in_block {
                own.heard_in_block.learn(clock);
                own.heard.learn(clock);
            }
            if let Some(clock) = everywhere {
                own.heard.learn(clock);
            }
        }
        for (guess, clock) in [(&mut own.widened, &published.widened), (&mut own.fenced, &published.fenced)] {
            if guess.len() + clock.len() <= MOST_GUESSED {
                guess.learn(clock);
            }
        }
    }

    /// A thread writes to a place by a strong access. `updates`: by one that reads it, too, so that it still stands for what it did.
    pub fn writes(&mut self, thread: ThreadId, site: Site, strength: Strength, updates: bool, now: Moment) {
        let released = strength.releases.then(|| self.publish(thread, now));
        let unfenced = self.before(thread, now);
        let own = self.threads.entry(thread).or_default();
        let of_fence = |scope: Scope| own.fences[scope as usize].clone();
        let in_block = released.clone().or_else(|| of_fence(Scope::Block));
        let everywhere = released.or_else(|| of_fence(Scope::Device)).filter(|_| strength.scope == Scope::Device);
        let published = self.sites.entry(site).or_default();
        if !updates {
            *published = Published::default();
        }
        if let Some(clock) = &in_block {
            published.blocks.entry(thread.block).or_default().learn(clock);
            if everywhere.is_none() && published.widened.len() < MOST_GUESSED {
                published.widened.learn(clock);
            }
        }
        if let Some(clock) = everywhere {
            published.device.learn(&clock);
        }
        if published.fenced.len() < MOST_GUESSED {
            published.fenced.learn(&unfenced);
        }
    }

    /// A place is written to by a weak access, by which nobody learns anything.
    pub fn forgets(&mut self, site: Site) {
        self.sites.remove(&site);
    }

    /// All threads of a block meet: what one knows, all know.
    pub fn meet(&mut self, block: u32) {
        let known = self.blocks.entry(block).or_default();
        for (_, thread) in self.threads.iter_mut().filter(|(id, _)| id.block == block) {
            known.learn(&std::mem::take(&mut thread.known));
        }
    }

    /// These threads meet at a barrier that orders by itself what they did: what one knows of others, all know.
    pub fn share(&mut self, threads: &[(ThreadId, Moment)]) {
        let mut known = Clock::default();
        for own in threads.iter().filter_map(|(thread, _)| self.threads.get(thread)) {
            known.learn(&own.known);
        }
        if !known.is_empty() {
            for (thread, _) in threads {
                self.threads.entry(*thread).or_default().known = known.clone();
            }
        }
    }

    /// These threads meet, each where it is now, with those who arrived at the barrier of this number without waiting.
    pub fn meet_some(&mut self, threads: &[(ThreadId, Moment)], barrier: Option<usize>) {
        let Some((first, _)) = threads.first() else { return };
        let mut known = barrier.and_then(|number| self.arrived.remove(&(first.block, number))).unwrap_or_default();
        for &(thread, now) in threads {
            known.learn(&self.publish(thread, now));
        }
        for (thread, _) in threads {
            self.threads.entry(*thread).or_default().known = known.clone();
        }
    }

    /// A thread arrives at the barrier of this number and does not wait.
    pub fn arrive(&mut self, thread: ThreadId, number: usize, now: Moment) {
        let before = self.publish(thread, now);
        self.arrived.entry((thread.block, number)).or_default().learn(&before);
    }

    /// The blocks that ran until now have ended.
    pub fn end_blocks(&mut self) {
        self.threads.clear();
        self.blocks.clear();
        self.arrived.clear();
        self.sites.retain(|site, _| site.shared_by.is_none());
    }

    /// What happened before a thread's next access.
    fn before(&self, thread: ThreadId, now: Moment) -> Clock {
        let own = self.threads.get(&thread);
        let mut before = own.map_or_else(Clock::default, |own| own.known.clone());
        if let Some(known) = self.blocks.get(&thread.block) {
            before.learn(known);
        }
        before.add(thread, Moment { time: own.map_or(0, |own| own.time), ..now });
        before
    }

    /// The same, after which a new time begins for the thread.
    fn publish(&mut self, thread: ThreadId, now: Moment) -> Clock {
        let before = self.before(thread, now);
        self.threads.entry(thread).or_default().time += 1;
        before
    }
}
