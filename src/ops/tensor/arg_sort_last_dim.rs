//! The positions of sorted elements along the last dimension.

use crate::number::Num;
use crate::ops::Op;
use crate::ops::support::arguments::{ANY, ASCENDING};
use crate::ops::support::reducing::reductions::ANY_VALUE;
use crate::ops::support::reducing::sorting::{SORT_PROMISE, SUPPORT, ascending, contract, generate, sorted_rows, ties};

/// `x.arg_sort_last_dim(asc)`: the `u32` positions of the sorted values.
pub static ARG_SORT_LAST_DIM: Op = Op {
    name: "tensor.arg_sort_last_dim",
    covers: &["Tensor::arg_sort_last_dim"],
    support: SUPPORT,
    inputs: &[ANY],
    params: &[ASCENDING],
    generate: &generate,
    contract: &contract,
    call: &|call| Ok(vec![call.tensor("x")?.arg_sort_last_dim(ascending(call.case))?]),
    source: "x.arg_sort_last_dim({{ asc != 0 }})?",
    torch: "x.argsort(dim=-1, descending={{ asc == 0 }})",
    reference: Some(&|inputs| sorted_rows(inputs, positions)),
    ulps: 4.0,
    differentiable: &[],
    promise: SORT_PROMISE,
};

/// The positions in sorted order: unspecified among equals and with a NaN in the row.
fn positions(row: &[Num], order: &[usize]) -> Vec<Num> {
    let known = row.iter().all(|x| !x.value.is_nan());
    let position = |(&at, is_tied): (&usize, bool)| if known && !is_tied { Num::exact(at as f64) } else { ANY_VALUE };
    order.iter().zip(ties(row, order)).map(position).collect()
}
