//! `RotatingKvCache`: the last `max` positions, in a ring.

use candle_core::Tensor as Candle;
use candle_nn::kv_cache::RotatingKvCache;
use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::number::Num;
use crate::ops::support::arguments::APPENDS;
use crate::ops::support::models::kv_cache::{
    Append, CACHE_PARAMS, CACHE_SUPPORT, Parts, affords, append_all, appends, draw_cache, of_last_round, part_shapes,
    with_length,
};
use crate::ops::support::moving::gather_map::TOO_LARGE;
use crate::ops::{Call, Contract, Op, ReferenceInputs};
use crate::tensor::DType;

/// What each append returns, read at once, and what the cache holds at the end.
pub static ROTATING: Op = Op {
    name: "cache.rotating",
    covers: &[
        "RotatingKvCache",
        "RotatingCache",
        "RotatingKvCache::new",
        "RotatingKvCache::k",
        "RotatingKvCache::v",
        "RotatingKvCache::append",
        "RotatingKvCache::reset",
    ],
    support: CACHE_SUPPORT,
    inputs: APPENDS,
    params: CACHE_PARAMS,
    generate: &draw_cache,
    contract: &ring_contract,
    call: &|call| appended(call, Candle::copy),
    source: r#"
        {% set copied = ".copy()?" %}
        {% include "ring" %}
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&ring_reference),
    ulps: 4.0,
    differentiable: &[],
    promise: RING_PROMISE,
};

/// As `cache.rotating`, but read after all appends: a returned tensor does not change.
pub static ROTATING_KEPT: Op = Op {
    name: "cache.rotating_kept",
    covers: &["RotatingKvCache", "RotatingCache"],
    support: CACHE_SUPPORT,
    inputs: APPENDS,
    params: CACHE_PARAMS,
    generate: &draw_cache,
    contract: &ring_contract,
    call: &|call| appended(call, |returned| Ok(returned.clone())),
    source: r#"
        {% set copied = "" %}
        {% include "ring" %}
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&ring_reference),
    ulps: 4.0,
    differentiable: &[],
    promise: RING_PROMISE,
};

/// Where the contract of these ops comes from.
const RING_PROMISE: &str = "candle-nn/src/kv_cache.rs:162-262: a ring buffer; a longer part is returned whole and its \
                            last `max` positions are kept (candle's comments alone)";

/// The contract of a tensor that the cache announces before each append.
fn announced(case: &Case, tensor: impl Fn(&Step) -> (DType, Vec<usize>)) -> Contract {
    match checked(case) {
        Err(contract) => contract,
        Ok(_) => Contract::Accepts { outputs: steps(case).iter().map(tensor).collect(), refusal: None },
    }
}

/// The positions that the cache announces before each append.
pub static ROTATING_POSITIONS: Op = Op {
    name: "cache.rotating_positions",
    covers: &["RotatingKvCache", "RotatingCache", "RotatingKvCache::positions"],
    support: CACHE_SUPPORT,
    inputs: APPENDS,
    params: CACHE_PARAMS,
    generate: &draw_cache,
    contract: &|case| announced(case, |step| (DType::U32, vec![step.returned.len()])),
    call: &|call| {
        let mut cache = RotatingKvCache::new(call.size("dim"), call.size("max"));
        append_all(call, &mut cache, RotatingKvCache::reset, |cache, k, v| {
            let length = k.dim(call.size("dim"))?;
            let positions: Vec<u32> = cache.positions(length).iter().map(|&position| position as u32).collect();
            let positions = Candle::new(positions, k.device())?;
            cache.append(k, v)?;
            Ok(vec![positions])
        })
    },
    source: r#"
        let mut cache = candle_nn::kv_cache::RotatingKvCache::new({{ dim }}, {{ max }});
        {% set of_type = ": Vec<Vec<usize>>" %}
        {% include "rounds" %}
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% include "reset" %}
        {% set length = inputs["k" ~ n].shape[dim] %}
        outputs.push(cache.positions({{ length }}));
        cache.append(&k{{ n }}, &v{{ n }})?;
        {% endfor %}
        {% include "end of rounds" %}
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&|inputs| {
        let positions = |step: Step| {
            let positions = step.returned.iter().map(|&position| Num::exact(position as f64)).collect();
            ArrayD::from_shape_vec(IxDyn(&[step.returned.len()]), positions).expect("as many")
        };
        steps(inputs.case).into_iter().map(positions).collect()
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:296-318: \"the positions corresponding to all the elements that will be returned \
              *after* adding `seq_len` to the cache\"",
};

/// The attention mask that the cache announces before each append: 0 for the keys that a query sees. No mask hides none.
pub static ROTATING_MASK: Op = Op {
    name: "cache.rotating_mask",
    covers: &["RotatingKvCache", "RotatingCache", "RotatingKvCache::attn_mask"],
    support: CACHE_SUPPORT,
    inputs: APPENDS,
    params: CACHE_PARAMS,
    generate: &draw_cache,
    contract: &|case| announced(case, |step| (DType::U8, vec![step.length(), step.returned.len()])),
    call: &|call| {
        let mut cache = RotatingKvCache::new(call.size("dim"), call.size("max"));
        append_all(call, &mut cache, RotatingKvCache::reset, |cache, k, v| {
            let length = k.dim(call.size("dim"))?;
            let mask = cache.attn_mask(length, k.device())?;
            let returned = cache.append(k, v)?.0.dim(call.size("dim"))?;
            let nothing_hidden = || Candle::zeros((length, returned), candle_core::DType::U8, k.device());
            Ok(vec![mask.map_or_else(nothing_hidden, Ok)?])
        })
    },
    source: r#"
        let mut cache = candle_nn::kv_cache::RotatingKvCache::new({{ dim }}, {{ max }});
        {% include "rounds" %}
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% include "reset" %}
        {% set length = inputs["k" ~ n].shape[dim] %}
        let mask = cache.attn_mask({{ length }}, &device)?;
        let (k, _) = cache.append(&k{{ n }}, &v{{ n }})?;
        let nothing_hidden = || Tensor::zeros(({{ length }}, k.dim({{ dim }})?), DType::U8, &device);
        outputs.push(mask.map_or_else(nothing_hidden, Ok)?);
        {% endfor %}
        {% include "end of rounds" %}
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&|inputs| {
        let max = inputs.case.size("max");
        let mask = |step: Step| {
            ArrayD::from_shape_fn(IxDyn(&[step.length(), step.returned.len()]), |index| {
                let (query, key) = (step.append.before + index[0], step.returned[index[1]]);
                Num::exact(f64::from(u8::from(key > query || key + max <= query)))
            })
        };
        steps(inputs.case).into_iter().map(mask).collect()
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:264-332: a query sees no later key, and of the earlier ones those that the cache would hold if \
              the positions were appended one after the other: itself and `max - 1` before it. So are the sliding windows \
              of transformers (masking_utils.py, sliding_window_overlay: kv_idx > q_idx - sliding_window)",
};

fn ring_contract(case: &Case) -> Contract {
    match checked(case) {
        Err(contract) => contract,
        Ok((dtype, shapes)) => {
            let returned = steps(case).into_iter().map(|step| step.returned.len());
            let last = steps(case).pop().map_or(0, |step| step.held.len());
            let outputs =
                returned.chain([last]).flat_map(|length| with_length(dtype, &shapes, case.size("dim"), length));
            Contract::Accepts { outputs: outputs.collect(), refusal: None }
        }
    }
}

fn ring_reference(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let parts = Parts::of(inputs, inputs.case.size("dim"));
    let steps = steps(inputs.case);
    let held = steps.last().map(|step| parts.at(step.append, step.held.iter().copied()));
    let returned = steps.iter().map(|step| parts.at(step.append, step.returned.iter().copied()));
    returned.chain(held).flatten().collect()
}

fn appended(call: &Call, keep: fn(&Candle) -> candle_core::Result<Candle>) -> candle_core::Result<Vec<Candle>> {
    let mut cache = RotatingKvCache::new(call.size("dim"), call.size("max"));
    let mut outputs = append_all(call, &mut cache, RotatingKvCache::reset, |cache, k, v| {
        let (k, v) = cache.append(k, v)?;
        Ok(vec![keep(&k)?, keep(&v)?])
    })?;
    outputs.extend(cache.k()?.into_iter().chain(cache.v()?));
    Ok(outputs)
}

fn checked(case: &Case) -> Result<(DType, [Vec<usize>; 2]), Contract> {
    let (dim, max) = (case.size("dim"), case.size("max"));
    if !affords(case, dim, max) {
        return Err(TOO_LARGE);
    }
    let known = part_shapes(case, dim)?;
    if max == 0 { Err(Contract::Unspecified("a cache of size 0")) } else { Ok(known) }
}

/// One append of the last round.
struct Step {
    append: Append,
    /// The positions that it returns.
    returned: Vec<usize>,
    /// The positions that the cache holds afterwards.
    held: Vec<usize>,
}

impl Step {
    /// How many positions it adds.
    fn length(&self) -> usize {
        self.append.after - self.append.before
    }
}

fn steps(case: &Case) -> Vec<Step> {
    let (dim, max) = (case.size("dim"), case.size("max"));
    let (mut ring, mut next): (Vec<usize>, usize) = (Vec::new(), 0);
    let step = |append: Append| {
        let Append { before, after, .. } = append;
        if before == 0 {
            (ring, next) = (Vec::new(), 0);
        }
        let long = after - before >= max;
        if long {
            (ring, next) = ((after - max..after).collect(), 0);
        } else {
            for position in before..after {
                if ring.len() == next {
                    ring.push(position);
                } else {
                    ring[next] = position;
                }
                next = (next + 1) % max;
            }
        }
        let returned = if long { (before..after).collect() } else { ring.clone() };
        Step { append, returned, held: ring.clone() }
    };
    of_last_round(case, dim, appends(case, dim).into_iter().map(step).collect())
}
