//! The labels of programs without synchronization once more: from the accesses of every thread, each pair of which is looked at.

use std::collections::BTreeMap;

use super::expand::{Label, ours};

/// How a thread accesses a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    Read,
    /// Writes what other threads do not write.
    Write,
    /// Writes what every thread writes.
    WriteSame,
    /// Reads as an atomic does.
    Strong,
    Atomic,
    /// Is atomic for its own block.
    AtomicInBlock,
}

#[derive(Debug, Clone, Copy)]
struct Access {
    thread: i64,
    block: i64,
    cell: i64,
    how: How,
}

/// What two accesses are together, the gravest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Pair {
    Race,
    Scope,
    SameValue,
}

impl Pair {
    fn of(one: Access, other: Access) -> Option<Self> {
        let writes = |access: Access| !matches!(access.how, How::Read | How::Strong);
        if one.thread == other.thread || one.cell != other.cell || !(writes(one) || writes(other)) {
            return None;
        }
        let is_strong = |access: Access| matches!(access.how, How::Strong | How::Atomic | How::AtomicInBlock);
        match (is_strong(one) && is_strong(other), [one.how, other.how]) {
            (true, hows) => (hows.contains(&How::AtomicInBlock) && one.block != other.block).then_some(Self::Scope),
            (false, [How::WriteSame, How::WriteSame]) => Some(Self::SameValue),
            (false, _) => Some(Self::Race),
        }
    }
}

/// The edges of a graph, each from its source to its target.
fn edges(shape: &str, nodes: i64) -> Vec<(i64, i64)> {
    let all = (0..nodes).flat_map(|from| (0..nodes).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let is_edge = |(from, to): &(i64, i64)| match shape {
        "ring" => *to == (from + 1) % nodes,
        "star" => *to == 0,
        "pairs" => from % 2 == 0 && *to == from + 1,
        "line" => (from - to).abs() == 1,
        "complete" => true,
        "empty" => false,
        other => panic!("no shape {other}"),
    };
    all.filter(is_edge).collect()
}

/// The accesses that a node's thread makes to the array that others may write, by the sources' comments. `None` for other programs and
/// bugs.
fn accesses(label: &Label) -> Option<Vec<Access>> {
    use How::{Atomic, AtomicInBlock, Read, Strong, Write, WriteSame};
    let inputs: BTreeMap<&str, &str> = label.arguments.iter().filter_map(|word| word.split_once('=')).collect();
    let number = |key: &str| inputs[key].parse::<i64>().expect("a number");
    // To the node's own cell, and to that of a target.
    let (own, target): (&[How], &[How]) = match (label.template.as_str(), label.bug.as_str()) {
        ("maximum", "none") => (&[Read], &[Read]),
        ("maximum", "plain_read") => (&[Read, Write], &[Read]),
        ("push", "none") => (&[], &[Atomic]),
        ("push", "plain_update") => (&[], &[Read, Write]),
        ("push", "narrow_atomic") => (&[], &[AtomicInBlock]),
        ("push", "same_value") => (&[], &[WriteSame]),
        ("push", "plain_read") => (&[Read], &[Atomic]),
        ("pull", "none") => (&[Atomic], &[Strong]),
        ("pull", "plain_update") => (&[Read, Write], &[Strong]),
        ("pull", "plain_read") => (&[Atomic], &[Read]),
        ("pull", "narrow_atomic") => (&[AtomicInBlock], &[Strong]),
        _ => return None,
    };
    let (nodes, threads) = (number("nodes"), number("threads"));
    let at = |thread: i64, cell: i64, how: &How| Access { thread, block: thread / threads, cell, how: *how };
    let own = (0..nodes).flat_map(|node| own.iter().map(move |how| at(node, node, how)));
    let edges = edges(inputs["shape"], nodes);
    let targets = edges.iter().flat_map(|&(from, to)| target.iter().map(move |how| at(from, to, how)));
    Some(own.chain(targets).collect())
}

/// The gravest of all pairs, as a class.
fn class(accesses: &[Access]) -> &'static str {
    let mut cells: BTreeMap<i64, Vec<Access>> = BTreeMap::new();
    for access in accesses {
        cells.entry(access.cell).or_default().push(*access);
    }
    let pairs = cells.values().flat_map(|all| {
        all.iter().enumerate().flat_map(|(at, one)| all[..at].iter().filter_map(|other| Pair::of(*one, *other)))
    });
    match pairs.min() {
        Some(Pair::Race) => "race",
        Some(Pair::Scope) => "scope",
        Some(Pair::SameValue) => "race-same-value",
        None => "none",
    }
}

#[test]
fn the_labels_of_graph_programs_follow_from_every_pair_of_accesses() {
    let mut seen: BTreeMap<&str, usize> = BTreeMap::new();
    for label in ours() {
        let Some(accesses) = accesses(&label) else { continue };
        let found = class(&accesses);
        assert_eq!(found, label.class, "{} {:?}", label.command, label.arguments);
        *seen.entry(found).or_default() += 1;
    }
    assert!(seen.len() == 4 && seen.values().sum::<usize>() > 200, "{seen:?}");
}
