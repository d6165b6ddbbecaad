//! Control flow, barriers and exchange between the lanes of a warp (PTX ISA 9.7.9.6, 9.7.12, 9.7.13).

use super::float::{greater, lesser, lesser_or_nan};
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
    table.add("brx.idx", Action::BranchByNumber);
    table.add("brx.idx.uni", Action::BranchByNumber);
    table.add("exit", Action::Exit);
    table.add("trap", Action::Trap("trap"));
    // Without a debugger it ends the kernel too.
    table.add("brkpt", Action::Trap("brkpt"));

    table.group("Barriers and lanes (9.7.9.6, 9.7.13)");
    barriers(table);
    table.add("bar.warp.sync", Action::WarpBarrier);
    fences(table);
    nothing(table);
    for (name, choose) in
        [("bfly", Choose::Butterfly), ("up", Choose::Up), ("down", Choose::Down), ("idx", Choose::Index)]
    {
        table.add(format!("shfl.sync.{name}.b32"), Action::Shuffle(choose));
        // Without a member mask, the lanes that execute it take part.
        table.add(format!("shfl.{name}.b32"), Action::Shuffle(choose));
    }
    table.add(
        "elect.sync",
        Action::Elect(|_, group, lane| {
            let leader = group.trailing_zeros();
            (leader.into(), leader == lane as u32)
        }),
    );
    table.add("activemask.b32", Action::ActiveMask);
    gathers(table);
}

/// Fences. One that names no order is `fence.acq_rel` (9.7.13.4), and `membar` is an older name.
fn fences(table: &mut Table) {
    for (scope, name) in [(Scope::Block, "cta"), (Scope::Device, "gl"), (Scope::Device, "sys")] {
        table.add(format!("membar.{name}"), Action::Fence(scope));
    }
    let scopes = [(Scope::Block, "cta"), (Scope::Block, "cluster"), (Scope::Device, "gpu"), (Scope::Device, "sys")];
    for (scope, name) in scopes {
        for order in ["", ".sc", ".acq_rel", ".acquire", ".release"] {
            table.add(format!("fence{order}.{name}"), Action::Fence(scope));
        }
    }
}

/// What orders memory, sleeps, or is for a cache or a profiler: one warp runs at a time, and there are no caches.
fn nothing(table: &mut Table) {
    for kind in ["alias", "async", "async.global", "async.shared::cta", "async.shared::cluster"] {
        table.add(format!("fence.proxy.{kind}"), Action::Nothing);
        table.add(format!("membar.proxy.{kind}"), Action::Nothing);
    }
    for scope in ["cta", "cluster", "gpu", "sys"] {
        for order in ["acquire", "release"] {
            table.add(format!("fence.proxy.tensormap::generic.{order}.{scope}"), Action::Nothing);
        }
    }
    for name in [
        "fence.acquire.sync_restrict::shared::cluster.cluster",
        "fence.release.sync_restrict::shared::cta.cluster",
        "fence.mbarrier_init.release.cluster",
        "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
        "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster",
        "nanosleep.u32",
        "griddepcontrol.launch_dependents",
        "griddepcontrol.wait",
        "setmaxnreg.inc.sync.aligned.u32",
        "setmaxnreg.dec.sync.aligned.u32",
        "pmevent",
        "pmevent.mask",
        "prefetch.global.L2::evict_last",
        "prefetch.global.L2::evict_normal",
        "prefetch.tensormap",
        "prefetch.const.tensormap",
        "prefetch.param.tensormap",
        "prefetchu.L1",
        "applypriority.L2::evict_normal",
        // The bytes may be any afterwards, and are those that were there.
        "discard.L2",
        "discard.global.L2",
        "applypriority.global.L2::evict_normal",
    ] {
        table.add(name, Action::Nothing);
    }
    for space in ["", ".global", ".local"] {
        for level in ["L1", "L2"] {
            table.add(format!("prefetch{space}.{level}"), Action::Nothing);
        }
    }
    // A policy is a number that only caches understand.
    const FRACTIONS: [&str; 4] = ["evict_last", "evict_normal", "evict_first", "evict_unchanged"];
    for first in FRACTIONS {
        for second in ["", ".L2::evict_first", ".L2::evict_unchanged"] {
            for kind in ["fractional", "range", "range.global"] {
                table.add(format!("createpolicy.{kind}.L2::{first}{second}.b64"), Action::Policy);
            }
        }
    }
    table.add("createpolicy.cvt.L2.b64", Action::Policy);
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
        table.add(format!("vote.{name}"), Action::Gather(gather));
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
        "min.f32": f32, |a, b| lesser(a.into(), b.into()) as f32;
        "max.f32": f32, |a, b| greater(a, b);
        "min.NaN.f32": f32, |a, b| lesser_or_nan(a, b);
        "max.NaN.f32": f32, |a, b| -lesser_or_nan(-a, -b);
        "min.abs.f32": f32, |a, b| lesser(a.abs().into(), b.abs().into()) as f32;
        "max.abs.f32": f32, |a, b| greater(a.abs(), b.abs());
        "min.abs.NaN.f32": f32, |a, b| lesser_or_nan(a.abs(), b.abs());
        "max.abs.NaN.f32": f32, |a, b| -lesser_or_nan(-a.abs(), -b.abs());
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
