//! Initial values of layers.

use candle_nn::init::{FanInOut, Init, NonLinearity, NormalOrUniform};

use crate::case::{Case, ParamSpec};
use crate::ops::Op;
use crate::ops::support::arguments::{COLUMNS, DTYPE, ROWS};
use crate::ops::support::call::candle_dtype;
use crate::ops::support::elements::creation::{contract, dtype, generate, shape};
use crate::ops::support::elements::random_facts::{
    CREATED, Distribution, all_hold, check_distribution, facts_contract,
};
use crate::tensor::{DType, Support};

/// `Init::var((rows, columns), dtype, device)` of the variant `kind`.
pub static INIT: Op = Op {
    name: "random.init",
    covers: &["Init", "init::FanInOut", "init::NonLinearity", "init::NormalOrUniform", "Init::var"],
    support: &Support { of: "dtype", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    inputs: &[],
    params: &[
        COLUMNS,
        DTYPE,
        ParamSpec::word("fan", &["in", "out"], "The fan of the Kaiming variants."),
        ParamSpec::word("kind", &["const", "uniform", "randn", "kaiming_uniform", "kaiming_normal"], "The variant."),
        ROWS,
    ],
    generate: &|draw| {
        let kind = *draw.choose(&["const", "uniform", "randn", "kaiming_uniform", "kaiming_normal"])?;
        let fan = *draw.choose(&["in", "out"])?;
        Ok(generate(draw, CREATED)?.param("kind", kind).param("fan", fan))
    },
    contract: &|case| facts_contract(contract(case)),
    call: &|call| {
        let (init, distribution) = init(call.case);
        let shape = (call.size("rows"), call.size("columns"));
        check_distribution(
            init.var(shape, candle_dtype(dtype(call.case)), call.device)?.as_tensor(),
            &[],
            call.case,
            &distribution,
        )
    },
    source: r#"
        {% set init = {
            "uniform": "Uniform { lo: -0.5, up: 2.0 }",
            "randn": "Randn { mean: 0.5, stdev: 0.25 }",
            "kaiming_uniform": "Kaiming { dist: NormalOrUniform::Uniform, fan, non_linearity: NonLinearity::ReLU }",
            "kaiming_normal": "Kaiming { dist: NormalOrUniform::Normal, fan, non_linearity: NonLinearity::ReLU }",
        }[kind]|default("Const(1.5)") %}
        {% if "fan" in init %}
        use candle_nn::init::{FanInOut, NonLinearity, NormalOrUniform};
        let fan = FanInOut::{{ "FanOut" if fan == "out" else "FanIn" }};
        {% endif %}
        let init = candle_nn::Init::{{ init }};
        let var = init.var(({{ rows }}, {{ columns }}), {{ dtype|dtype }}, &device)?;
        println!("{}", var.as_tensor());
    "#,
    // PyTorch draws other numbers.
    torch: "",
    reference: Some(&all_hold),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/init.rs; torch.nn.init, which leaves an empty tensor empty",
};

/// The initialization that the case names, and its distribution.
fn init(case: &Case) -> (Init, Distribution) {
    let [rows, columns] = shape(case);
    let fan = if case.text("fan") == "out" { FanInOut::FanOut } else { FanInOut::FanIn };
    let size = if case.text("fan") == "out" { rows } else { columns };
    let std = (2.0 / size.max(1) as f64).sqrt();
    let kaiming = |dist| Init::Kaiming { dist, fan, non_linearity: NonLinearity::ReLU };
    match case.text("kind") {
        "uniform" => (Init::Uniform { lo: -0.5, up: 2.0 }, Distribution::uniform(-0.5, 2.0)),
        "randn" => (Init::Randn { mean: 0.5, stdev: 0.25 }, Distribution::normal(0.5, 0.25)),
        "kaiming_uniform" => {
            (kaiming(NormalOrUniform::Uniform), Distribution::uniform(-3f64.sqrt() * std, 3f64.sqrt() * std))
        }
        "kaiming_normal" => (kaiming(NormalOrUniform::Normal), Distribution::normal(0.0, std)),
        _ => (Init::Const(1.5), Distribution::constant(1.5)),
    }
}
