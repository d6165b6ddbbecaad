//! `KvCache`.

use candle_core::Tensor as Candle;
use candle_nn::kv_cache::KvCache;

use crate::ops::support::arguments::APPENDS;
use crate::ops::support::models::kv_cache::{
    CACHE_PARAMS, CACHE_SUPPORT, affords, append_all, draw_cache, lengths, rounds, whole_contract, whole_reference,
};
use crate::ops::support::moving::gather_map::TOO_LARGE;
use crate::ops::{Contract, Op, rule, why};

/// `KvCache::new(dim, max)`: everything appended so far, returned after each append and by `k()` and `v()`.
pub static KV: Op = Op {
    name: "cache.kv",
    covers: &[
        "KvCache",
        "Cache",
        "KvCache::new",
        "KvCache::k",
        "KvCache::v",
        "KvCache::append",
        "KvCache::current_seq_len",
        "KvCache::reset",
    ],
    support: CACHE_SUPPORT,
    inputs: APPENDS,
    params: CACHE_PARAMS,
    generate: &draw_cache,
    contract: &|case| {
        let max = case.size("max");
        if max == 0 && rounds(case) > 0 {
            let appends = lengths(case, case.size("dim")).iter().any(|&length| length > 0);
            let nothing = Contract::Unspecified("an empty append to a cache of size 0");
            return if appends { Contract::Rejects(&rule::CACHE_SIZE) } else { nothing };
        }
        let contract = whole_contract(case).may_refuse(!case.is_contiguous(), why::CONTIGUOUS);
        if affords(case, case.size("dim"), max) { contract } else { TOO_LARGE }
    },
    call: &|call| {
        let mut cache = KvCache::new(call.size("dim"), call.size("max"));
        let mut outputs = append_all(call, &mut cache, KvCache::reset, |cache, k, v| {
            let (k, v) = cache.append(k, v)?;
            Ok(vec![k, v])
        })?;
        let last = outputs.last().map(Candle::device).cloned();
        outputs.extend(cache.k()?.into_iter().chain(cache.v()?));
        outputs.extend(last.map(|device| Candle::new(cache.current_seq_len() as u32, &device)).transpose()?);
        Ok(outputs)
    },
    source: r#"
        let mut cache = candle_nn::kv_cache::KvCache::new({{ dim }}, {{ max }});
        {% set copied = "" %}
        {% include 'appends' %}
        outputs.extend(cache.k()?.into_iter().chain(cache.v()?));
        outputs.push(Tensor::new(cache.current_seq_len() as u32, &device)?);
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&whole_reference),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:5-160: `append` grows a full buffer; torch.cat of all that was appended, as its sibling \
              cache.concat",
};
