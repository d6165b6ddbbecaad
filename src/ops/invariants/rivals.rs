//! Rivals: elements that are written to one place, of which one wins as a whole, and elements that are equally large, which share what one of
//! them would get.

use std::collections::BTreeMap;

use super::groups;
use crate::case::{Backward, Case, weight};
use crate::ops::in_range;
use crate::ops::support::images::pooling::kernel_and_stride;
use crate::tensor::{Tensor, for_each_index};

/// The elements of `src` that a scatter writes to each place of `x`; none if the shapes do not fit, or if there are too many.
pub fn written(case: &Case) -> BTreeMap<usize, Vec<usize>> {
    let mut places: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let (Some(x), Some(ids), Some(src)) = (case.tensor("x"), case.tensor("ids"), case.tensor("src")) else {
        return places;
    };
    let (dim, rank) = (case.size("dim"), x.shape.len());
    let fits = |d: usize| ids.shape[d] <= src.shape[d] && (d == dim || ids.shape[d] <= x.shape[d]);
    let is_listed = !ids.dtype.is_float() && ![x, ids, src].iter().any(|tensor| tensor.is_vast());
    if !is_listed || dim >= rank || [ids, src].iter().any(|tensor| tensor.shape.len() != rank) || !(0..rank).all(fits) {
        return places;
    }
    let flat =
        |index: &[usize], shape: &[usize]| index.iter().zip(shape).fold(0, |flat, (&at, &size)| flat * size + at);
    let mut all = ids.ints().into_iter();
    for_each_index(&ids.shape, |index| {
        if let Some(id) = all.next().filter(|&id| in_range(id, x.shape[dim])) {
            let mut place = index.to_vec();
            place[dim] = id as usize;
            places.entry(flat(&place, &x.shape)).or_default().push(flat(index, &src.shape));
        }
    });
    places
}

/// How rivals share the gradient of the place that they compete for.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Share {
    /// Each gets nothing or all of it. torch.Tensor.scatter_ gives it to all, and says that this is not the derivative.
    NothingOrAll,
    /// Each gets a part of it, and all of them together get it once.
    Parts,
}

/// Elements of inputs that compete for one element of the output.
struct Rivals {
    members: Vec<(&'static str, usize)>,
    place: usize,
    share: Share,
}

/// The first input whose rivals share their gradient wrongly, and a sentence about it.
pub fn broken_shares(case: &Case, gradients: &BTreeMap<String, Tensor>) -> Option<(&'static str, String)> {
    let lists: BTreeMap<&str, Vec<f64>> = gradients.iter().map(|(name, grad)| (name.as_str(), grad.floats())).collect();
    let is_plain = |name: &str| case.tensor(name).is_some_and(|tensor| tensor.view.broadcast.is_empty());
    all(case).into_iter().find_map(|Rivals { members, place, share }| {
        let of = |&(name, at): &(&'static str, usize)| Some(*lists.get(name).filter(|_| is_plain(name))?.get(at)?);
        let got: Vec<f64> = members.iter().map(of).collect::<Option<_>>()?;
        let (input, dtype) = (members[0].0, gradients.get(members[0].0)?.dtype);
        let whole = if is_weighted(case) { weight(place) } else { 1.0 };
        let slack = 4.0 * got.len() as f64 * dtype.unit_roundoff() * whole.abs();
        let (low, high) = (whole.min(0.0) - slack, whole.max(0.0) + slack);
        let is_right = match share {
            Share::NothingOrAll => got.iter().all(|&part| part == 0.0 || part == whole),
            Share::Parts => {
                got.iter().all(|part| (low..=high).contains(part)) && (got.iter().sum::<f64>() - whole).abs() <= slack
            }
        };
        let shares = match share {
            Share::NothingOrAll => "nothing or all",
            Share::Parts => "parts that add up to all",
        };
        (!is_right).then(|| {
            let names: Vec<String> = members.iter().map(|(name, at)| format!("{at} of {name}")).collect();
            (
                input,
                format!("elements {}, which are rivals: expected {shares} of {whole:?}, got {got:?}", names.join(", ")),
            )
        })
    })
}

/// True if the backward pass starts from a sum in which each element of the output has its own weight.
fn is_weighted(case: &Case) -> bool {
    let is_scalar = case.text("form") == "all"
        || case.op.starts_with("tensor.m") && case.inputs.values().all(|x| x.shape.is_empty());
    matches!(case.backward, Backward::Weighted | Backward::Twice) && !is_scalar
}

fn all(case: &Case) -> Vec<Rivals> {
    match case.op.as_str() {
        "tensor.scatter" => {
            let contested = written(case).into_iter().filter(|(_, sources)| sources.len() > 1);
            let of_src = |sources: Vec<usize>| sources.into_iter().map(|at| ("src", at)).collect();
            contested
                .map(|(place, sources)| Rivals { members: of_src(sources), place, share: Share::NothingOrAll })
                .collect()
        }
        "tensor.maximum" | "tensor.minimum" => tied_pairs(case),
        "tensor.max" => tied(case, groups_of(case), f64::max),
        "tensor.min" => tied(case, groups_of(case), f64::min),
        "tensor.max_pool2d" => tied(case, windows(case), f64::max),
        _ => Vec::new(),
    }
}

/// The pairs of equal elements of two inputs of one shape.
fn tied_pairs(case: &Case) -> Vec<Rivals> {
    let (Some(lhs), Some(rhs)) = (case.tensor("lhs"), case.tensor("rhs")) else { return Vec::new() };
    if lhs.shape != rhs.shape {
        return Vec::new();
    }
    let pairs = lhs.floats().into_iter().zip(rhs.floats()).enumerate().filter(|(_, (left, right))| left == right);
    pairs.map(|(at, _)| Rivals { members: vec![("lhs", at), ("rhs", at)], place: at, share: Share::Parts }).collect()
}

/// The elements of each group of `x` that are as good as its best, if there are several.
fn tied(case: &Case, groups: Option<Vec<Vec<usize>>>, better: fn(f64, f64) -> f64) -> Vec<Rivals> {
    let (Some(x), Some(groups)) = (case.tensor("x"), groups) else { return Vec::new() };
    let numbers = x.floats();
    let of_group = |(place, group): (usize, Vec<usize>)| {
        let best = group.iter().map(|&at| numbers[at]).reduce(better)?;
        let members: Vec<_> = group.into_iter().filter(|&at| numbers[at] == best).map(|at| ("x", at)).collect();
        (members.len() > 1).then_some(Rivals { members, place, share: Share::Parts })
    };
    groups.into_iter().enumerate().filter_map(of_group).collect()
}

fn groups_of(case: &Case) -> Option<Vec<Vec<usize>>> {
    groups::of(case, case.tensor("x")?)
}

/// The elements of each window, if no two windows overlap: an element of two windows adds up what it gets.
fn windows(case: &Case) -> Option<Vec<Vec<usize>>> {
    let ((kh, kw), (sh, sw)) = kernel_and_stride(case);
    let &[n, c, height, width] = case.tensor("x")?.shape.as_slice() else { return None };
    if kh == 0 || kw == 0 || sh < kh || sw < kw {
        return None;
    }
    let (rows, columns) = (height.checked_sub(kh)? / sh + 1, width.checked_sub(kw)? / sw + 1);
    let mut windows = Vec::new();
    for_each_index(&[n * c, rows, columns], |at| {
        let element = |k: usize| (at[0] * height + at[1] * sh + k / kw) * width + at[2] * sw + k % kw;
        windows.push((0..kh * kw).map(element).collect());
    });
    Some(windows)
}
