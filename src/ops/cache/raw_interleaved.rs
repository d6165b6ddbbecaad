//! `RawInterleavedKvCache`.

use candle_core::Tensor as Candle;
use candle_nn::kv_cache::RawInterleavedKvCache;
use ndarray::{ArrayD, ArrayView3};

use crate::number::Num;
use crate::ops::support::arguments::APPENDS;
use crate::ops::support::models::kv_cache::{
    CACHE_PARAMS, affords, append_all, draw_parts, history, part_shape, totals,
};
use crate::ops::support::moving::gather_map::TOO_LARGE;
use crate::ops::{Contract, Op, rule, why};
use crate::tensor::{DType, Support};

/// `RawInterleavedKvCache::new(heads, d, max)` of keys and values `(S, H, D)` in slices: each position
/// is `[K of head 0, V of head 0, ..]`.
pub static RAW_INTERLEAVED: Op = Op {
    name: "cache.raw_interleaved",
    covers: &[
        "RawInterleavedKvCache",
        "RawInterleavedKvCache::new",
        "RawInterleavedKvCache::write_kv",
        "RawInterleavedKvCache::write_kv_batch",
        "RawInterleavedKvCache::data",
        "RawInterleavedKvCache::reset",
    ],
    support: &Support::both("k0", &[DType::F32]),
    inputs: APPENDS,
    params: CACHE_PARAMS,
    generate: &|draw| {
        let (heads, width) = (draw.positive()?, draw.positive()?);
        let case = draw_parts(draw, RAW_INTERLEAVED.support, vec![1, heads, width], 0)?;
        Ok(case.param("dim", 0_usize).param("max", draw.between(1, 4)?))
    },
    contract: &|case| match part_shape(case, 0) {
        // It takes slices of `f32`.
        Err(Contract::Rejects(rule)) if *rule == rule::MIXED => Contract::Unspecified(why::NO_CALL),
        Err(contract) => contract,
        Ok((_, shape)) if shape.len() != 3 => Contract::Unspecified("keys that are not (S, H, D)"),
        Ok(_) if !affords(case, 0, case.size("max")) => TOO_LARGE,
        Ok((dtype, shape)) => {
            let output = |length| (dtype, vec![length * shape[1] * 2 * shape[2]]);
            Contract::Accepts { outputs: totals(case, 0).into_iter().map(output).collect(), refusal: None }
        }
    },
    call: &|call| {
        let (_, heads, width) = call.tensor("k0")?.dims3()?;
        let mut cache = RawInterleavedKvCache::new(heads, width, call.size("max"));
        let flat = |x: &Candle| x.flatten_all()?.to_vec1::<f32>();
        append_all(call, &mut cache, RawInterleavedKvCache::reset, |cache, k, v| {
            match k.dim(0)? {
                1 => cache.write_kv(&flat(k)?, &flat(v)?),
                length => cache.write_kv_batch(&flat(k)?, &flat(v)?, length),
            }
            Ok(vec![Candle::new(cache.data(), k.device())?])
        })
    },
    source: r#"
        {% set _, heads, width = inputs.k0.shape %}
        let mut cache = candle_nn::kv_cache::RawInterleavedKvCache::new({{ heads }}, {{ width }}, {{ max }});
        let flat = |x: &Tensor| x.flatten_all()?.to_vec1::<f32>();
        {% include "rounds" %}
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% include "reset" %}
        {% set length = inputs["k" ~ n].shape[0] %}
        {% if length == 1 %}
        cache.write_kv(&flat(&k{{ n }})?, &flat(&v{{ n }})?);
        {% else %}
        cache.write_kv_batch(&flat(&k{{ n }})?, &flat(&v{{ n }})?, {{ length }});
        {% endif %}
        outputs.push(Tensor::new(cache.data(), &device)?);
        {% endfor %}
        {% include "end of rounds" %}
    "#,
    // PyTorch has no such cache.
    torch: "",
    reference: Some(&|inputs| {
        let both = |[k, v]: [ArrayD<Num>; 2]| {
            let mut data = Vec::new();
            let rows = |x: ArrayView3<Num>| x.rows().into_iter().map(|row| row.to_vec()).collect::<Vec<_>>();
            let (k, v) = (k.into_dimensionality().expect("three"), v.into_dimensionality().expect("three"));
            for (k, v) in rows(k.view()).into_iter().zip(rows(v.view())) {
                data.extend(k.into_iter().chain(v));
            }
            ndarray::Array1::from_vec(data).into_dyn()
        };
        history(inputs, 0).into_iter().map(both).collect()
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:1052-1150 (its documentation: \"Grow buffer if needed\"; no other library has this \
              layout)",
};
