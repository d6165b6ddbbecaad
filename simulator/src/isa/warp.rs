//! Control flow, barriers and exchange between the lanes of a warp (PTX ISA 9.7.9.6, 9.7.12, 9.7.13).

use super::{Action, Scope, Table};
use crate::lanes::{Lane, Lanes, lanes, mask_of};

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

/// What a lane learns of the values of its group, the lanes that execute the instruction together: a number and a predicate.
pub type Gather = fn(values: &Lanes, group: u32, lane: usize) -> (u64, bool);

/// A barrier of the block (9.7.13.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockBarrier {
    /// Whether threads wait, or only arrive.
    pub waits: bool,
    /// Whether all threads of a warp must reach it together.
    pub aligned: bool,
    /// What the threads learn of each other's predicates.
    pub reduction: Option<Reduction>,
}

/// How a barrier combines the predicates of its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reduction {
    /// How many hold.
    Count,
    /// Whether all hold.
    All,
    /// Whether any holds.
    Any,
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
    table.add("trap", Action::Trap("trap"));
    // Without a debugger it ends the kernel too.
    table.add("brkpt", Action::Trap("brkpt"));

    table.group("Barriers and lanes (9.7.9.6, 9.7.13)");
    barriers(table);
    table.add("bar.warp.sync", Action::WarpBarrier);
    for (scope, name) in [(Scope::Block, "cta"), (Scope::Device, "gl"), (Scope::Device, "sys")] {
        table.add(format!("membar.{name}"), Action::Fence(scope));
    }
    for (scope, name) in
        [(Scope::Block, "cta"), (Scope::Block, "cluster"), (Scope::Device, "gpu"), (Scope::Device, "sys")]
    {
        for order in ["sc", "acq_rel", "acquire", "release"] {
            table.add(format!("fence.{order}.{name}"), Action::Fence(scope));
        }
    }
    for name in ["nanosleep.u32", "prefetch.global.L1", "prefetch.global.L2"] {
        table.add(name, Action::Nothing);
    }
    for (name, choose) in
        [("bfly", Choose::Butterfly), ("up", Choose::Up), ("down", Choose::Down), ("idx", Choose::Index)]
    {
        table.add(format!("shfl.sync.{name}.b32"), Action::Shuffle(choose));
    }
    table.add("activemask.b32", Action::ActiveMask);
    gathers(table);
}

fn barriers(table: &mut Table) {
    let reductions =
        [("popc", "u32", Reduction::Count), ("and", "pred", Reduction::All), ("or", "pred", Reduction::Any)];
    // `bar` is an aligned `barrier`.
    for (name, alignment, aligned) in [("bar", "", true), ("barrier", ".aligned", true), ("barrier", "", false)] {
        for scope in ["", ".cta"] {
            let mut add = |what: &str, suffix: &str, waits, reduction| {
                let barrier = BlockBarrier { waits, aligned, reduction };
                table.add(format!("{name}{scope}.{what}{alignment}{suffix}"), Action::Barrier(barrier));
            };
            add("sync", "", true, None);
            add("arrive", "", false, None);
            for (what, kind, reduction) in reductions {
                add(&format!("red.{what}"), &format!(".{kind}"), true, Some(reduction));
            }
        }
    }
}

/// Votes, matches and reductions (9.7.13.7 to 9.7.13.11).
fn gathers(table: &mut Table) {
    let votes: [(&str, Gather); 4] = [
        ("all.pred", |values, group, _| (u64::from(mask_of(values) & group == group), false)),
        ("any.pred", |values, group, _| (u64::from(mask_of(values) & group != 0), false)),
        ("uni.pred", |values, group, _| (u64::from([0, group].contains(&(mask_of(values) & group))), false)),
        ("ballot.b32", |values, group, _| (u64::from(mask_of(values) & group), false)),
    ];
    for (name, gather) in votes {
        table.add(format!("vote.sync.{name}"), Action::Gather(gather));
    }
    table.add("match.any.sync.b32", Action::Gather(|values, group, lane| (same::<u32>(values, group, lane), false)));
    table.add("match.any.sync.b64", Action::Gather(|values, group, lane| (same::<u64>(values, group, lane), false)));
    table.add("match.all.sync.b32", Action::Gather(all_same::<u32>));
    table.add("match.all.sync.b64", Action::Gather(all_same::<u64>));
    macro_rules! reductions {
        ($($name:literal: $type:ty, |$a:ident, $b:ident| $body:expr);+ $(;)?) => {$(
            table.add(concat!("redux.sync.", $name), Action::Gather(|values, group, _| {
                let values = lanes(group).map(|lane| <$type>::of(values[lane]));
                (values.reduce(|$a, $b| $body).map_or(0, Lane::bits), false)
            }));
        )+};
    }
    reductions! {
        "add.u32": u32, |a, b| a.wrapping_add(b);
        "add.s32": i32, |a, b| a.wrapping_add(b);
        "min.u32": u32, |a, b| a.min(b);
        "min.s32": i32, |a, b| a.min(b);
        "max.u32": u32, |a, b| a.max(b);
        "max.s32": i32, |a, b| a.max(b);
        "and.b32": u32, |a, b| a & b;
        "or.b32": u32, |a, b| a | b;
        "xor.b32": u32, |a, b| a ^ b;
    }
}

/// The lanes of the group whose value is that of `lane`.
fn same<T: Lane + PartialEq>(values: &Lanes, group: u32, lane: usize) -> u64 {
    lanes(group).filter(|&other| T::of(values[other]) == T::of(values[lane])).map(|other| 1 << other).sum()
}

/// The group if all its values are the same, else none, and whether they are.
fn all_same<T: Lane + PartialEq>(values: &Lanes, group: u32, lane: usize) -> (u64, bool) {
    let all = same::<T>(values, group, lane) == u64::from(group);
    (if all { group.into() } else { 0 }, all)
}
