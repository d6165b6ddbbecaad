//! Rows sorted along the last dimension: cases, contract and reference.

use ndarray::{ArrayD, Axis, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::{Contract, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support};

/// The dtypes of these ops.
pub const SUPPORT: &Support = &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// Where the contract of these ops comes from.
pub const SORT_PROMISE: &str =
    "candle-core/src/sort.rs:260-300: unstable, so the order of equals is unspecified; torch.sort";

/// A case with a last dimension.
pub fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let mut shape = draw.open_shape(0, 2)?;
    shape.push(draw.lane()?);
    let dtype = draw.dtype(SUPPORT)?;
    let mut case = Case::default().input("x", draw.packed(dtype, &shape)?).param("asc", draw.between(0, 1)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// Whether the order is ascending.
pub fn ascending(case: &Case) -> bool {
    case.int("asc") != 0
}

/// Accepts a sort with an output of positions.
pub fn contract(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(&rule::SHAPES) };
    if x.shape.is_empty() {
        return Contract::Rejects(&rule::RANK);
    }
    Contract::accepts(DType::U32, &x.shape).may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
}

/// Every row replaced by `f` of it and of its positions in sorted order.
pub fn sorted_rows(inputs: &ReferenceInputs, f: impl Fn(&[Num], &[usize]) -> Vec<Num>) -> Vec<ArrayD<Num>> {
    let mut x = inputs.array("x");
    let last = Axis(x.ndim() - 1);
    if x.is_empty() {
        return vec![ArrayD::from_elem(IxDyn(x.shape()), Num::exact(0.0))];
    }
    for mut lane in x.lanes_mut(last) {
        let row: Vec<Num> = lane.iter().copied().collect();
        let mut order: Vec<usize> = (0..row.len()).collect();
        order.sort_by(|&a, &b| row[a].value.total_cmp(&row[b].value));
        if !ascending(inputs.case) {
            order.reverse();
        }
        lane.iter_mut().zip(f(&row, &order)).for_each(|(slot, value)| *slot = value);
    }
    vec![x]
}

/// For each entry of the order, whether another one may equal it. Only one with an error may be no neighbor.
pub fn ties(row: &[Num], order: &[usize]) -> Vec<bool> {
    let is_exact = row.iter().all(|number| number.error == 0.0);
    let is_tied = |rank: usize| {
        let neighbors = rank.saturating_sub(1)..row.len().min(rank + 2);
        let mut others = if is_exact { neighbors } else { 0..row.len() };
        others.any(|other| other != rank && row[order[other]].may_equal(&row[order[rank]]))
    };
    (0..row.len()).map(is_tied).collect()
}
