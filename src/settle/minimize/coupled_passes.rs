//! Passes that change several things at once, for failures that need them in proportion: channels and their groups, a
//! window and the dimension it moves over, numbered inputs.

use std::collections::BTreeSet;

use super::edit::{with_input, with_inputs, with_size};
use crate::case::{Case, Param};
use crate::generate::with_sizes;
use crate::tensor::{Tensor, Value, Values, View, viewed};

/// Equal sizes at one dimension of the shapes, counted from the front or the back. They probably belong together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Side {
    size: usize,
    dim: usize,
    from_back: bool,
}

impl Side {
    /// Every side of more than one entry.
    fn all(case: &Case) -> Vec<Self> {
        let mut sides = BTreeSet::new();
        let ranks: BTreeSet<usize> = case.inputs.values().map(|tensor| tensor.shape.len()).collect();
        for tensor in case.inputs.values() {
            for (dim, &size) in tensor.shape.iter().enumerate().filter(|(_, size)| **size > 1) {
                sides.insert(Self { size, dim, from_back: false });
                if ranks.len() > 1 {
                    sides.insert(Self { size, dim: tensor.shape.len() - 1 - dim, from_back: true });
                }
            }
        }
        sides.into_iter().collect()
    }

    fn resized(&self, case: &Case, to: usize) -> Case {
        with_inputs(case, |tensor| {
            let rank = tensor.shape.len();
            let dim = if self.from_back { rank.checked_sub(self.dim + 1) } else { Some(self.dim) };
            match dim {
                Some(dim) if tensor.shape.get(dim) == Some(&self.size) => with_size(tensor, dim, to),
                _ => tensor.clone(),
            }
        })
    }
}

/// One or two sides that shrink in the same way, and at most one param with them.
pub fn sides(case: &Case) -> Vec<Case> {
    /// Many sides have very many pairs, and the last ones rarely belong together.
    const MAX_CANDIDATES: usize = 2_000;
    let sides = Side::all(case);
    let params: Vec<(&str, usize, usize)> =
        case.numbers().filter_map(|(name, index, value)| Some((name, index, above_one(value)?))).collect();
    let mut candidates = Vec::new();
    let mut shrink = |smaller: &dyn Fn(usize) -> Option<usize>| {
        for (index, first) in sides.iter().enumerate() {
            let Some(to) = smaller(first.size).filter(|_| candidates.len() < MAX_CANDIDATES) else { continue };
            let one = first.resized(case, to);
            let second = sides[index + 1..].iter();
            let two: Vec<Case> = second.filter_map(|side| Some(side.resized(&one, smaller(side.size)?))).collect();
            for &(name, index, value) in &params {
                let Some(value) = smaller(value) else { continue };
                let set = |case: &Case| case.with_number(name, index, Value::Int(value as i64));
                candidates.extend(two.iter().chain([&one]).map(set));
            }
            candidates.extend(two);
        }
    };
    let sizes = sides.iter().map(|side| side.size).chain(params.iter().map(|(_, _, value)| *value));
    for number in sizes.chain([2]).collect::<BTreeSet<usize>>() {
        shrink(&|n| (n % number == 0).then_some(n / number));
        shrink(&|n| n.checked_sub(number - 1).filter(|n| *n > 0));
    }
    candidates
}

fn above_one(value: Value) -> Option<usize> {
    match value {
        Value::Int(value) => usize::try_from(value).ok().filter(|value| (2..=1 << 20).contains(value)),
        Value::Float(_) => None,
    }
}

/// Another simple view of an input, together with a side of size 1: a transposed view needs two dimensions, a margin only one.
pub fn views(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (name, tensor) in case.inputs.iter().filter(|(_, tensor)| !tensor.view.is_contiguous()) {
        let rank = tensor.shape.len();
        let along =
            |dim: usize, rest: usize, value: usize| (0..rank).map(|n| if n == dim { value } else { rest }).collect();
        let plain = (0..rank).flat_map(|dim| {
            let (before, step) = (along(dim, 0, 1), along(dim, 1, 2));
            [
                View { before, ..View::default() },
                View { step, ..View::default() },
                View { broadcast: vec![dim], ..View::default() },
            ]
        });
        for view in plain {
            let other = with_input(case, name, |tensor| viewed(tensor, view.clone()));
            candidates.extend(Side::all(case).iter().map(|side| side.resized(&other, 1)));
            candidates.push(other);
        }
    }
    candidates
}

/// Grows empty dimensions to 1 and shifts ids along: contracts often leave empty tensors unspecified.
pub fn empty_sizes(case: &Case) -> Vec<Case> {
    if !case.inputs.values().any(|tensor| tensor.shape.contains(&0)) {
        return Vec::new();
    }
    let filled = with_sizes(case, &[(0, 1)]);
    let shifted = with_inputs(&filled, |tensor| {
        let moved = |id: Value| Value::Int(id.as_i64().saturating_add(1));
        match tensor.stored() {
            Some(stored) if !tensor.dtype.is_float() => {
                let values = Values::List(tensor.values.to_vec(stored).into_iter().map(moved).collect());
                Tensor { values, ..tensor.clone() }
            }
            _ => tensor.clone(),
        }
    });
    vec![filled, shifted]
}

/// Without one entry of numbered inputs such as `k0`, `v0`, `k1`, `v1`, and without that item of all lists among the params; or
/// without one item of a single list.
pub fn entries(case: &Case) -> Vec<Case> {
    let longest = case.params.values().map(|param| param.items().len()).max().unwrap_or(0);
    let mut entries: BTreeSet<usize> = case.inputs.keys().filter_map(|name| Some(numbered(name)?.1)).collect();
    entries.extend(0..longest);
    let without = |gone: &usize| {
        let renamed = |name: &String| match numbered(name) {
            Some((_, number)) if number == *gone => None,
            Some((stem, number)) if number > *gone => Some(format!("{stem}{}", number - 1)),
            _ => Some(name.clone()),
        };
        let mut fewer = case.clone();
        fewer.inputs = case.inputs.iter().filter_map(|(name, tensor)| Some((renamed(name)?, tensor.clone()))).collect();
        fewer.params.values_mut().for_each(|param| remove(param, *gone));
        fewer
    };
    let mut candidates: Vec<Case> = entries.iter().map(without).collect();
    for (name, param) in &case.params {
        candidates.extend((0..param.items().len()).map(|gone| {
            let mut fewer = case.clone();
            fewer.params.entry(name.clone()).and_modify(|param| remove(param, gone));
            fewer
        }));
    }
    candidates
}

fn remove(param: &mut Param, index: usize) {
    if let Param::List(items) = param
        && index < items.len()
    {
        items.remove(index);
    }
}

/// The stem of a name, and the number at its end.
fn numbered(name: &str) -> Option<(&str, usize)> {
    let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
    Some((stem, name[stem.len()..].parse().ok()?))
}

/// Without one param, whose value replaces the value of another.
pub fn values(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (gone, value) in &case.params {
        for name in case.params.keys().filter(|name| *name != gone) {
            let mut fewer = case.clone();
            fewer.params.remove(gone);
            fewer.params.insert(name.clone(), value.clone());
            candidates.push(fewer);
        }
    }
    candidates
}
