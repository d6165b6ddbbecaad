//! Sorting along the last dimension.

use candle_core::{Result, Tensor as Candle};
use ndarray::{ArrayD, Axis, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::reductions::{OPEN, reduced};
use crate::ops::{Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support};

/// `x.sort_last_dim(asc)`: the sorted values, and by row whether the ids of the entries are each position once.
pub static SORT_LAST_DIM: Op = Op {
    name: "tensor.sort_last_dim",
    covers: &["Tensor::sort_last_dim"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: sort_generate,
    contract: |case| match (contract(case), case.tensor("x")) {
        (Contract::Accepts { .. }, Some(x)) if x.elements() == Some(0) => {
            Contract::Unspecified("sorting nothing, which arg_sort_last_dim is asked for")
        }
        (Contract::Accepts { refusal, .. }, Some(x)) => {
            let rows = &x.shape[..x.shape.len() - 1];
            Contract::Accepts { outputs: vec![(x.dtype, x.shape.clone()), (x.dtype, rows.to_vec())], refusal }
        }
        (contract, _) => contract,
    },
    call: |call| {
        let (sorted, ids) = call.tensor("x")?.sort_last_dim(ascending(call.case))?;
        let facts = permutations(&ids)?.to_dtype(sorted.dtype())?.to_device(sorted.device())?;
        Ok(vec![sorted, facts])
    },
    source: r"
        let (sorted, ids) = x.sort_last_dim({{ asc|default(1) != 0 }})?;
        // By row, 1 where the ids are every position once.
        let (size, rows) = (ids.dim(D::Minus1)?, ids.dims()[..ids.rank() - 1].to_vec());
        let ids = ids.flatten_all()?.to_vec1::<u32>()?;
        let complete = |row: usize| (0..size).all(|id| ids[row * size..][..size].contains(&(id as u32)));
        let facts: Vec<u8> = (0..rows.iter().product()).map(|row| u8::from(complete(row))).collect();
        let facts = Tensor::from_vec(facts, rows, &Device::Cpu)?.to_dtype(sorted.dtype())?.to_device(&device)?;
        let outputs = [sorted, facts];
    ",
    torch: "",
    reference: Some(|inputs| {
        let x = inputs.array("x");
        let facts = reduced(&x, &[x.ndim() - 1], false, |_| Num::exact(1.0));
        [rows(inputs, values), facts].concat()
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: SORT_PROMISE,
};

/// `x.arg_sort_last_dim(asc)`: the `u32` positions of the sorted values.
pub static ARG_SORT_LAST_DIM: Op = Op {
    name: "tensor.arg_sort_last_dim",
    covers: &["Tensor::arg_sort_last_dim"],
    support: &Support { of: "x", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: sort_generate,
    contract,
    call: |call| Ok(vec![call.tensor("x")?.arg_sort_last_dim(ascending(call.case))?]),
    source: "x.arg_sort_last_dim({{ asc|default(1) != 0 }})?",
    torch: "x.argsort(dim=-1, descending={{ asc|default(1) == 0 }})",
    reference: Some(|inputs| rows(inputs, places)),
    ulps: 4.0,
    differentiable: &[],
    promise: SORT_PROMISE,
};

/// Where the contract of these ops comes from.
pub const SORT_PROMISE: &str = "candle-core/src/sort.rs:260-300: unstable, so the order of equals is open; torch.sort";

fn sort_generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let mut shape = draw.shape(0, 2)?;
    shape.push(draw.reduced()?);
    let dtype = draw.dtype(SORT_LAST_DIM.support)?;
    let mut case = Case::default().input("x", draw.packed(dtype, &shape)?).param("asc", draw.between(0, 1)?);
    case.backward = draw.backward()?;
    Ok(case)
}

fn ascending(case: &Case) -> bool {
    case.int("asc", 1) != 0
}

fn contract(case: &Case) -> Contract {
    let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
    if x.shape.is_empty() {
        return Contract::Rejects(why::RANK);
    }
    if !(0..=1).contains(&case.int("asc", 1)) {
        return Contract::Unspecified("neither ascending nor descending");
    }
    Contract::accepts(DType::U32, &x.shape).may_refuse(!x.view.is_contiguous(), why::CONTIGUOUS)
}

/// By row of `ids`, 1 where they are every position once, else 0.
fn permutations(ids: &Candle) -> Result<Candle> {
    let size = ids.dim(candle_core::D::Minus1)?;
    let shape = &ids.dims()[..ids.rank() - 1];
    let all = ids.flatten_all()?.to_vec1::<u32>()?;
    let complete = |row: usize| {
        let mut row = all[row * size..(row + 1) * size].to_vec();
        row.sort_unstable();
        u8::from(row.iter().enumerate().all(|(place, &id)| id as usize == place))
    };
    let facts: Vec<u8> = (0..shape.iter().product()).map(complete).collect();
    Candle::from_vec(facts, shape, &candle_core::Device::Cpu)
}

/// `f` of every row and of its positions in order.
fn rows(inputs: &ReferenceInputs, f: impl Fn(&[Num], &[usize]) -> Vec<Num>) -> Vec<ArrayD<Num>> {
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

/// Whether the entry at `place` of the order has an equal beside it.
fn tied(row: &[Num], order: &[usize], place: usize) -> bool {
    let same = |other: Option<&usize>| other.is_some_and(|&other| row[other].value == row[order[place]].value);
    same(order.get(place + 1)) || (place > 0 && same(order.get(place - 1)))
}

/// The sorted row; nobody says where a NaN goes.
fn values(row: &[Num], order: &[usize]) -> Vec<Num> {
    let sorted = |place: usize| Num { kink: tied(row, order, place), ..row[order[place]] };
    let known = row.iter().all(|x| !x.value.is_nan());
    (0..row.len()).map(|place| if known { sorted(place) } else { OPEN }).collect()
}

/// The positions, where there is only one order.
fn places(row: &[Num], order: &[usize]) -> Vec<Num> {
    let known = row.iter().all(|x| !x.value.is_nan());
    let place = |place: usize| known && !tied(row, order, place);
    (0..row.len()).map(|at| if place(at) { Num::exact(order[at] as f64) } else { OPEN }).collect()
}
