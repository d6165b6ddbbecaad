//! Attention over packed sequences of different lengths: the fused CPU kernel, and the one made of tensor ops.

use candle_core::{Device, Result, Tensor as Candle};
use candle_nn::attention::{flash_attn_varlen_cpu, flash_attn_varlen_unfused};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::products::attention::weighted;
use crate::ops::{Call, Contract, Op, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support, Tensor, Value, product};

/// `q (TQ, H, D)` and `k, v (TK, HK, D)` of sequences of `seqlens_q` queries and `seqlens_k` keys, on the CPU.
pub static FLASH_ATTN_VARLEN_CPU: Op = Op {
    name: "attention.flash_attn_varlen_cpu",
    covers: &["attention::flash_attn_varlen_cpu"],
    support: &Support::both("q", &[DType::F32, DType::F16]),
    inputs: INPUTS,
    params: PARAMS,
    generate: &|draw| generate(draw, FLASH_ATTN_VARLEN_CPU.support),
    contract: &contract,
    call: &|call| attend(call, flash_attn_varlen_cpu, Some(&Device::Cpu)),
    source: r#"
        {% set function = "flash_attn_varlen_cpu" %}
        {% include "varlen" %}
    "#,
    // PyTorch has no call of this form.
    torch: "",
    reference: Some(&reference),
    ulps: 8.0,
    differentiable: &[],
    promise: PROMISE,
};

/// `flash_attn_varlen_cpu` composed of tensor ops, on any device.
pub static FLASH_ATTN_VARLEN_UNFUSED: Op = Op {
    name: "attention.flash_attn_varlen_unfused",
    covers: &["attention::flash_attn_varlen_unfused"],
    support: &Support::both("q", &DType::FLOATS),
    inputs: INPUTS,
    params: PARAMS,
    generate: &|draw| generate(draw, FLASH_ATTN_VARLEN_UNFUSED.support),
    contract: &contract,
    call: &|call| attend(call, flash_attn_varlen_unfused, None),
    source: r#"
        {% set function, to_host = "flash_attn_varlen_unfused", "" %}
        {% include "varlen" %}
    "#,
    // PyTorch has no call of this form.
    torch: "",
    reference: Some(&reference),
    ulps: 8.0,
    differentiable: &[],
    promise: PROMISE,
};

/// The inputs of these ops.
const INPUTS: &[InputSpec] = &[
    InputSpec::new("q", "(TQ, H, D): the queries of all sequences"),
    InputSpec::new("k", "(TK, HK, D): the keys of all sequences"),
    InputSpec::new("v", "(TK, HK, D): the values of all sequences"),
    InputSpec::new("seqlens_q", "(S), u32: the number of queries of each sequence").discrete(),
    InputSpec::new("seqlens_k", "(S), u32: the number of keys of each sequence").discrete(),
    InputSpec::new("alibi", "(H), f32: the slope of each head").optional(),
];

/// The params of these ops.
const PARAMS: &[ParamSpec] = &[
    ParamSpec::flag("causal", false, "A query attends to no later keys."),
    ParamSpec::size("left", 0, "How many earlier keys a query attends to.").optional(),
    ParamSpec::size("right", 0, "How many later keys a query attends to.").optional(),
    ParamSpec::float("scale", 1.0, "The scale of the scores."),
];

/// Where the contract of these ops comes from.
const PROMISE: &str = "candle-nn/src/attention/varlen.rs:17-24 and cpu_flash/varlen.rs:16-23 (one contract for both: \
                       an \
                       output of [total_q, Hq, D]), the checks of both (heads, lengths and totals, causal with fewer \
                       keys than queries, a right window without a left one); flash-attention's flash_attn_varlen_func: \
                       lengths, windows and slopes";

fn generate(draw: &mut Draw, support: &Support) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let (groups, repeat, width) = (draw.between(1, 2)?, draw.between(1, 2)?, draw.between(1, 4)?);
    let causal = draw.between(0, 1)?;
    let (mut queries, mut keys) = (Vec::new(), Vec::new());
    for _ in 0..draw.between(1, 3)? {
        let more = draw.between(0, 3)?;
        let length = if draw.one_in(12)? { 0 } else { draw.between(1, 3)? };
        queries.push(length);
        keys.push(if causal == 0 && draw.one_in(12)? { 0 } else { length + more });
    }
    let total = |lengths: &[usize]| lengths.iter().sum::<usize>();
    let mut case = Case::default().input("q", draw.tensor(dtype, &[total(&queries), groups * repeat, width])?);
    for name in ["k", "v"] {
        case = case.input(name, draw.tensor(dtype, &[total(&keys), groups, width])?);
    }
    for (name, lengths) in [("seqlens_q", &queries), ("seqlens_k", &keys)] {
        let values = lengths.iter().map(|&length| Value::Int(length as i64)).collect();
        case = case.input(name, Tensor::new(DType::U32, vec![lengths.len()], values));
    }
    if draw.one_in(4)? {
        let slope = |draw: &mut Draw| Ok(Value::Float(*draw.choose(&[0.5, 0.25, 1.0])?));
        let slopes = (0..groups * repeat).map(|_| slope(draw)).collect::<arbitrary::Result<_>>()?;
        case = case.input("alibi", Tensor::new(DType::F32, vec![groups * repeat], slopes));
    }
    if draw.one_in(3)? {
        case = case.param("left", draw.between(0, 3)?);
        if draw.one_in(2)? {
            case = case.param("right", draw.between(0, 2)?);
        }
    }
    Ok(case.param("causal", causal).param("scale", *draw.choose(&[1.0, 0.5, 0.125])?))
}

/// The lengths in `name`, if candle can read them.
fn lengths(case: &Case, name: &str) -> Option<Vec<usize>> {
    let tensor = case.tensor(name).filter(|tensor| tensor.shape.len() == 1 && tensor.dtype == DType::U32)?;
    tensor.ints().into_iter().map(|length| usize::try_from(length).ok()).collect()
}

fn contract(case: &Case) -> Contract {
    let (Some(q), Some(k), Some(v)) = (case.tensor("q"), case.tensor("k"), case.tensor("v")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    let (Some(queries), Some(keys)) = (lengths(case, "seqlens_q"), lengths(case, "seqlens_k")) else {
        return Contract::Rejects(&rule::LENGTHS_DTYPE);
    };
    if [q, k, v].iter().any(|tensor| tensor.shape.len() != 3) {
        return Contract::Rejects(&rule::RANK);
    }
    if q.shape.contains(&0) || [k, v].iter().any(|tensor| tensor.shape[1..].contains(&0)) {
        return Contract::Unspecified("attention with an empty input");
    }
    if [k, v].iter().any(|tensor| tensor.dtype != q.dtype) {
        return Contract::Rejects(&rule::MIXED);
    }
    if queries.len() != keys.len() {
        return Contract::Rejects(&rule::LENGTHS_COUNT);
    }
    let ends_at = |lengths: &[usize], tensor: &Tensor| lengths.iter().sum::<usize>() == tensor.shape[0];
    if !ends_at(&queries, q) || !ends_at(&keys, k) {
        return Contract::Rejects(&rule::LENGTHS_TOTAL);
    }
    if !q.dtype.is_float() {
        let is_computed = queries.iter().zip(&keys).any(|(&queries, &keys)| queries > 0 && keys > 0);
        let nothing = Contract::Unspecified("attention with an empty input");
        return if is_computed { Contract::Rejects(&rule::ATTENTION) } else { nothing };
    }
    let skipped = queries.contains(&0);
    if k.shape[2] != q.shape[2] || (v.shape[0] < k.shape[0] && !skipped) {
        return Contract::Rejects(&rule::SHAPES);
    }
    if v.shape != k.shape {
        return Contract::Unspecified("values whose shape differs from the keys");
    }
    if q.shape[1] % k.shape[1] != 0 {
        return Contract::Rejects(&rule::HEADS);
    }
    if case.tensor("alibi").is_some_and(|alibi| alibi.shape != [q.shape[1]] || alibi.dtype != DType::F32) {
        return Contract::Rejects(&rule::SLOPES);
    }
    if case.optional_size("left").is_none() && case.optional_size("right").is_some() {
        return Contract::Rejects(&rule::RIGHT_WINDOW);
    }
    let causal = case.int("causal") != 0;
    let fewer = || queries.iter().zip(&keys).filter(|(queries, keys)| causal && keys < queries);
    if fewer().any(|(_, &keys)| keys == 0) {
        return Contract::Unspecified("a sequence without keys");
    }
    if fewer().next().is_some() {
        return Contract::Rejects(&rule::FEWER_KEYS);
    }
    if !case.float("scale").is_finite() {
        return Contract::Unspecified("a scale that is not finite");
    }
    if product(&[q.shape[0], q.shape[1], k.shape[0], q.shape[2]]).is_none_or(|work| work > 1 << 20) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    Contract::accepts(q.dtype, &q.shape)
}

type Varlen = fn(
    &Candle,
    &Candle,
    &Candle,
    Option<&Candle>,
    &Candle,
    &Candle,
    usize,
    usize,
    f32,
    bool,
    Option<usize>,
    Option<usize>,
) -> Result<Candle>;

fn attend(call: &Call, function: Varlen, device: Option<&Device>) -> Result<Vec<Candle>> {
    let moved = |name| match (call.tensor(name)?, device) {
        (tensor, Some(device)) => tensor.to_device(device),
        (tensor, None) => Ok(tensor.clone()),
    };
    let alibi = call.optional("alibi").map(|_| moved("alibi")).transpose()?;
    let longest = |name| lengths(call.case, name).and_then(|lengths| lengths.into_iter().max()).unwrap_or(0);
    Ok(vec![function(
        &moved("q")?,
        &moved("k")?,
        &moved("v")?,
        alibi.as_ref(),
        &moved("seqlens_q")?,
        &moved("seqlens_k")?,
        longest("seqlens_q"),
        longest("seqlens_k"),
        call.case.float("scale") as f32,
        call.case.int("causal") != 0,
        call.case.optional_size("left"),
        call.case.optional_size("right"),
    )?])
}

fn reference(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let (q, k, v, alibi) = (inputs.array("q"), inputs.array("k"), inputs.array("v"), inputs.optional("alibi"));
    let (heads, width, repeat) = (q.shape()[1], q.shape()[2], q.shape()[1] / k.shape()[1]);
    let scale = Num::exact(f64::from(inputs.case.float("scale") as f32));
    let mut out = ArrayD::from_elem(IxDyn(q.shape()), Num::exact(0.0));
    let all = |name| lengths(inputs.case, name).unwrap_or_default();
    let (mut first_query, mut first_key) = (0, 0);
    for (queries, keys) in all("seqlens_q").into_iter().zip(all("seqlens_k")) {
        for at in 0..queries * heads {
            let (i, head) = (at / heads, at % heads);
            // The last query is aligned with the last key.
            let position = (i + keys) as i64 - queries as i64;
            let score = |j: usize| {
                let product = (0..width).map(|t| q[[first_query + i, head, t]] * k[[first_key + j, head / repeat, t]]);
                let score = Num::sum(product) * scale;
                let distance = Num::exact((position - j as i64).abs() as f64);
                alibi.as_ref().map_or(score, |slopes| score - slopes[[head]] * distance)
            };
            let seen = (0..keys).filter(|&j| sees(inputs.case, position, j as i64));
            let scores: Vec<_> = seen.map(|j| (j, score(j))).collect();
            let mean = weighted(&scores, width, |j, t| v[[first_key + j, head / repeat, t]]);
            for (t, value) in mean.into_iter().enumerate() {
                out[[first_query + i, head, t]] = value;
            }
        }
        (first_query, first_key) = (first_query + queries, first_key + keys);
    }
    // It is open whether a masked key may spoil a mean, if it is not finite or its score overflows.
    let largest = |of: &ArrayD<Num>| of.iter().fold(0.0, |largest: f64, number| largest.max(number.value.abs()));
    let overflows = largest(&q) * largest(&k) * width as f64 > f64::from(f32::MAX);
    if overflows || k.iter().chain(&v).any(|number| !number.value.is_finite()) {
        out.mapv_inplace(|number| Num { peak: f64::INFINITY, ..number });
    }
    vec![out]
}

/// Whether the query at `position` attends to the key `j`. Without a right window, a left one ends at the query.
fn sees(case: &Case, position: i64, j: i64) -> bool {
    let within = |window: usize| i64::try_from(window).unwrap_or(i64::MAX / 2);
    let ahead = j - position;
    let windowed = match (case.optional_size("left"), case.optional_size("right")) {
        (Some(left), Some(right)) => -ahead <= within(left) && ahead <= within(right),
        (Some(left), None) => -ahead <= within(left) && ahead <= 0,
        (None, _) => true,
    };
    windowed && (ahead <= 0 || case.int("causal") == 0)
}
