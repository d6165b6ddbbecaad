//! `flash_attn` and the kernels that it dispatches to.
//!
//! The kernels run on the CPU whatever the device of the case is: the calls move their inputs there.

use candle_core::{Device, Result, Tensor as Candle};
use candle_nn::attention::cpu_flash::{causal, standard};
use candle_nn::attention::{AttnMask, flash_attn};
use half::{bf16, f16};
use ndarray::{ArrayD, IxDyn};

use crate::case::{Case, InputSpec, ParamSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::products::attention::weighted;
use crate::ops::support::reference_inputs::broadcast_shape;
use crate::ops::{Call, Contract, Op, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support, product};

/// `softmax(q k^T * scale + mask) v` of `q (B, S, H, D)` and `k, v (B, L, HK, D)`; the result is `(B, H, S, D)`.
pub static FLASH_ATTN: Op = Op {
    name: "attention.flash_attn",
    covers: &[
        "attention::flash_attn",
        "attention::AttnMask",
        "attention::cpu_flash::standard::run_flash_attn_cpu",
        "attention::cpu_flash::causal::run_causal_attn_cpu",
        "cpu_flash_attention::run_flash_attn_cpu",
        "AttnMask::causal_with_offset",
    ],
    support: &Support::both("q", &[DType::F32, DType::F16, DType::Bf16]),
    inputs: &[
        InputSpec::new("q", "(B, S, H, D): the queries"),
        InputSpec::new("k", "(B, L, HK, D): the keys"),
        InputSpec::new("v", "(B, L, HK, D): the values"),
        InputSpec::new("mask", "(S, L): added to the scores").when("mask", "mask"),
    ],
    params: &[
        ParamSpec::word(
            "form",
            &["", "kernel", "deprecated"],
            "The entry point: `flash_attn`, its kernel for one batch element, or the deprecated function.",
        ),
        ParamSpec::size("kv_offset", 0, "How many keys come before the first query, with a causal mask."),
        ParamSpec::word("mask", &["none", "causal", "mask"], "The keys that a query attends to."),
        ParamSpec::float("max_bias", 0.0, "The largest slope of ALiBi.").optional(),
        ParamSpec::float("scale", 1.0, "The scale of the scores."),
        ParamSpec::float("softcap", 0.0, "The cap of the scores.").optional(),
    ],
    generate: &generate,
    contract: &contract,
    call: &attend,
    source: r#"
        {% set T = inputs.q.rust if "half::" in inputs.q.rust else "f32" %}
        {% set causal = mask == "causal" %}
        {% set tensors = "&q" ~ to_host ~ ", &k" ~ to_host ~ ", &v" ~ to_host %}
        {% set scale = scale|f32 %}
        {% set more = max_bias|f32|option ~ ", " ~ softcap|f32|option %}
        {% set bias_or_mask = "Some(&mask" ~ to_host ~ ")" if inputs.mask else "None" %}
        {% if form == "kernel" and causal %}
        candle_nn::attention::cpu_flash::causal::run_causal_attn_cpu::<{{ T }}>(
            {{ tensors }}, {{ scale }}, {{ kv_offset }}, {{ more }},
        )?
        {% elif form == "kernel" %}
        candle_nn::attention::cpu_flash::standard::run_flash_attn_cpu::<{{ T }}>(
            {{ tensors }}, {{ bias_or_mask }}, {{ scale }}, {{ more }},
        )?
        {% elif form == "deprecated" %}
        candle_nn::cpu_flash_attention::run_flash_attn_cpu::<{{ T }}>(
            {{ tensors }}, {{ bias_or_mask }}, {{ scale }}, {{ more }},
        )?
        {% else %}
        {% set attn_mask = "AttnMask::None" %}
        {% if causal %}
        {% set attn_mask = "AttnMask::causal_with_offset(" ~ kv_offset ~ ")" %}
        {% elif inputs.mask %}
        {% set attn_mask = "AttnMask::Mask(mask" ~ to_host ~ ")" %}
        {% endif %}
        candle_nn::attention::flash_attn::<{{ T }}>({{ tensors }}, {{ scale }}, {{ attn_mask }}, {{ more }})?
        {% endif %}
    "#,
    torch: r#"
        {% if max_bias is defined or softcap is defined %}{{ lacks("a bias of positions or a cap") }}{% endif %}
        {% set bias_or_mask = "None" %}
        {% if mask == "causal" %}
        mask = torch.ones({{ inputs.q.shape[1] }}, {{ inputs.k.shape[1] }}, dtype=torch.bool).tril({{ kv_offset }})
        {% set bias_or_mask = "mask" %}
        {% elif inputs.mask %}
        {% set bias_or_mask = "mask" %}
        {% endif %}
        q, k, v = [x.transpose(1, 2) for x in (q, k, v)]
        F.scaled_dot_product_attention(q, k, v, attn_mask={{ bias_or_mask }}, scale={{ scale }}, enable_gqa=True)
    "#,
    reference: Some(&reference),
    ulps: 8.0,
    differentiable: &[],
    promise: "candle-nn/src/attention/cpu_flash/mod.rs:45-65 (shapes, scale, mask, ALiBi, soft-capping, one function for \
              any batch), causal.rs:640-660 (a query attends to the keys up to its own position plus kv_offset), \
              varlen.rs:364 (the result has the dtype of q); explicit masks and soft-capping are for one element \
              (mod.rs:10); torch.nn.functional.scaled_dot_product_attention; flash-attention's `alibi_slopes` (without a \
              mask, a bias of -slope * |i + seqlen_k - seqlen_q - j|) and `softcap`, 0 for none",
};

fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(FLASH_ATTN.support)?;
    let (groups, repeat, width) = (draw.between(1, 2)?, draw.between(1, 3)?, draw.positive()?);
    let queries = draw.between(1, 4)?;
    let keys = queries + if draw.one_in(2)? { draw.size()? } else { 0 };
    let batch = if draw.one_in(3)? { draw.between(2, 3)? } else { 1 };
    let mut case = Case::default().input("q", draw.packed(dtype, &[batch, queries, groups * repeat, width])?);
    for name in ["k", "v"] {
        case = case.input(name, draw.packed(dtype, &[batch, keys, groups, width])?);
    }
    case = case.param("scale", *draw.choose(&[1.0, 0.5, 0.125])?);
    let mask = *draw.choose(&["none", "causal", "mask"])?;
    if mask == "causal" {
        // Usually the last query is aligned with the last key.
        let aligned = keys - queries;
        case = case.param("kv_offset", if draw.one_in(6)? { draw.between(0, aligned)? } else { aligned });
    }
    if mask == "mask" {
        case = case.input("mask", draw.tensor(dtype, &[queries, keys])?);
    }
    let form = if batch == 1 { *draw.choose(&["", "", "deprecated", "kernel"])? } else { "" };
    case = case.param("mask", mask).param("form", if form == "deprecated" && mask == "causal" { "" } else { form });
    if mask != "mask" && draw.one_in(4)? {
        case = case.param("max_bias", *draw.choose(&[1.0, 8.0])?);
    }
    Ok(if draw.one_in(4)? { case.param("softcap", *draw.choose(&[1.0, 30.0])?) } else { case })
}

fn contract(case: &Case) -> Contract {
    let (Some(q), Some(k), Some(v)) = (case.tensor("q"), case.tensor("k"), case.tensor("v")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if [q, k, v].iter().any(|tensor| tensor.shape.len() != 4) {
        return Contract::Rejects(&rule::RANK);
    }
    if q.shape[2..].contains(&0) || [k, v].iter().any(|tensor| tensor.shape[1..].contains(&0)) {
        return Contract::Unspecified("attention with an empty input");
    }
    if [k, v].iter().any(|tensor| tensor.dtype != q.dtype) {
        return Contract::Rejects(&rule::MIXED);
    }
    if !q.dtype.is_float() {
        return Contract::Rejects(&rule::ATTENTION);
    }
    if k.shape != v.shape || k.shape[0] != q.shape[0] || k.shape[3] != q.shape[3] {
        return Contract::Rejects(&rule::SHAPES);
    }
    let (batch, queries, heads, width) = (q.shape[0], q.shape[1], q.shape[2], q.shape[3]);
    let (keys, groups) = (k.shape[1], k.shape[2]);
    if heads % groups != 0 {
        return Contract::Rejects(&rule::HEADS);
    }
    let is_size = |name| case.optional_float(name).is_none_or(|value| value >= 0.0 && value.is_finite());
    if !is_size("max_bias") || !is_size("softcap") || !case.float("scale").is_finite() {
        return Contract::Unspecified("a bias or cap that is negative or not finite, or a scale that is not finite");
    }
    let explicit = case.text("mask") == "mask";
    let causal = case.text("mask") == "causal";
    if explicit != case.tensor("mask").is_some() || (causal && case.text("form") == "deprecated") {
        return Contract::Unspecified("a mask that this call does not accept");
    }
    if explicit {
        let scores = [batch, heads, queries, keys];
        match case.tensor("mask") {
            Some(mask) if broadcast_shape(&mask.shape, &scores).is_none_or(|joint| joint != scores) => {
                return Contract::Rejects(&rule::SHAPES);
            }
            Some(mask) if mask.shape == [queries, keys] && mask.dtype == q.dtype => {}
            _ => return Contract::Unspecified("a mask that is not one value per query and key"),
        }
        if case.optional_float("max_bias").is_some_and(|bias| bias > 0.0) {
            return Contract::Unspecified("ALiBi with an explicit mask");
        }
    }
    if product(&[batch, heads, queries, keys, width]).is_none_or(|work| work > 1 << 20) {
        return Contract::Unspecified(why::TOO_LARGE);
    }
    if batch > 1 && !case.text("form").is_empty() {
        return Contract::Unspecified("several batch elements for a kernel that takes one");
    }
    let limited = batch > 1 && (explicit || case.optional_float("softcap").is_some() || q.dtype == DType::Bf16);
    Contract::accepts(q.dtype, &[batch, heads, queries, width])
        .may_refuse(limited, "candle supports this only for a single element of a batch")
        .may_refuse(batch > 1 && causal && keys < queries, "fewer keys than queries")
}

fn attend(call: &Call) -> Result<Vec<Candle>> {
    let [q, k, v] = ["q", "k", "v"].map(|name| call.tensor(name).and_then(|tensor| tensor.to_device(&Device::Cpu)));
    let (q, k, v) = (&q?, &k?, &v?);
    let mask = call.optional("mask").map(|mask| mask.to_device(&Device::Cpu)).transpose()?;
    let float = |name| call.case.optional_float(name).map(|value| value as f32);
    let (scale, bias, cap) = (call.case.float("scale") as f32, float("max_bias"), float("softcap"));
    let (causally, offset) = (call.case.text("mask") == "causal", call.size("kv_offset"));
    macro_rules! of {
        ($element:ty) => {
            match call.case.text("form") {
                "kernel" if causally => causal::run_causal_attn_cpu::<$element>(q, k, v, scale, offset, bias, cap)?,
                "kernel" => standard::run_flash_attn_cpu::<$element>(q, k, v, mask.as_ref(), scale, bias, cap)?,
                "deprecated" => run_flash_attn_cpu::<$element>(q, k, v, mask.as_ref(), scale, bias, cap)?,
                _ => {
                    let mask = match mask {
                        _ if causally => AttnMask::causal_with_offset(offset),
                        Some(mask) => AttnMask::Mask(mask),
                        None => AttnMask::None,
                    };
                    flash_attn::<$element>(q, k, v, scale, mask, bias, cap)?
                }
            }
        };
    }
    #[allow(deprecated)] // A public function, and what people still call.
    use candle_nn::cpu_flash_attention::run_flash_attn_cpu;
    #[allow(deprecated)]
    Ok(vec![match q.dtype() {
        candle_core::DType::F16 => of!(f16),
        candle_core::DType::BF16 => of!(bf16),
        _ => of!(f32),
    }])
}

fn reference(inputs: &ReferenceInputs) -> Vec<ArrayD<Num>> {
    let (q, k, v, mask) = (inputs.array("q"), inputs.array("k"), inputs.array("v"), inputs.optional("mask"));
    let [batch, queries, heads, width] = [0, 1, 2, 3].map(|d| q.shape()[d]);
    let (keys, repeat) = (k.shape()[1], heads / k.shape()[2]);
    let causal = inputs.case.text("mask") == "causal";
    let offset = inputs.case.size("kv_offset");
    // Without a causal mask, the last query is at the place of the last key.
    let place = if causal { offset as f64 } else { keys as f64 - queries as f64 };
    let scale = Num::exact(f64::from(inputs.case.float("scale") as f32));
    // 0 is none.
    let positive = |name| inputs.case.optional_float(name).filter(|&value| value > 0.0);
    let (cap, bias) = (positive("softcap").map(Num::exact), positive("max_bias"));
    let mut out = ArrayD::from_elem(IxDyn(&[batch, heads, queries, width]), Num::exact(0.0));
    for at in 0..batch * heads * queries {
        let (b, head, i) = (at / queries / heads, at / queries % heads, at % queries);
        let score = |j: usize| {
            let mut score = Num::sum((0..width).map(|t| q[[b, i, head, t]] * k[[b, j, head / repeat, t]])) * scale;
            if let Some(cap) = cap {
                score = cap * tanh(score / cap);
            }
            if let Some(bias) = bias {
                let slope = slope(bias, head, heads);
                let slope = Num { error: slope * f64::from(f32::EPSILON), ..Num::exact(slope) };
                score = score - slope * Num::exact((i as f64 + place - j as f64).abs());
            }
            mask.as_ref().map_or(score, |mask| score + mask[[i, j]])
        };
        let seen = if causal { keys.min(i.saturating_add(offset).saturating_add(1)) } else { keys };
        let scores: Vec<_> = (0..seen).map(|j| (j, score(j))).collect();
        for (t, value) in weighted(&scores, width, |j, t| v[[b, j, head / repeat, t]]).into_iter().enumerate() {
            out[[b, head, i, t]] = value;
        }
    }
    vec![out]
}

/// The slope of a head (`ALiBi`, Press et al. 2022; llama.cpp `ggml_flash_attn_ext`): a geometric sequence for as many heads as the largest
/// power of two, and for the others every second slope of twice as many heads.
fn slope(largest: f64, head: usize, heads: usize) -> f64 {
    let power = 1_usize << heads.ilog2();
    let (step, count) = if head < power { (head + 1, power) } else { (2 * (head - power) + 1, 2 * power) };
    (-largest * step as f64 / count as f64).exp2()
}

fn tanh(x: Num) -> Num {
    let (one, shrunk) = (Num::exact(1.0), (-(x.abs() + x.abs())).exp());
    let size = (one - shrunk) / (one + shrunk);
    if x.value < 0.0 { -size } else { size }
}
