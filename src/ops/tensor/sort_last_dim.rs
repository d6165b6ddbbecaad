//! Sorting along the last dimension.

use std::ops::Range;

use candle_core::{Result, Tensor as Candle};

use crate::number::Num;
use crate::ops::support::arguments::{ANY, ASCENDING};
use crate::ops::support::elements::random_facts::floats;
use crate::ops::support::reducing::reductions::{ANY_VALUE, reduced};
use crate::ops::support::reducing::sorting::{SORT_PROMISE, SUPPORT, ascending, contract, generate, sorted_rows};
use crate::ops::{Contract, Op};

/// `x.sort_last_dim(asc)`: the sorted values; for every row whether its ids are each position once, and whether the values are those
/// at the ids, in order apart from NaN.
pub static SORT_LAST_DIM: Op = Op {
    name: "tensor.sort_last_dim",
    covers: &["Tensor::sort_last_dim"],
    support: SUPPORT,
    inputs: &[ANY],
    params: &[ASCENDING],
    generate: &generate,
    contract: &|case| match (contract(case), case.tensor("x")) {
        (Contract::Accepts { .. }, Some(x)) if x.elements() == Some(0) => {
            Contract::Unspecified("sorting an empty row, which is judged as arg_sort_last_dim")
        }
        (Contract::Accepts { refusal, .. }, Some(x)) => {
            let rows = &x.shape[..x.shape.len() - 1];
            Contract::Accepts {
                outputs: [&x.shape, rows, rows].map(|shape| (x.dtype, shape.to_vec())).to_vec(),
                refusal,
            }
        }
        (contract, _) => contract,
    },
    call: &|call| {
        let (sorted, ids) = call.tensor("x")?.sort_last_dim(ascending(call.case))?;
        let facts = [permutations(&ids)?, in_order(call.tensor("x")?, &sorted, &ids, ascending(call.case))?];
        let [complete, ordered] = facts.map(|fact| fact.to_dtype(sorted.dtype())?.to_device(sorted.device()));
        Ok(vec![sorted, complete?, ordered?])
    },
    source: r#"
        let (sorted, ids) = x.sort_last_dim({{ asc != 0 }})?;
        let (size, rows) = (ids.dim(D::Minus1)?, ids.dims()[..ids.rank() - 1].to_vec());
        // An 8-bit float has no direct conversion to f64 that ends.
        let x32 = |x: &Tensor| {{ "x.to_dtype(DType::F32)" if inputs.x.name == "f8e4m3" else "candle_core::Result::Ok(x.clone())" }};
        let numbers = |x: &Tensor| x32(&x.to_device(&Device::Cpu)?)?.to_dtype(DType::F64)?.flatten_all()?.to_vec1::<f64>();
        let (before, after) = (numbers(&x)?, numbers(&sorted)?);
        let ids = ids.flatten_all()?.to_vec1::<u32>()?;
        // By row, 1 where the ids are every position once; and 1 where the values are those at the ids, in order apart from NaN.
        let complete = |row: usize| (0..size).all(|id| ids[row * size..][..size].contains(&(id as u32)));
        let ordered = |row: usize| {
            let (before, after) = (&before[row * size..][..size], &after[row * size..][..size]);
            let there = |(id, value): (&u32, &f64)| {
                before.get(*id as usize).is_some_and(|from| from == value || from.is_nan() && value.is_nan())
            };
            let numbers: Vec<f64> = after.iter().copied().filter(|value| !value.is_nan()).collect();
            let sorted = numbers.is_sorted_by(|a, b| a {{ "<=" if asc != 0 else ">=" }} b);
            sorted && ids[row * size..][..size].iter().zip(after).all(there)
        };
        let count = 0..rows.iter().product();
        let facts = |fact: Vec<bool>| {
            let fact: Vec<u8> = fact.into_iter().map(u8::from).collect();
            Tensor::from_vec(fact, rows.as_slice(), &Device::Cpu)?.to_dtype(sorted.dtype())?.to_device(&device)
        };
        let complete = facts(count.clone().map(complete).collect())?;
        let ordered = facts(count.map(ordered).collect())?;
        let outputs = [sorted, complete, ordered];
    "#,
    // PyTorch does not promise the order of equal elements.
    torch: "",
    reference: Some(&|inputs| {
        let x = inputs.array("x");
        let facts = reduced(&x, &[x.ndim() - 1], false, |_| Num::exact(1.0));
        [sorted_rows(inputs, values), facts.clone(), facts].concat()
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: SORT_PROMISE,
};

/// For every row of `ids`: 1 where it has each position once, else 0.
fn permutations(ids: &Candle) -> Result<Candle> {
    let all = ids.flatten_all()?.to_vec1::<u32>()?;
    facts(ids, |row| {
        let mut row = all[row].to_vec();
        row.sort_unstable();
        row.iter().enumerate().all(|(position, &id)| id as usize == position)
    })
}

/// For every row of `x`: 1 where the sorted values are those at `ids`, and those that are not NaN are in order, else 0.
fn in_order(x: &Candle, sorted: &Candle, ids: &Candle, ascending: bool) -> Result<Candle> {
    let numbers = |x: &Candle| {
        if x.dtype().is_float() {
            // Without a conversion by candle, whose own of an 8-bit float to `f64` never ends.
            return floats(x);
        }
        x.to_device(&candle_core::Device::Cpu)?.to_dtype(candle_core::DType::F64)?.flatten_all()?.to_vec1::<f64>()
    };
    let (before, after, all) = (numbers(x)?, numbers(sorted)?, ids.flatten_all()?.to_vec1::<u32>()?);
    facts(ids, |row| {
        let (before, after) = (&before[row.clone()], &after[row.clone()]);
        let there = |(&id, value): (&u32, &f64)| {
            before.get(id as usize).is_some_and(|from| from == value || (from.is_nan() && value.is_nan()))
        };
        let numbers: Vec<f64> = after.iter().copied().filter(|value| !value.is_nan()).collect();
        let sorted = numbers.is_sorted_by(|a, b| if ascending { a <= b } else { a >= b });
        sorted && all[row].iter().zip(after).all(there)
    })
}

/// For every row of a tensor shaped as `like`: 1 where `holds` is true of its elements' places, else 0.
fn facts(like: &Candle, holds: impl Fn(Range<usize>) -> bool) -> Result<Candle> {
    let size = like.dim(candle_core::D::Minus1)?;
    let shape = &like.dims()[..like.rank() - 1];
    let facts: Vec<u8> =
        (0..shape.iter().product()).map(|row: usize| u8::from(holds(row * size..(row + 1) * size))).collect();
    Candle::from_vec(facts, shape, &candle_core::Device::Cpu)
}

/// The sorted row: unspecified with a NaN in it. Numbers that may be equal are neighbors; they have a derivative if all move alike.
fn values(row: &[Num], order: &[usize]) -> Vec<Num> {
    if row.iter().any(|x| x.value.is_nan()) {
        return vec![ANY_VALUE; row.len()];
    }
    // What is at a rank moves no further than the entry that moves furthest.
    let error = row.iter().fold(0.0, |error: f64, x| error.max(x.error));
    let indeterminate = row.iter().any(|x| x.indeterminate);
    let sorted: Vec<Num> = order.iter().map(|&at| Num { error, indeterminate, ..row[at] }).collect();
    let groups = sorted.chunk_by(Num::may_equal);
    let moved = |group: &[Num]| {
        let apart = group.iter().any(|x| x.slope != group[0].slope);
        group.iter().map(|x| Num { kink: x.kink || apart, ..*x }).collect::<Vec<_>>()
    };
    groups.flat_map(moved).collect()
}
