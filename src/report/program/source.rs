//! What a call is in Rust: [`Op::source`], filled in.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{Environment, ErrorKind, State, Value as Jinja};
use serde::Serialize;

use super::literal;
use crate::case::{Case, Param};
use crate::device::Device;
use crate::ops::{self, Op};
use crate::tensor::{DType, Tensor, Value};

/// An input as templates see it.
#[derive(Serialize)]
struct Input {
    rust: &'static str,
    dtype: &'static str,
    shape: Vec<usize>,
}

impl From<&Tensor> for Input {
    fn from(data: &Tensor) -> Self {
        Self { rust: literal::rust(data.dtype), dtype: literal::dtype(data.dtype), shape: data.shape.clone() }
    }
}

/// The sources of all ops by name: one may include another.
static SOURCES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    // A case may lack a param: it can be asked for, but not be written.
    environment.set_formatter(|out, state, value| match value.kind() {
        ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
        ValueKind::Bool => Ok(out.write_str(if value.is_true() { "true" } else { "false" })?),
        _ => minijinja::escape_formatter(out, state, value),
    });
    environment.add_filter("dtype", |name: &Jinja| literal::dtype(named(name)));
    environment.add_filter("f32", |number: &Jinja| number.as_str().map(|text| text.replace("f64::", "f32::")));
    environment.add_filter("of", |number: &Jinja, name: &Jinja| literal::constant(named(name), float(number)));
    environment.add_filter("i32", |number: i64| number.clamp(i32::MIN.into(), i32::MAX.into()));
    environment.add_filter("option", |value: &Jinja| {
        if value.is_undefined() || value.is_none() { "None".to_string() } else { format!("Some({value})") }
    });
    environment.add_function("list", |state: &State, stem: &str| listed(state, stem).join(", "));
    environment.add_function("shape", |state: &State, stem: &str| literal::sizes(&listed(state, stem)));
    for (name, source) in ops::ALL.iter().map(|op| (op.name, op.source)).chain(ops::PIECES) {
        environment.add_template(name, source).expect(name);
    }
    environment
});

/// Params that candle takes with a sign, or as a truth. Others are sizes, of which a negative one is 0, as in the call.
const SIGNED: [&str; 9] = ["asc", "causal", "decimals", "first", "is_scalar", "off", "on", "shift", "xy"];

/// The lines of the op's source for this call.
pub fn rendered(op: &Op, call: &Case, device: Device) -> Result<Vec<String>, String> {
    let param = |(name, param): (&String, &Param)| {
        let value = match param {
            Param::Number(Value::Int(number)) if SIGNED.contains(&name.as_str()) => Jinja::from(*number),
            Param::Number(Value::Int(number)) => Jinja::from(number.max(&0)),
            Param::Number(number) => Jinja::from(literal::number(*number)),
            Param::Text(text) => Jinja::from(text.as_str()),
        };
        (name.clone(), value)
    };
    let params: BTreeMap<String, Jinja> = call.params.iter().map(param).collect();
    let inputs: BTreeMap<&str, Input> = call.inputs.iter().map(|(name, data)| (name.as_str(), data.into())).collect();
    let mut context = params.clone();
    context.insert("params".to_string(), params.into());
    context.insert("inputs".to_string(), Jinja::from(minijinja::value::Serde(inputs)));
    context.insert("cuda".to_string(), (device != Device::Cpu).into());
    let host = if device == Device::Cpu { "" } else { ".to_device(&Device::Cpu)?" };
    context.insert("to_host".to_string(), host.into());
    let source = SOURCES.get_template(op.name).map_err(|error| error.to_string())?;
    let text = source.render(context).map_err(|error| format!("{error:#}"))?;
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    // Sources are indented where they stand.
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    Ok(lines.iter().map(|line| line[indent..].to_string()).collect())
}

/// The dtype of this name, in a case or in Rust, or `f32`.
fn named(name: &Jinja) -> DType {
    let name = name.as_str().unwrap_or_default();
    DType::ALL.into_iter().find(|&dtype| dtype.name() == name || literal::rust(dtype) == name).unwrap_or(DType::F32)
}

/// The number that a param is.
fn float(number: &Jinja) -> f64 {
    match number.as_str() {
        Some("f64::INFINITY") => f64::INFINITY,
        Some("f64::NEG_INFINITY") => f64::NEG_INFINITY,
        Some(text) => text.parse().unwrap_or(f64::NAN),
        None => f64::try_from(number.clone()).unwrap_or(f64::NAN),
    }
}

/// The params `d0`, `d1`, … of the stem `d`, or the inputs of such names.
fn listed(state: &State, stem: &str) -> Vec<String> {
    let of = |number| {
        let name = format!("{stem}{number}");
        let input =
            state.lookup("inputs").and_then(|inputs| inputs.get_attr(&name).ok()).filter(|it| !it.is_undefined());
        state.lookup(&name).map(|param| param.to_string()).or(input.map(|_| name))
    };
    (0..).map_while(of).collect()
}
