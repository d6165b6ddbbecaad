//! `ConcatKvCache`.

use candle_core::Tensor as Candle;
use candle_nn::kv_cache::ConcatKvCache;

use crate::case::ParamSpec;
use crate::ops::Op;
use crate::ops::support::arguments::APPENDS;
use crate::ops::support::kv_cache::{
    CACHE_SUPPORT, drawn_cache, pairs, resets_before, whole_contract, whole_reference,
};

/// `ConcatKvCache::new(dim)`: as `KvCache`, by concatenation.
pub static CONCAT: Op = Op {
    name: "cache.concat",
    covers: &[
        "ConcatKvCache",
        "ConcatKvCache::new",
        "ConcatKvCache::current_seq_len",
        "ConcatKvCache::append",
        "ConcatKvCache::reset",
        "ConcatKvCache::k",
        "ConcatKvCache::v",
    ],
    support: CACHE_SUPPORT,
    inputs: APPENDS,
    params: &[
        ParamSpec::size("dim", 0, "The dimension to append along."),
        ParamSpec::size("max", 0, "The size of the cache."),
        ParamSpec::size("reset", 0, "Reset the cache before this append.").optional(),
    ],
    generate: drawn_cache,
    contract: whole_contract,
    call: |call| {
        let mut cache = ConcatKvCache::new(call.size("dim", 0));
        let mut outputs = Vec::new();
        for (place, (k, v)) in pairs(call).into_iter().enumerate() {
            if resets_before(call.case, place) {
                cache.reset();
            }
            let (k, v) = cache.append(k, v)?;
            outputs.extend([k, v]);
        }
        outputs.extend(cache.k().into_iter().chain(cache.v()).cloned().collect::<Vec<_>>());
        let length = outputs.last().map(|last| Candle::new(cache.current_seq_len() as u32, last.device()));
        outputs.extend(length.transpose()?);
        Ok(outputs)
    },
    source: r#"
        let mut cache = candle_nn::kv_cache::ConcatKvCache::new({{ dim|default(0) }});
        {% set copied = "" %}
        {% include 'appends' %}
        outputs.extend(cache.k().into_iter().chain(cache.v()).cloned());
        outputs.push(Tensor::new(cache.current_seq_len() as u32, &device)?);
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(whole_reference),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:584-760 (its documentation)",
};
