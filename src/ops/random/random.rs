//! What is drawn at random: facts about it that hold in every run (up to six standard deviations), each 1 or 0.

use candle_core::{DType as Candle, Device, Result, Tensor, WithDType};
use candle_nn::init::{FanInOut, Init, NonLinearity, NormalOrUniform};
use ndarray::{ArrayD, IxDyn};

use crate::case::Case;
use crate::generate::Draw;
use crate::number::Num;
use crate::ops::create::filled::{created, dtype, shape, sized};
use crate::ops::support::call::{candle, typed_float};
use crate::ops::tensor::unary::{case as elements, of_floats};
use crate::ops::{Contract, Op, why};
use crate::tensor::{DType, Support};

const CREATED: &Support = &Support::both("dtype", &DType::FLOATS);
const FLOATS: &Support = &Support { of: "x", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS };

/// `Tensor::rand(lo, up, (rows, columns), device)`, or `rand_like` with `form = "like"`.
pub static RAND: Op = Op {
    name: "random.rand",
    covers: &["Tensor::rand", "Tensor::rand_like"],
    support: CREATED,
    generate: |draw| {
        let (lo, up) = *draw.choose(&[(0.0, 1.0), (-1.0, 1.0), (0.0, 2.0), (3.0, 4.0), (-0.5, 0.0)])?;
        Ok(formed(draw)?.param("lo", lo).param("up", up))
    },
    contract: |case| {
        let (lo, up) = (case.float("lo", 0.0), case.float("up", 1.0));
        if lo < up && [lo, up].iter().all(|&bound| bound.abs() <= 4.0 && dtype(case).round(bound) == bound) {
            facts(created(case))
        } else {
            Contract::Unspecified("no ordinary interval")
        }
    },
    call: |call| {
        let (lo, up) = (call.case.float("lo", 0.0), call.case.float("up", 1.0));
        let shape = (call.size("rows", 0), call.size("columns", 0));
        let drawn = match call.case.text("form") {
            "like" => Tensor::zeros(shape, candle(dtype(call.case)), call.device)?.rand_like(lo, up)?,
            _ => typed_float!(dtype(call.case), T => {
                let number = <T as WithDType>::from_f64;
                Tensor::rand(number(lo), number(up), shape, call.device)?
            }),
        };
        checked(&drawn, call.case, &Law::uniform(lo, up))
    },
    source: r#"
        {% if form == "like" %}
        let zeros = Tensor::zeros(({{ rows|default(0) }}, {{ columns|default(0) }}), {{ dtype|dtype }}, &device)?;
        let drawn = zeros.rand_like({{ lo|default("0.0") }}, {{ up|default("1.0") }})?;
        {% else %}
        {% set lo, up = lo|default(0)|of(dtype), up|default(1)|of(dtype) %}
        let drawn = Tensor::rand({{ lo }}, {{ up }}, ({{ rows|default(0) }}, {{ columns|default(0) }}), &device)?;
        {% endif %}
        println!("{drawn}");
    "#,
    torch: "",
    reference: Some(|_| vec![ArrayD::from_elem(IxDyn(&[FACTS]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: RANDOM_PROMISE,
};

/// `Tensor::randn(mean, std, (rows, columns), device)`, or `randn_like`.
pub static RANDN: Op = Op {
    name: "random.randn",
    covers: &["Tensor::randn", "Tensor::randn_like"],
    support: CREATED,
    generate: |draw| {
        let (mean, std) = *draw.choose(&[(0.0, 1.0), (0.0, 0.5), (2.0, 0.25), (-1.0, 1.0)])?;
        Ok(formed(draw)?.param("mean", mean).param("std", std))
    },
    contract: |case| {
        let (mean, std) = (case.float("mean", 0.0), case.float("std", 1.0));
        if mean.abs() <= 4.0 && (0.125..=4.0).contains(&std) {
            facts(created(case))
        } else {
            Contract::Unspecified("no ordinary distribution")
        }
    },
    call: |call| {
        let (mean, std) = (call.case.float("mean", 0.0), call.case.float("std", 1.0));
        let shape = (call.size("rows", 0), call.size("columns", 0));
        let drawn = match call.case.text("form") {
            "like" => Tensor::zeros(shape, candle(dtype(call.case)), call.device)?.randn_like(mean, std)?,
            _ => typed_float!(dtype(call.case), T => {
                let number = <T as WithDType>::from_f64;
                Tensor::randn(number(mean), number(std), shape, call.device)?
            }),
        };
        checked(&drawn, call.case, &Law::normal(mean, std))
    },
    source: r#"
        {% if form == "like" %}
        let zeros = Tensor::zeros(({{ rows|default(0) }}, {{ columns|default(0) }}), {{ dtype|dtype }}, &device)?;
        let drawn = zeros.randn_like({{ mean|default("0.0") }}, {{ std|default("1.0") }})?;
        {% else %}
        {% set mean, std = mean|default(0)|of(dtype), std|default(1)|of(dtype) %}
        let drawn = Tensor::randn({{ mean }}, {{ std }}, ({{ rows|default(0) }}, {{ columns|default(0) }}), &device)?;
        {% endif %}
        println!("{drawn}");
    "#,
    torch: "",
    reference: Some(|_| vec![ArrayD::from_elem(IxDyn(&[FACTS]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: RANDOM_PROMISE,
};

/// `Init::var((rows, columns), dtype, device)` of the variant `kind`.
pub static INIT: Op = Op {
    name: "random.init",
    covers: &["Init", "init::FanInOut", "init::NonLinearity", "init::NormalOrUniform"],
    support: &Support { of: "dtype", cpu: &DType::FLOATS_AND_F8, cuda: &DType::FLOATS },
    generate: |draw| {
        let kind = *draw.choose(&["const", "uniform", "randn", "kaiming_uniform", "kaiming_normal"])?;
        let fan = *draw.choose(&["in", "out"])?;
        Ok(sized(draw, CREATED)?.param("kind", kind).param("fan", fan))
    },
    contract: |case| facts(created(case)),
    call: |call| {
        let (init, law) = init(call.case);
        let shape = (call.size("rows", 0), call.size("columns", 0));
        checked(init.var(shape, candle(dtype(call.case)), call.device)?.as_tensor(), call.case, &law)
    },
    source: r#"
        {% set init = {
            "uniform": "Uniform { lo: -0.5, up: 2.0 }",
            "randn": "Randn { mean: 0.5, stdev: 0.25 }",
            "kaiming_uniform": "Kaiming { dist: NormalOrUniform::Uniform, fan, non_linearity: NonLinearity::ReLU }",
            "kaiming_normal": "Kaiming { dist: NormalOrUniform::Normal, fan, non_linearity: NonLinearity::ReLU }",
        }[kind|default("")]|default("Const(1.5)") %}
        {% if "fan" in init %}
        use candle_nn::init::{FanInOut, NonLinearity, NormalOrUniform};
        let fan = FanInOut::{{ "FanOut" if fan == "out" else "FanIn" }};
        {% endif %}
        let init = candle_nn::Init::{{ init }};
        let var = init.var(({{ rows|default(0) }}, {{ columns|default(0) }}), {{ dtype|dtype }}, &device)?;
        println!("{}", var.as_tensor());
    "#,
    torch: "",
    reference: Some(|_| vec![ArrayD::from_elem(IxDyn(&[FACTS]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/init.rs; torch.nn.init, which leaves an empty tensor empty",
};

/// `dropout(x, p)`, or `Dropout` with `form = "train"` and `"eval"`: each element is 0 or `x / (1 - p)`, and the share
/// of zeros is `p`; outside training nothing is dropped.
pub static DROPOUT: Op = Op {
    name: "op.dropout",
    covers: &["ops::dropout", "Dropout"],
    support: FLOATS,
    generate: |draw| {
        let (p, form) = (*draw.choose(&[0.5, 0.25, 0.0, 0.75])?, *draw.choose(&["function", "train", "eval"])?);
        let mut case = elements(draw, FLOATS)?;
        case.backward = crate::case::Backward::None;
        Ok(case.param("p", p).param("form", form))
    },
    contract: |case| match of_floats(case) {
        accepts @ Contract::Accepts { .. } => match case.float("p", 0.0) {
            _ if case.text("form") == "eval" => facts(accepts),
            p if !(0.0..1.0).contains(&p) => Contract::Rejects("a probability outside [0, 1)"),
            p if p > 0.9 || p > 0.0 && p < 0.01 => Contract::Unspecified("an extraordinary probability"),
            _ => facts(accepts),
        },
        other => other,
    },
    call: |call| {
        let (x, p) = (call.tensor("x")?, call.case.float("p", 0.0) as f32);
        let (out, share) = match call.case.text("form") {
            "eval" => (candle_nn::Dropout::new(p).forward(x, false)?, 0.0),
            "train" => (candle_nn::Dropout::new(p).forward(x, true)?, f64::from(p)),
            _ => (candle_nn::ops::dropout(x, p)?, f64::from(p)),
        };
        dropped(x, &out, share)
    },
    source: r#"
        {% set p = p|default("0.0")|f32 %}
        {% if form in ["train", "eval"] %}
        let kept = candle_nn::Dropout::new({{ p }}).forward(&x, {{ form == "train" }})?;
        {% else %}
        let kept = candle_nn::ops::dropout(&x, {{ p }})?;
        {% endif %}
        println!("{kept}");
    "#,
    torch: "",
    reference: Some(|_| vec![ArrayD::from_elem(IxDyn(&[FACTS]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/ops.rs:208-250; torch.nn.Dropout",
};

/// `gumbel_softmax(logits, temperature, dim)`: ids of `dim`, at the temperature 0 of a largest logit.
pub static GUMBEL_SOFTMAX: Op = Op {
    name: "random.gumbel_softmax",
    covers: &["sampling::gumbel_softmax"],
    support: FLOATS,
    generate: |draw| {
        let dtype = draw.dtype(FLOATS)?;
        let mut shape = draw.shape(0, 2)?;
        let shape_of_ids = shape.iter().map(|&n| n.max(1)).collect::<Vec<_>>();
        shape = shape_of_ids;
        let dim = draw.between(0, shape.len())?;
        shape.insert(dim, draw.reduced()?.max(1));
        let temperature = *draw.choose(&[0.0, 1.0, 0.5, 2.0, -1.0])?;
        let mut x = draw.tensor(dtype, &shape)?;
        if x.values.listed().iter().any(|value| value.as_f64().is_nan()) {
            x = crate::tensor::Tensor { values: crate::tensor::Values::List(Vec::new()), ..x };
            let zeros = crate::tensor::Fill::constant(crate::tensor::Value::Float(0.0));
            x.values = crate::tensor::Values::Fill(zeros);
        }
        Ok(Case::default().input("x", x).param("dim", dim).param("temperature", temperature))
    },
    contract: |case| {
        let Some(x) = case.tensor("x") else { return Contract::Rejects(why::SHAPES) };
        if crate::ops::support::ids::dim(case, x).is_none() {
            return Contract::Rejects(why::DIM);
        }
        let nan = x.values.listed().iter().any(|value| value.as_f64().is_nan());
        let ordinary = (-1e3..=1e3).contains(&case.float("temperature", 1.0));
        if nan || x.shape.contains(&0) || !ordinary {
            return Contract::Unspecified("the largest of NaN or of nothing, or an extraordinary temperature");
        }
        facts(of_floats(case))
    },
    call: |call| {
        let (x, dim, temperature) = (call.tensor("x")?, call.size("dim", 0), call.case.float("temperature", 1.0));
        let ids = candle_nn::sampling::gumbel_softmax(x, temperature, dim)?;
        sampled(x, &ids, dim, temperature)
    },
    source: r#"
        let ids = candle_nn::sampling::gumbel_softmax(&x, {{ temperature|default("1.0") }}, {{ dim|default(0) }})?;
        println!("{ids}");
    "#,
    torch: "",
    reference: Some(|_| vec![ArrayD::from_elem(IxDyn(&[FACTS]), Num::exact(1.0))]),
    ulps: 4.0,
    differentiable: &[],
    promise: "candle-nn/src/sampling.rs: at a temperature of 0 the argmax",
};

/// How many facts every op here states.
const FACTS: usize = 3;

/// Where the contract of these ops comes from.
pub const RANDOM_PROMISE: &str = "candle-core/src/tensor.rs:345-420 (the documentation of each): values within their bounds, mean and variance \
              within six standard deviations";

/// A new tensor, or one like another.
fn formed(draw: &mut Draw) -> arbitrary::Result<Case> {
    let case = sized(draw, CREATED)?;
    let form = *draw.choose(&["like", "new"])?;
    Ok(case.param("form", form))
}

/// `contract` of a call of which only facts are returned.
fn facts(contract: Contract) -> Contract {
    match contract {
        Contract::Accepts { refusal, .. } => Contract::Accepts { outputs: vec![(DType::U8, vec![FACTS])], refusal },
        other => other,
    }
}

fn stated(facts: [bool; FACTS]) -> Result<Vec<Tensor>> {
    Ok(vec![Tensor::from_vec(facts.map(u8::from).to_vec(), FACTS, &Device::Cpu)?])
}

/// What values are drawn from.
struct Law {
    low: f64,
    high: f64,
    mean: f64,
    std: f64,
    kurtosis: f64,
}

impl Law {
    fn uniform(low: f64, high: f64) -> Self {
        Self { low, high, mean: f64::midpoint(low, high), std: (high - low) / 12f64.sqrt(), kurtosis: 1.8 }
    }

    fn normal(mean: f64, std: f64) -> Self {
        // Of 2^22 normal values none is farther out in any run that anybody will see.
        Self { low: mean - 10.0 * std, high: mean + 10.0 * std, mean, std, kurtosis: 3.0 }
    }

    /// Whether any contract here promises values of this law: of others the facts depend on what was drawn.
    fn is_ordinary(&self) -> bool {
        self.low <= self.high && self.low >= -64.0 && self.high <= 64.0
    }

    fn constant(value: f64) -> Self {
        Self { low: value, high: value, mean: value, std: 0.0, kurtosis: 0.0 }
    }
}

/// Shape and dtype are as asked for; values are within the law's bounds; mean and variance are near its own.
fn checked(drawn: &Tensor, case: &Case, law: &Law) -> Result<Vec<Tensor>> {
    let well_formed = drawn.dims() == shape(case) && drawn.dtype() == candle(dtype(case));
    if !law.is_ordinary() {
        return stated([well_formed, true, true]);
    }
    let values = floats(drawn)?;
    let count = values.len() as f64;
    let unit = dtype(case).unit_roundoff();
    let slack = 4.0 * unit * law.low.abs().max(law.high.abs());
    let bounded = values.iter().all(|&value| law.low - slack <= value && value <= law.high + slack);
    let mean = values.iter().sum::<f64>() / count;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let wanted = law.std * law.std;
    let near = (mean - law.mean).abs() <= 6.0 * law.std / count.sqrt() + slack;
    let deviation = 6.0 * wanted * ((law.kurtosis - 1.0).max(0.0) / count).sqrt() + wanted / count;
    let spread = count < 64.0 || (variance - wanted).abs() <= deviation + 8.0 * (slack * law.std + slack * slack);
    stated([well_formed, bounded, values.is_empty() || near && spread])
}

/// Of dropout: the dtype and shape of `x`; of floats each element 0 or scaled, and the share of zeros. What becomes of
/// integers, which nobody promises, depends on what was drawn.
fn dropped(x: &Tensor, out: &Tensor, share: f64) -> Result<Vec<Tensor>> {
    let well_formed = out.dims() == x.dims() && out.dtype() == x.dtype();
    if x.dtype().is_int() {
        return stated([well_formed, true, true]);
    }
    let unit = crate::ops::tensor::to_dtype::plain(x.dtype()).unit_roundoff();
    let (values, outputs) = (floats(x)?, floats(out)?);
    let tiny = crate::ops::tensor::to_dtype::plain(x.dtype()).smallest() / unit;
    let scaled = values.iter().zip(&outputs).all(|(value, out)| {
        let want = value / (1.0 - share);
        let same = (want - out).abs() <= 8.0 * unit * want.abs() + tiny;
        !want.is_finite()
            || want.abs() * (1.0 + unit) >= crate::ops::tensor::to_dtype::plain(x.dtype()).max()
            || same
            || *out == 0.0 && share > 0.0
    });
    let ordinary = values.iter().zip(&outputs).filter(|(value, _)| value.is_finite() && value.abs() > tiny);
    let (count, zeros) = ordinary
        .fold((0.0, 0.0), |(count, zeros), (_, out)| (count + 1.0, if *out == 0.0 { zeros + 1.0 } else { zeros }));
    let deviation = 6.0 * (share * (1.0 - share) * count).sqrt();
    let near = count < 64.0 || (zeros - share * count).abs() <= deviation + 1.0;
    stated([well_formed, scaled, near])
}

/// Of sampled ids: dtype and shape; in range; and at the temperature 0 of a largest element.
fn sampled(x: &Tensor, ids: &Tensor, dim: usize, temperature: f64) -> Result<Vec<Tensor>> {
    let mut shape = x.dims().to_vec();
    let size = shape.remove(dim);
    let well_formed = ids.dims() == shape && ids.dtype() == Candle::U32;
    let ids: Vec<u32> = ids.flatten_all()?.to_vec1()?;
    let in_range = ids.iter().all(|&id| (id as usize) < size);
    let x = ArrayD::from_shape_vec(x.dims(), floats(x)?).map_err(candle_core::Error::wrap)?;
    let largest = x.lanes(ndarray::Axis(dim)).into_iter().zip(&ids).all(|(lane, &id)| {
        let most = lane.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        lane.get(id as usize).is_some_and(|&value| value == most)
    });
    stated([well_formed, in_range, temperature > 0.0 || largest])
}

/// The values as `f64`, whatever the dtype and the view.
fn floats(x: &Tensor) -> Result<Vec<f64>> {
    typed_float!(crate::ops::tensor::to_dtype::plain(x.dtype()), T => {
        let values: Vec<T> = x.to_device(&Device::Cpu)?.flatten_all()?.to_vec1()?;
        #[allow(clippy::useless_conversion)] // Of one of the types.
        Ok(values.into_iter().map(f64::from).collect())
    })
}

/// The initialization that the case names, and what it draws from.
fn init(case: &Case) -> (Init, Law) {
    let [rows, columns] = shape(case);
    let fan = if case.text("fan") == "out" { FanInOut::FanOut } else { FanInOut::FanIn };
    let size = if case.text("fan") == "out" { rows } else { columns };
    let std = (2.0 / size.max(1) as f64).sqrt();
    let kaiming = |dist| Init::Kaiming { dist, fan, non_linearity: NonLinearity::ReLU };
    match case.text("kind") {
        "uniform" => (Init::Uniform { lo: -0.5, up: 2.0 }, Law::uniform(-0.5, 2.0)),
        "randn" => (Init::Randn { mean: 0.5, stdev: 0.25 }, Law::normal(0.5, 0.25)),
        "kaiming_uniform" => (kaiming(NormalOrUniform::Uniform), Law::uniform(-3f64.sqrt() * std, 3f64.sqrt() * std)),
        "kaiming_normal" => (kaiming(NormalOrUniform::Normal), Law::normal(0.0, std)),
        _ => (Init::Const(1.5), Law::constant(1.5)),
    }
}
