//! `ConcatKvCache`.

use candle_core::Tensor as Candle;
use candle_nn::kv_cache::ConcatKvCache;

use crate::ops::Op;
use crate::ops::support::arguments::APPENDS;
use crate::ops::support::models::kv_cache::{
    CACHE_PARAMS, CACHE_SUPPORT, append_all, draw_cache, whole_contract, whole_reference,
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
    params: CACHE_PARAMS,
    generate: &draw_cache,
    contract: &whole_contract,
    call: &|call| {
        let mut cache = ConcatKvCache::new(call.size("dim"));
        let mut outputs = append_all(call, &mut cache, ConcatKvCache::reset, |cache, k, v| {
            let (k, v) = cache.append(k, v)?;
            Ok(vec![k, v])
        })?;
        outputs.extend(cache.k().into_iter().chain(cache.v()).cloned().collect::<Vec<_>>());
        let length = outputs.last().map(|last| Candle::new(cache.current_seq_len() as u32, last.device()));
        outputs.extend(length.transpose()?);
        Ok(outputs)
    },
    source: r#"
        let mut cache = candle_nn::kv_cache::ConcatKvCache::new({{ dim }});
        {% set copied = "" %}
        {% include 'appends' %}
        outputs.extend(cache.k().into_iter().chain(cache.v()).cloned());
        outputs.push(Tensor::new(cache.current_seq_len() as u32, &device)?);
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&whole_reference),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:584-760 (its documentation); torch.cat of all that was appended",
};
