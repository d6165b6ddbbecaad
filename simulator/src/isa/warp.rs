//! Control flow, barriers and exchange between the lanes of a warp (PTX ISA 9.7.9.6, 9.7.12, 9.7.13).

use super::{Action, Table};

/// Which lane a lane reads from in `shfl.sync` (9.7.9.6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Choose {
    /// The lane's number with bits flipped.
    Butterfly,
    /// A lane before.
    Up,
    /// A lane after.
    Down,
    /// A lane by number.
    Index,
}

impl Choose {
    /// The source of `lane`, and whether it is in range: the pseudo-code of 9.7.9.6. `clamp` holds the last lane of a
    /// segment in its low five bits and the segment's mask above.
    pub fn source(self, lane: u32, b: u32, clamp: u32) -> (u32, bool) {
        let (b, limit, segment) = (b & 31, clamp & 31, clamp >> 8 & 31);
        let last = (lane & segment) | (limit & !segment);
        let first = lane & segment;
        let (source, inside) = match self {
            Self::Up => (lane.wrapping_sub(b), lane as i32 - b as i32 >= last as i32),
            Self::Down => (lane + b, lane + b <= last),
            Self::Butterfly => (lane ^ b, lane ^ b <= last),
            Self::Index => (first | (b & !segment), first | (b & !segment) <= last),
        };
        if inside { (source, true) } else { (lane, false) }
    }
}

/// What `vote.sync` answers (9.7.13.9).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Vote {
    /// True if all votes are true.
    All,
    /// True if any vote is true.
    Any,
    /// True if all votes agree.
    Uniform,
    /// A bit for each lane.
    Ballot,
}

pub(super) fn forms(table: &mut Table) {
    table.group("Control flow (9.7.12)");
    table.add("bra", Action::Branch);
    table.add("bra.uni", Action::Branch);
    table.add("call", Action::Call);
    table.add("call.uni", Action::Call);
    table.add("ret", Action::Return);
    table.add("ret.uni", Action::Return);
    table.add("exit", Action::Return);
    table.add("trap", Action::Trap);

    table.group("Barriers and lanes (9.7.9.6, 9.7.13)");
    table.add("bar.sync", Action::Barrier);
    table.add("barrier.sync", Action::Barrier);
    table.add("barrier.sync.aligned", Action::Barrier);
    table.add("bar.warp.sync", Action::WarpBarrier);
    for name in [
        "membar.cta",
        "membar.gl",
        "membar.sys",
        "fence.acq_rel.gpu",
        "fence.sc.gpu",
        "nanosleep.u32",
        "fence.acq_rel.cta",
        "fence.sc.cta",
        "fence.acq_rel.sys",
        "fence.sc.sys",
        "prefetch.global.L1",
        "prefetch.global.L2",
    ] {
        table.add(name, Action::Nothing);
    }
    for (name, choose) in
        [("bfly", Choose::Butterfly), ("up", Choose::Up), ("down", Choose::Down), ("idx", Choose::Index)]
    {
        table.add(format!("shfl.sync.{name}.b32"), Action::Shuffle(choose));
    }
    table.add("vote.sync.all.pred", Action::Vote(Vote::All));
    table.add("vote.sync.any.pred", Action::Vote(Vote::Any));
    table.add("vote.sync.uni.pred", Action::Vote(Vote::Uniform));
    table.add("vote.sync.ballot.b32", Action::Vote(Vote::Ballot));
}
