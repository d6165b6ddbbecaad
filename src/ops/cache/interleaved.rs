//! `InterleavedKvCache`.

use candle_nn::kv_cache::InterleavedKvCache;
use ndarray::{ArrayD, Axis};

use crate::number::Num;
use crate::ops::support::arguments::APPENDS;
use crate::ops::support::models::kv_cache::{
    APPEND_DIM, CACHE_SUPPORT, RESET, ROUNDS, affords, append_all, draw_parts, history, part_shape, totals,
};
use crate::ops::support::moving::gather_map::TOO_LARGE;
use crate::ops::{Contract, Op, rule};

/// `InterleavedKvCache::new(head_dim)` of keys and values `(1, H, S, D)`: `(all S, H, 2 D)`, keys before values.
pub static INTERLEAVED: Op = Op {
    name: "cache.interleaved",
    covers: &[
        "InterleavedKvCache",
        "InterleavedKvCache::new",
        "InterleavedKvCache::append",
        "InterleavedKvCache::reset",
    ],
    support: CACHE_SUPPORT,
    inputs: APPENDS,
    params: &[APPEND_DIM, RESET, ROUNDS],
    generate: &|draw| {
        let (heads, width) = (draw.positive()?, draw.positive()?);
        Ok(draw_parts(draw, CACHE_SUPPORT, vec![1, heads, 1, width], 2)?.param("dim", 2_usize))
    },
    contract: &|case| match part_shape(case, 2) {
        _ if case.tensor("k0").is_some_and(|k| k.shape.len() != 4) => {
            Contract::Unspecified("keys that are not (1, H, S, D)")
        }
        Err(contract) => contract,
        Ok((_, shape)) if shape[0] != 1 => Contract::Rejects(&rule::BATCH),
        Ok(_) if !affords(case, 2, 0) => TOO_LARGE,
        Ok((dtype, shape)) => {
            let output = |length| (dtype, vec![length, shape[1], 2 * shape[3]]);
            Contract::Accepts { outputs: totals(case, 2).into_iter().map(output).collect(), refusal: None }
        }
    },
    call: &|call| {
        let width = call.optional("k0").and_then(|k| k.dims().last().copied()).unwrap_or(0);
        let mut cache = InterleavedKvCache::new(width);
        append_all(call, &mut cache, InterleavedKvCache::reset, |cache, k, v| Ok(vec![cache.append(k, v)?]))
    },
    source: r#"
        let mut cache = candle_nn::kv_cache::InterleavedKvCache::new({{ inputs.k0.shape|last }});
        {% include "rounds" %}
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% include "reset" %}
        outputs.push(cache.append(&k{{ n }}, &v{{ n }})?);
        {% endfor %}
        {% include "end of rounds" %}
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&|inputs| {
        let both = |[k, v]: [ArrayD<Num>; 2]| {
            let swapped = |x: ArrayD<Num>| x.index_axis_move(Axis(0), 0).permuted_axes(vec![1, 0, 2]);
            ndarray::concatenate(Axis(2), &[swapped(k).view(), swapped(v).view()]).expect("one shape")
        };
        history(inputs, 2).into_iter().map(both).collect()
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:986-1050 (its documentation: \"Batch must be 1\"; no other library has this layout)",
};
