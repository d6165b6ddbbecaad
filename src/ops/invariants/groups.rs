//! Which elements of a tensor a call takes together, such as those of a row that it sums.

use crate::case::Case;
use crate::ops::support::reducing::reductions::reduced_dims;
use crate::tensor::{Tensor, for_each_index};

/// The positions of the elements that become one in an output of the call, in the order of the outputs; `None` if the call does not reduce.
pub fn of(case: &Case, x: &Tensor) -> Option<Vec<Vec<usize>>> {
    along(x, &dims(case, x.shape.len())?)
}

/// The positions of the elements that differ only in `dims`.
pub fn along(x: &Tensor, dims: &[usize]) -> Option<Vec<Vec<usize>>> {
    let kept = |(dim, &size): (usize, &usize)| if dims.contains(&dim) { 1 } else { size };
    let shape: Vec<usize> = x.shape.iter().enumerate().map(kept).collect();
    if dims.iter().any(|&dim| dim >= shape.len()) {
        return None;
    }
    let mut groups = vec![Vec::new(); shape.iter().product()];
    let mut position = 0;
    for_each_index(&x.shape, |index| {
        let group = index.iter().zip(&shape).fold(0, |flat, (&at, &size)| flat * size + at % size);
        groups[group].push(position);
        position += 1;
    });
    Some(groups)
}

/// The dimensions that a call reduces, or along which it normalizes.
fn dims(case: &Case, rank: usize) -> Option<Vec<usize>> {
    match case.op.as_str() {
        "tensor.norm" => Some((0..rank).collect()),
        "op.softmax_last_dim" => Some(vec![rank.checked_sub(1)?]),
        _ if case.text("form") == "all" => Some(reduced_dims(case, rank)),
        // Of no dimension it is open what they are.
        _ if case.params.contains_key("dims") => Some(reduced_dims(case, rank)).filter(|dims| !dims.is_empty()),
        _ => Some(vec![case.size("dim")]),
    }
}
