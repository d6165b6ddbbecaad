//! Rotary embeddings: `rope` and its variants.

use candle_core::{Result, Tensor as Candle};
use candle_nn::rotary_emb;
use ndarray::{ArrayD, Dimension};

use crate::case::{Case, InputSpec};
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::support::arguments::{COS, SIN};
use crate::ops::{Call, Contract, Op, ReferenceInputs, rule, why};
use crate::tensor::{DType, Support};

/// The dtypes of the fused forms.
const FUSED_SUPPORT: &Support = &Support::both("x", &DType::FLOATS);

/// The dtypes of the slow forms.
const SLOW_SUPPORT: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// Where the contract of these ops comes from.
const PROMISE: &str = "candle-nn/src/rotary_emb.rs:249-308, 555-599, 830-865: the fused forms match the slow ones, \
                       which \
                       have gradients; one table for the batch or one per element, at least as long as x; ONNX RotaryEmbedding (pairs \
                       of halves, or interleaved ones) after Su et al. (2021, RoFormer)";

/// `rope(x (B, H, T, D), cos (T, D/2), sin (T, D/2))`: rotates each head, which pairs its first half with its
/// second. Tables may have a batch dimension.
pub static ROPE: Op = Op {
    name: "rotary.rope",
    covers: &["rotary_emb::rope"],
    support: FUSED_SUPPORT,
    inputs: &[InputSpec::new("x", "(B, H, T, D)"), COS, SIN],
    params: &[],
    generate: &|draw| generate(draw, FUSED_SUPPORT, HALVES, 3),
    contract: &fused_contract,
    call: &|call| rotated(call, rotary_emb::rope),
    source: "candle_nn::rotary_emb::rope(&x, &cos, &sin)?",
    torch: r#"
        {% set at = ("" if inputs.cos.shape|length == 2 else ":, None, ") ~ ":" ~ inputs.x.shape[2] %}
        c, s = [torch.cat([table, table], dim=-1)[{{ at }}] for table in (cos, sin)]
        first, second = x.chunk(2, dim=-1)
        x * c + torch.cat([-second, first], dim=-1) * s
    "#,
    reference: Some(&|inputs| reference(inputs, HALVES)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: PROMISE,
};

/// `rope_i(x, cos, sin)`: as `rope`, with neighbours as pairs.
pub static ROPE_I: Op = Op {
    name: "rotary.rope_i",
    covers: &["rotary_emb::rope_i"],
    support: FUSED_SUPPORT,
    inputs: &[InputSpec::new("x", "(B, H, T, D)"), COS, SIN],
    params: &[],
    generate: &|draw| generate(draw, FUSED_SUPPORT, HALVES, 3),
    contract: &fused_contract,
    call: &|call| rotated(call, rotary_emb::rope_i),
    source: "candle_nn::rotary_emb::rope_i(&x, &cos, &sin)?",
    // PyTorch has no rotary embedding.
    torch: "",
    reference: Some(&|inputs| reference(inputs, INTERLEAVED)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: PROMISE,
};

/// `rope_thd(x (B, T, H, D), cos, sin)`: as `rope` with time before heads.
pub static ROPE_THD: Op = Op {
    name: "rotary.rope_thd",
    covers: &["rotary_emb::rope_thd"],
    support: FUSED_SUPPORT,
    inputs: &[InputSpec::new("x", "(B, T, H, D)"), COS, SIN],
    params: &[],
    generate: &|draw| generate(draw, FUSED_SUPPORT, TIME_FIRST, 3),
    contract: &|case| contract(case, TIME_FIRST).may_refuse(!case.is_contiguous(), why::CONTIGUOUS),
    call: &|call| rotated(call, rotary_emb::rope_thd),
    source: "candle_nn::rotary_emb::rope_thd(&x, &cos, &sin)?",
    // PyTorch has no rotary embedding.
    torch: "",
    reference: Some(&|inputs| reference(inputs, TIME_FIRST)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: PROMISE,
};

/// `rope_slow(x, cos, sin)`: `rope` composed of single ops, for any layout.
pub static ROPE_SLOW: Op = Op {
    name: "rotary.rope_slow",
    covers: &["rotary_emb::rope_slow"],
    support: SLOW_SUPPORT,
    inputs: &[InputSpec::new("x", "(B, H, T, D)"), COS, SIN],
    params: &[],
    generate: &|draw| generate(draw, SLOW_SUPPORT, HALVES, 30),
    contract: &slow_contract,
    call: &|call| rotated(call, rotary_emb::rope_slow),
    source: "candle_nn::rotary_emb::rope_slow(&x, &cos, &sin)?",
    torch: "{% include 'rotary.rope' %}",
    reference: Some(&|inputs| reference(inputs, HALVES)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: PROMISE,
};

/// `rope_i_slow(x, cos, sin)`: `rope_i` composed of single ops, for any layout.
pub static ROPE_I_SLOW: Op = Op {
    name: "rotary.rope_i_slow",
    covers: &["rotary_emb::rope_i_slow"],
    support: SLOW_SUPPORT,
    inputs: &[InputSpec::new("x", "(B, H, T, D)"), COS, SIN],
    params: &[],
    generate: &|draw| generate(draw, SLOW_SUPPORT, HALVES, 30),
    contract: &slow_contract,
    call: &|call| rotated(call, rotary_emb::rope_i_slow),
    source: "candle_nn::rotary_emb::rope_i_slow(&x, &cos, &sin)?",
    // PyTorch has no rotary embedding.
    torch: "",
    reference: Some(&|inputs| reference(inputs, INTERLEAVED)),
    ulps: 4.0,
    differentiable: &["x"],
    promise: PROMISE,
};

fn fused_contract(case: &Case) -> Contract {
    contract(case, HALVES).may_refuse(!case.is_contiguous(), why::CONTIGUOUS)
}

fn slow_contract(case: &Case) -> Contract {
    let tables = ["cos", "sin"].iter().filter_map(|name| case.tensor(name));
    match contract(case, HALVES) {
        // A table of another rank is broadcast, and so is an `x` of width 1. Nothing says whether tables may have a batch dimension: the
        // fused form decides, as a sibling.
        Contract::Rejects(rule) if *rule == rule::SHAPES && !is_matched(case) => {
            Contract::Unspecified("tables of a different shape")
        }
        Contract::Accepts { .. } if tables.into_iter().any(|table| table.shape.len() != 2) => {
            Contract::Unspecified("tables of a different shape")
        }
        other => other,
    }
}

/// Whether `x` has elements, and each table is a matrix, so that the tables either fit or cannot be broadcast.
fn is_matched(case: &Case) -> bool {
    let is_wide = case.tensor("x").is_some_and(|x| x.elements() != Some(0) && x.shape.last() != Some(&1));
    is_wide && ["cos", "sin"].iter().all(|name| case.tensor(name).is_some_and(|table| table.shape.len() == 2))
}

/// Which dimension of `x` is time, and what its pairs are.
#[derive(Clone, Copy)]
struct Form {
    time: usize,
    interleaved: bool,
}

const HALVES: Form = Form { time: 2, interleaved: false };
const INTERLEAVED: Form = Form { time: 2, interleaved: true };
const TIME_FIRST: Form = Form { time: 1, interleaved: false };

fn rotated(call: &Call, rope: fn(&Candle, &Candle, &Candle) -> Result<Candle>) -> Result<Vec<Candle>> {
    Ok(vec![rope(call.tensor("x")?, call.tensor("cos")?, call.tensor("sin")?)?])
}

/// One case in `batched` has tables for each sequence.
fn generate(draw: &mut Draw, support: &Support, form: Form, batched: u32) -> arbitrary::Result<Case> {
    let dtype = draw.dtype(support)?;
    let (batch, heads, time, half) = (draw.positive()?, draw.positive()?, draw.size()?, draw.size()?);
    let shape = if form.time == 1 { [batch, time, heads, 2 * half] } else { [batch, heads, time, 2 * half] };
    let longer = if draw.one_in(3)? { draw.between(1, 3)? } else { 0 };
    let mut table = vec![time + longer, half];
    if draw.one_in(batched)? {
        table.insert(0, batch);
    }
    let mut case = Case::default().input("x", draw.packed(dtype, &shape)?);
    for name in ["cos", "sin"] {
        case = case.input(name, draw.packed(dtype, &table)?);
    }
    case.backward = draw.backward()?;
    Ok(case)
}

fn contract(case: &Case, form: Form) -> Contract {
    let (Some(x), Some(cos), Some(sin)) = (case.tensor("x"), case.tensor("cos"), case.tensor("sin")) else {
        return Contract::Rejects(&rule::SHAPES);
    };
    if x.shape.len() != 4 {
        return Contract::Rejects(&rule::RANK);
    }
    for table in [cos, sin] {
        let (rows, half) = match table.shape[..] {
            [rows, half] => (rows, half),
            [batch, rows, half] if batch == x.shape[0] => (rows, half),
            _ => return Contract::Rejects(&rule::SHAPES),
        };
        if half.checked_mul(2) != Some(x.shape[3]) || rows < x.shape[form.time] {
            return Contract::Rejects(&rule::SHAPES);
        }
    }
    if cos.shape.len() != sin.shape.len() {
        return Contract::Unspecified("one table for the batch beside one per element");
    }
    if cos.dtype != x.dtype || sin.dtype != x.dtype {
        return Contract::mixed(x);
    }
    if !x.dtype.is_float() {
        return Contract::Unspecified("a rotation of integers");
    }
    Contract::accepts(x.dtype, &x.shape)
}

fn reference(inputs: &ReferenceInputs, form: Form) -> Vec<ArrayD<Num>> {
    let (x, cos, sin) = (inputs.array("x"), inputs.array("cos"), inputs.array("sin"));
    let half = x.shape()[3] / 2;
    let value = |index: &[usize]| {
        let place = index[3];
        let (pair, second) = if form.interleaved { (place / 2, place % 2 == 1) } else { (place % half, place >= half) };
        let (first, last) = if form.interleaved { (2 * pair, 2 * pair + 1) } else { (pair, pair + half) };
        let entry = |table: &ArrayD<Num>| {
            if table.ndim() == 3 { table[[index[0], index[form.time], pair]] } else { table[[index[form.time], pair]] }
        };
        let at = |place: usize| x[[index[0], index[1], index[2], place]];
        if second {
            at(first) * entry(&sin) + at(last) * entry(&cos)
        } else {
            at(first) * entry(&cos) - at(last) * entry(&sin)
        }
    };
    vec![ArrayD::from_shape_fn(x.raw_dim(), |index| value(index.slice()))]
}
