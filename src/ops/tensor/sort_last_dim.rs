//! Sorting along the last dimension.

use candle_core::{Result, Tensor as Candle};

use crate::number::Num;
use crate::ops::support::arguments::{ANY, ASCENDING};
use crate::ops::support::reductions::{ANY_VALUE, reduced};
use crate::ops::support::sorting::{SORT_PROMISE, SUPPORT, ascending, contract, generate, sorted_rows, tied};
use crate::ops::{Contract, Op};

/// `x.sort_last_dim(asc)`: the sorted values, and for every row whether its ids are each position once.
pub static SORT_LAST_DIM: Op = Op {
    name: "tensor.sort_last_dim",
    covers: &["Tensor::sort_last_dim"],
    support: SUPPORT,
    inputs: &[ANY],
    params: &[ASCENDING],
    generate,
    contract: |case| match (contract(case), case.tensor("x")) {
        (Contract::Accepts { .. }, Some(x)) if x.elements() == Some(0) => {
            Contract::Unspecified("sorting nothing: judged as arg_sort_last_dim")
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
    // PyTorch does not promise the order of equal elements.
    torch: "",
    reference: Some(|inputs| {
        let x = inputs.array("x");
        let facts = reduced(&x, &[x.ndim() - 1], false, |_| Num::exact(1.0));
        [sorted_rows(inputs, values), facts].concat()
    }),
    ulps: 4.0,
    differentiable: &["x"],
    promise: SORT_PROMISE,
};

/// For every row of `ids`: 1 where it has each position once, else 0.
fn permutations(ids: &Candle) -> Result<Candle> {
    let size = ids.dim(candle_core::D::Minus1)?;
    let shape = &ids.dims()[..ids.rank() - 1];
    let all = ids.flatten_all()?.to_vec1::<u32>()?;
    let complete = |row: usize| {
        let mut row = all[row * size..(row + 1) * size].to_vec();
        row.sort_unstable();
        u8::from(row.iter().enumerate().all(|(position, &id)| id as usize == position))
    };
    let facts: Vec<u8> = (0..shape.iter().product()).map(complete).collect();
    Candle::from_vec(facts, shape, &candle_core::Device::Cpu)
}

/// The sorted row: unspecified with a NaN in it.
fn values(row: &[Num], order: &[usize]) -> Vec<Num> {
    let sorted = |rank: usize| Num { kink: tied(row, order, rank), ..row[order[rank]] };
    let known = row.iter().all(|x| !x.value.is_nan());
    (0..row.len()).map(|rank| if known { sorted(rank) } else { ANY_VALUE }).collect()
}
