//! Dropout.

use candle_core::{Result, Tensor};

use crate::case::{Backward, ParamSpec};
use crate::ops::support::arguments::ANY;
use crate::ops::support::call::dtype_of;
use crate::ops::support::elements::elementwise::{FLOATS, case, elementwise, of_floats};
use crate::ops::support::elements::random_facts::{all_hold, facts, facts_contract, floats};
use crate::ops::{Contract, Op, rule};

/// `dropout(x, p)`, or `Dropout` with `form = "train"` and `"eval"`: each element is 0 or `x / (1 - p)`, and the share
/// of zeros is `p`; outside training nothing is dropped.
pub static DROPOUT: Op = Op {
    name: "op.dropout",
    covers: &["ops::dropout", "Dropout", "Dropout::new", "Dropout::forward"],
    support: FLOATS,
    inputs: &[ANY],
    params: &[
        ParamSpec::word(
            "form",
            &["function", "train", "eval"],
            "The function, or the layer while training or evaluating.",
        ),
        ParamSpec::float("p", 0.0, "The fraction of elements to drop."),
    ],
    generate: &|draw| {
        let (p, form) = (*draw.choose(&[0.5, 0.25, 0.0, 0.75])?, *draw.choose(&["function", "train", "eval"])?);
        let mut case = case(draw, FLOATS)?;
        case.backward = Backward::None;
        Ok(case.param("p", p).param("form", form))
    },
    contract: &|case| match of_floats(case) {
        // Nothing is computed, so integers pass, as in PyTorch.
        _ if case.text("form") == "eval" || case.float("p") == 0.0 => facts_contract(elementwise(case)),
        accepts @ Contract::Accepts { .. } => {
            let p = f64::from(case.float("p") as f32);
            let largest = case.tensor("x").map_or(f64::MAX, |x| x.dtype.max());
            if !(0.0..=1.0).contains(&p) {
                Contract::Rejects(&rule::PROBABILITY)
            } else if p < 1.0 && (1.0 - p).recip() > largest {
                Contract::Unspecified("a factor that overflows")
            } else {
                facts_contract(accepts)
            }
        }
        other => other,
    },
    call: &|call| {
        let (x, p) = (call.tensor("x")?, call.case.float("p") as f32);
        let (out, share) = match call.case.text("form") {
            "eval" => (candle_nn::Dropout::new(p).forward(x, false)?, 0.0),
            "train" => (candle_nn::Dropout::new(p).forward(x, true)?, f64::from(p)),
            _ => (candle_nn::ops::dropout(x, p)?, f64::from(p)),
        };
        dropped(x, &out, share)
    },
    source: r#"
        {% set p = p|f32 %}
        {% if form in ["train", "eval"] %}
        let kept = candle_nn::Dropout::new({{ p }}).forward(&x, {{ form == "train" }})?;
        {% else %}
        let kept = candle_nn::ops::dropout(&x, {{ p }})?;
        {% endif %}
        println!("{kept}");
    "#,
    // PyTorch draws other numbers.
    torch: "",
    reference: Some(&all_hold),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/ops.rs:208-250; torch.nn.Dropout: a probability between 0 and 1, of which 1 gives zeros",
};

/// The facts about dropout: dtype and shape are those of `x`; each float is 0 or scaled; the share of zeros. The values
/// of integers are unspecified and random.
fn dropped(x: &Tensor, out: &Tensor, share: f64) -> Result<Vec<Tensor>> {
    let well_formed = out.dims() == x.dims() && out.dtype() == x.dtype();
    if x.dtype().is_int() {
        return facts([well_formed, true, true]);
    }
    let unit = dtype_of(x).unit_roundoff();
    let (values, outputs) = (floats(x)?, floats(out)?);
    let tiny = dtype_of(x).smallest() / unit;
    let scaled = values.iter().zip(&outputs).all(|(value, out)| {
        if share == 1.0 {
            return !value.is_finite() || *out == 0.0;
        }
        let want = value / (1.0 - share);
        let same = (want - out).abs() <= 8.0 * unit * want.abs() + tiny;
        !want.is_finite() || want.abs() * (1.0 + unit) >= dtype_of(x).max() || same || *out == 0.0 && share > 0.0
    });
    let ordinary = values.iter().zip(&outputs).filter(|(value, _)| value.is_finite() && value.abs() > tiny);
    let (count, zeros) = ordinary
        .fold((0.0, 0.0), |(count, zeros), (_, out)| (count + 1.0, if *out == 0.0 { zeros + 1.0 } else { zeros }));
    let deviation = 6.0 * (share * (1.0 - share) * count).sqrt();
    // Near 0 and 1 too few elements differ to tell.
    let is_telling = share == 0.0 || (0.01..=0.9).contains(&share);
    let near = !is_telling || count < 64.0 || (zeros - share * count).abs() <= deviation + 1.0;
    facts([well_formed, scaled, near])
}
