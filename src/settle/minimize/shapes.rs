//! Passes over shapes: smaller sizes, fewer dimensions.

use std::collections::BTreeSet;

use super::edit::{with_input, with_inputs, with_size};
use crate::case::Case;
use crate::generate::with_sizes;
use crate::tensor::{Tensor, sliced, without_dim};

/// The sizes that a size may shrink to, the boldest first.
fn smaller(size: usize) -> Vec<usize> {
    let mut sizes = vec![1, 2, 3, 0];
    let mut step = size / 2;
    while step > 0 {
        sizes.push(size - step);
        step /= 2;
    }
    let mut seen = BTreeSet::new();
    sizes.retain(|&n| (n < size || (n <= 2 && size == 0)) && n != size && seen.insert(n));
    sizes
}

/// Shrinks all sizes at once, then equal sizes everywhere: dimensions that belong together usually have the same size.
pub fn sizes(case: &Case) -> Vec<Case> {
    let mut all: Vec<usize> = case.inputs.values().flat_map(|tensor| tensor.shape.clone()).collect();
    all.sort_unstable_by(|a, b| b.cmp(a));
    all.dedup();
    let replace = |pairs: &[(usize, usize)]| with_sizes(case, pairs);
    let mut candidates = Vec::new();
    if all.len() > 1 {
        for to in [1, 2] {
            let pairs: Vec<(usize, usize)> =
                all.iter().filter(|from| **from > to || **from == 0).map(|&from| (from, to)).collect();
            candidates.push(replace(&pairs));
        }
    }
    for &from in &all {
        candidates.extend(smaller(from).into_iter().map(|to| replace(&[(from, to)])));
    }
    // Channels and groups: if one size is a multiple of another, both shrink by the same factor.
    for &factor in all.iter().filter(|factor| **factor > 1) {
        let multiples = all.iter().filter(|n| **n > factor && *n % factor == 0);
        candidates.extend(multiples.map(|&multiple| replace(&[(factor, 1), (multiple, multiple / factor)])));
    }
    candidates
}

/// Shrinks the same dimension of all inputs, then one dimension of one input at a time.
pub fn dims(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    let rank = case.inputs.values().map(|tensor| tensor.shape.len()).max().unwrap_or(0);
    for dim in 0..rank {
        for to in [1, 2] {
            candidates.push(with_inputs(case, |tensor| match tensor.shape.get(dim) {
                Some(&n) if n > to => with_size(tensor, dim, to),
                _ => tensor.clone(),
            }));
        }
    }
    candidates.extend(slices(case));
    for (name, tensor) in &case.inputs {
        for (dim, &size) in tensor.shape.iter().enumerate() {
            candidates.extend(smaller(size).into_iter().map(|to| with_input(case, name, |t| with_size(t, dim, to))));
        }
    }
    candidates
}

/// Keeps a part of a dimension, such as its last or middle entry: in all inputs with the same size there, or in one.
fn slices(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    for (name, tensor) in &case.inputs {
        for (dim, &size) in tensor.shape.iter().enumerate().filter(|(_, size)| **size > 1) {
            for (start, count) in [(size - 1, 1), (size / 2, 1), (size / 2, size - size / 2), (1, size - 1)] {
                let fits = |t: &Tensor| t.shape.get(dim) == Some(&size);
                let cut = |t: &Tensor| if fits(t) { sliced(t, dim, start, count) } else { t.clone() };
                candidates.push(with_inputs(case, cut));
                candidates.push(with_input(case, name, |t| sliced(t, dim, start, count)));
            }
        }
    }
    candidates
}

/// Removes a dimension: from all inputs of one rank, from all that have it, or from one.
pub fn ranks(case: &Case) -> Vec<Case> {
    let mut candidates = Vec::new();
    let ranks: BTreeSet<usize> = case.inputs.values().map(|tensor| tensor.shape.len()).collect();
    for &rank in ranks.iter().rev() {
        for dim in 0..rank {
            let drop_if = |has_rank: &dyn Fn(usize) -> bool| {
                with_inputs(case, |t| if has_rank(t.shape.len()) { without_dim(t, dim) } else { t.clone() })
            };
            candidates.push(drop_if(&|n| n == rank));
            candidates.push(drop_if(&|n| n > dim));
        }
    }
    for (name, tensor) in &case.inputs {
        candidates.extend((0..tensor.shape.len()).map(|dim| with_input(case, name, |t| without_dim(t, dim))));
    }
    // Without a dimension, the param `dim` may have to be one less.
    let moved: Vec<Case> = candidates.iter().flat_map(lower_dim_params).collect();
    candidates.extend(moved);
    candidates
}

/// `case` with `dim` one lower, and with `dims` as they are without one of the dimensions that an input has.
fn lower_dim_params(case: &Case) -> Vec<Case> {
    let dim = case.int("dim");
    let mut candidates = Vec::from_iter((dim > 0).then(|| case.clone().param("dim", dim - 1)));
    let dims = case.sizes("dims");
    if dims.is_empty() {
        return candidates;
    }
    let rank = case.inputs.values().map(|tensor| tensor.shape.len()).max().unwrap_or(0);
    for gone in 0..rank {
        let left = dims.iter().filter(|&&dim| dim != gone).map(|&dim| if dim > gone { dim - 1 } else { dim });
        candidates.push(case.clone().param("dims", left.collect::<Vec<usize>>()));
    }
    candidates
}
