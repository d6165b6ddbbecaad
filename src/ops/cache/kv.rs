//! Caches of keys and values that keep everything: `KvCache`, `ConcatKvCache` and the interleaved ones.

use candle_core::Tensor as Candle;
use candle_nn::kv_cache::{ConcatKvCache, InterleavedKvCache, KvCache, RawInterleavedKvCache};
use ndarray::{ArrayD, ArrayView3, Axis};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::gather_map::{TOO_LARGE, affordable, size};
use crate::ops::support::reference_inputs::scalar;
use crate::ops::{Call, Contract, Op, ReferenceInputs, why};
use crate::tensor::{DType, Support, Tensor};

/// The dtypes of these ops.
pub const CACHE_SUPPORT: &Support = &Support { of: "k0", cpu: &DType::ALL, cuda: &DType::STANDARD };

/// `KvCache::new(dim, max)`: everything appended so far, returned after each append and by `k()` and `v()`.
pub static KV: Op = Op {
    name: "cache.kv",
    covers: &["KvCache", "Cache"],
    support: &Support { of: "k0", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| generate(draw),
    contract: |case| {
        let max = size(case, "max");
        if max == 0 {
            let appends = lengths(case, size(case, "dim")).iter().any(|&length| length > 0);
            let nothing = Contract::Unspecified("nothing appended to a cache of size 0");
            return if appends { Contract::Rejects("a cache of size 0") } else { nothing };
        }
        let contract = whole(case).may_refuse(!case.is_contiguous(), why::CONTIGUOUS);
        match case.tensor("k0") {
            Some(k) if !affords(k.dtype, &k.shape, size(case, "dim"), max) => TOO_LARGE,
            _ => contract,
        }
    },
    call: |call| {
        let mut cache = KvCache::new(call.size("dim", 0), call.size("max", 0));
        let mut outputs = Vec::new();
        for (place, (k, v)) in pairs(call).into_iter().enumerate() {
            if resets(call.case, place) {
                cache.reset();
            }
            let (k, v) = cache.append(k, v)?;
            outputs.extend([k, v]);
        }
        let last = outputs.last().map(Candle::device).cloned();
        outputs.extend(cache.k()?.into_iter().chain(cache.v()?));
        outputs.extend(last.map(|device| Candle::new(cache.current_seq_len() as u32, &device)).transpose()?);
        Ok(outputs)
    },
    source: r#"
        let mut cache = candle_nn::kv_cache::KvCache::new({{ dim|default(0) }}, {{ max|default(0) }});
        {% set copied = "" %}
        {% include 'appends' %}
        outputs.extend(cache.k()?.into_iter().chain(cache.v()?));
        outputs.push(Tensor::new(cache.current_seq_len() as u32, &device)?);
    "#,
    torch: "",
    reference: Some(everything),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:5-160: `append` grows the buffer where it is full",
};

/// `ConcatKvCache::new(dim)`: the same, by concatenation.
pub static CONCAT: Op = Op {
    name: "cache.concat",
    covers: &["ConcatKvCache"],
    support: &Support { of: "k0", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| generate(draw),
    contract: whole,
    call: |call| {
        let mut cache = ConcatKvCache::new(call.size("dim", 0));
        let mut outputs = Vec::new();
        for (place, (k, v)) in pairs(call).into_iter().enumerate() {
            if resets(call.case, place) {
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
    torch: "",
    reference: Some(everything),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:584-760 (its documentation)",
};

/// `InterleavedKvCache::new(head_dim)` of keys and values `(1, H, S, D)`: `(all S, H, 2 D)`, keys before values.
pub static INTERLEAVED: Op = Op {
    name: "cache.interleaved",
    covers: &["InterleavedKvCache"],
    support: &Support { of: "k0", cpu: &DType::ALL, cuda: &DType::STANDARD },
    generate: |draw| {
        let (heads, width) = (draw.positive()?, draw.positive()?);
        Ok(generated(draw, INTERLEAVED.support, vec![1, heads, 1, width], 2)?.param("dim", 2_usize))
    },
    contract: |case| match histories(case, 2) {
        Err(contract) => contract,
        Ok((_, shape)) if shape.len() != 4 || shape[0] != 1 => Contract::Unspecified("not one batch of heads"),
        Ok((dtype, shape)) => {
            let output = |&(_, length): &(usize, usize)| (dtype, vec![length, shape[1], 2 * shape[3]]);
            Contract::Accepts { outputs: spans(case, 2).iter().map(output).collect(), refusal: None }
        }
    },
    call: |call| {
        let width = call.optional("k0").and_then(|k| k.dims().last().copied()).unwrap_or(0);
        let mut cache = InterleavedKvCache::new(width);
        let mut outputs = Vec::new();
        for (place, (k, v)) in pairs(call).into_iter().enumerate() {
            if resets(call.case, place) {
                cache.reset();
            }
            outputs.push(cache.append(k, v)?);
        }
        Ok(outputs)
    },
    source: r#"
        let mut cache = candle_nn::kv_cache::InterleavedKvCache::new({{ inputs.k0.shape|last|default(0) }});
        let mut outputs = Vec::new();
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% if reset == n and n > 0 %}
        cache.reset();
        {% endif %}
        outputs.push(cache.append(&k{{ n }}, &v{{ n }})?);
        {% endfor %}
    "#,
    torch: "",
    reference: Some(|inputs| {
        let both = |(k, v): (ArrayD<Num>, ArrayD<Num>)| {
            let swapped = |x: ArrayD<Num>| x.index_axis_move(Axis(0), 0).permuted_axes(vec![1, 0, 2]);
            ndarray::concatenate(Axis(2), &[swapped(k).view(), swapped(v).view()]).expect("one shape")
        };
        history(inputs, 2).into_iter().map(both).collect()
    }),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/kv_cache.rs:986-1050 (its documentation)",
};

/// `RawInterleavedKvCache::new(heads, d, max)` of keys and values `(S, H, D)` in slices: `[K of head 0, V of head 0, ..]`
/// for each position.
pub static RAW_INTERLEAVED: Op = Op {
    name: "cache.raw_interleaved",
    covers: &["RawInterleavedKvCache"],
    support: &Support::both("k0", &[DType::F32]),
    generate: |draw| {
        let (heads, width) = (draw.positive()?, draw.positive()?);
        let case = generated(draw, RAW_INTERLEAVED.support, vec![1, heads, width], 0)?;
        Ok(case.param("dim", 0_usize).param("max", draw.between(1, 4)?))
    },
    contract: |case| match histories(case, 0) {
        Err(contract) => contract,
        Ok((_, shape)) if shape.len() != 3 => Contract::Unspecified("not positions of heads"),
        Ok((dtype, shape)) if !affords(dtype, &shape, 0, size(case, "max")) => TOO_LARGE,
        Ok((dtype, shape)) => {
            let output = |&(_, length): &(usize, usize)| (dtype, vec![length * shape[1] * 2 * shape[2]]);
            Contract::Accepts { outputs: spans(case, 0).iter().map(output).collect(), refusal: None }
        }
    },
    call: |call| {
        let (_, heads, width) = call.tensor("k0")?.dims3()?;
        let mut cache = RawInterleavedKvCache::new(heads, width, call.size("max", 0));
        let mut outputs = Vec::new();
        for (place, (k, v)) in pairs(call).into_iter().enumerate() {
            if resets(call.case, place) {
                cache.reset();
            }
            let flat = |x: &Candle| x.flatten_all()?.to_vec1::<f32>();
            match k.dim(0)? {
                1 => cache.write_kv(&flat(k)?, &flat(v)?),
                length => cache.write_kv_batch(&flat(k)?, &flat(v)?, length),
            }
            outputs.push(Candle::new(cache.data(), k.device())?);
        }
        Ok(outputs)
    },
    source: r#"
        {% set _, heads, width = inputs.k0.shape %}
        let mut cache = candle_nn::kv_cache::RawInterleavedKvCache::new({{ heads }}, {{ width }}, {{ max|default(0) }});
        let flat = |x: &Tensor| x.flatten_all()?.to_vec1::<f32>();
        let mut outputs = Vec::new();
        {% for n in range(4) if inputs["k" ~ n] and inputs["v" ~ n] %}
        {% if reset == n and n > 0 %}
        cache.reset();
        {% endif %}
        {% set length = inputs["k" ~ n].shape[0] %}
        {% if length == 1 %}
        cache.write_kv(&flat(&k{{ n }})?, &flat(&v{{ n }})?);
        {% else %}
        cache.write_kv_batch(&flat(&k{{ n }})?, &flat(&v{{ n }})?, {{ length }});
        {% endif %}
        outputs.push(Tensor::new(cache.data(), &device)?);
        {% endfor %}
    "#,
    torch: "",
    reference: Some(|inputs| {
        let both = |(k, v): (ArrayD<Num>, ArrayD<Num>)| {
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
    promise: "candle-nn/src/kv_cache.rs:1052-1150 (its documentation: \"Grow buffer if needed\")",
};

/// The tensors of a call in the order in which they are appended.
pub fn pairs<'a>(call: &'a Call) -> Vec<(&'a Candle, &'a Candle)> {
    let pair = |place| Some((call.optional(&format!("k{place}"))?, call.optional(&format!("v{place}"))?));
    (0..4).map_while(pair).collect()
}

/// Whether the cache is emptied before the append at this place.
pub fn resets(case: &Case, place: usize) -> bool {
    place > 0 && size(case, "reset") == place
}

/// Dtype and shape of what is appended, of which `dim` varies; an `Err` where that is nothing that a cache can take.
pub fn histories(case: &Case, dim: usize) -> Result<(DType, Vec<usize>), Contract> {
    let parts = parts(case);
    let Some(&(first, _)) = parts.first() else { return Err(Contract::Unspecified("nothing to append")) };
    if dim >= first.shape.len() {
        return Err(Contract::Unspecified(why::DIM));
    }
    for (k, v) in parts {
        if k.shape != v.shape {
            return Err(Contract::Unspecified("keys and values of different shapes"));
        }
        if k.dtype != first.dtype || v.dtype != first.dtype {
            return Err(Contract::Unspecified(why::MIXED));
        }
        let same = |d: usize| d == dim || k.shape[d] == first.shape[d];
        if k.shape.len() != first.shape.len() || !(0..k.shape.len()).all(same) {
            return Err(Contract::Unspecified("parts of different shapes"));
        }
    }
    Ok((first.dtype, first.shape.clone()))
}

fn parts(case: &Case) -> Vec<(&Tensor, &Tensor)> {
    let part = |place| Some((case.tensor(&format!("k{place}"))?, case.tensor(&format!("v{place}"))?));
    (0..4).map_while(part).collect()
}

/// How many positions each append adds, of a case that [`histories`] takes.
pub fn lengths(case: &Case, dim: usize) -> Vec<usize> {
    parts(case).into_iter().map(|(k, _)| k.shape.get(dim).copied().unwrap_or(0)).collect()
}

/// After each append: how many positions were there before it, and how many there are now.
pub fn spans(case: &Case, dim: usize) -> Vec<(usize, usize)> {
    let mut total = 0;
    let span = |(place, length)| {
        let before = if resets(case, place) { 0 } else { total };
        total = before + length;
        (before, total)
    };
    lengths(case, dim).into_iter().enumerate().map(span).collect()
}

/// After each append: all keys and all values since the last reset.
pub fn history(inputs: &ReferenceInputs, dim: usize) -> Vec<(ArrayD<Num>, ArrayD<Num>)> {
    let mut all: Option<(ArrayD<Num>, ArrayD<Num>)> = None;
    let join = |a: &ArrayD<Num>, b: &ArrayD<Num>| {
        ndarray::concatenate(Axis(dim), &[a.view(), b.view()]).expect("parts of one shape")
    };
    let append = |place: usize| {
        let (k, v) = (inputs.array(&format!("k{place}")), inputs.array(&format!("v{place}")));
        let joined = match all.take().filter(|_| !resets(inputs.case, place)) {
            Some((keys, values)) => (join(&keys, &k), join(&values, &v)),
            None => (k, v),
        };
        all = Some(joined.clone());
        joined
    };
    (0..lengths(inputs.case, dim).len()).map(append).collect()
}

/// Whether a buffer of `max` positions is not too large.
pub fn affords(dtype: DType, shape: &[usize], dim: usize, max: usize) -> bool {
    let mut shape = shape.to_vec();
    shape.get_mut(dim).into_iter().for_each(|n| *n = max);
    matches!(affordable(dtype, &shape), Contract::Accepts { .. })
}

/// Keys and values after each append, those that the cache holds in the end, and how many positions these have.
fn whole(case: &Case) -> Contract {
    let dim = size(case, "dim");
    let (dtype, shape) = match histories(case, dim) {
        Ok(known) => known,
        Err(contract) => return contract,
    };
    let mut outputs = Vec::new();
    for (_, length) in spans(case, dim) {
        let mut shape = shape.clone();
        shape[dim] = length;
        outputs.extend([(dtype, shape.clone()), (dtype, shape)]);
    }
    outputs.extend(outputs[outputs.len() - 2..].to_vec());
    outputs.push((DType::U32, Vec::new()));
    Contract::Accepts { outputs, refusal: None }
}

fn everything(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let dim = size(inputs.case, "dim");
    let mut outputs: Vec<_> = history(inputs, dim).into_iter().flat_map(|(k, v)| [k, v]).collect();
    outputs.extend(outputs[outputs.len() - 2..].to_vec());
    let length = spans(inputs.case, dim).last().map_or(0, |&(_, length)| length);
    outputs.extend(scalar(Num::exact(length as f64)));
    outputs
}

pub fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let mut shape = draw.shape(0, 3)?;
    let dim = draw.between(0, shape.len())?;
    shape.insert(dim, 1);
    let max = draw.between(1, 6)?;
    Ok(generated(draw, CACHE_SUPPORT, shape, dim)?.param("dim", dim).param("max", max))
}

/// A case that appends 1 to 4 parts of this shape, with other sizes for `dim`.
pub fn generated(draw: &mut Draw, support: &Support, mut shape: Vec<usize>, dim: usize) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let mut case = Case::default();
    let count = draw.between(1, 4)?;
    for place in 0..count {
        shape[dim] = *draw.choose(&[1, 1, 2, 3, 4, 0])?;
        case = case.input(&format!("k{place}"), draw.packed(dtype, &shape)?);
        case = case.input(&format!("v{place}"), draw.packed(dtype, &shape)?);
    }
    Ok(if draw.one_in(4)? { case.param("reset", draw.between(1, 3)?) } else { case })
}
