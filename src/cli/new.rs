//! `snuffer new`: writes a case from shapes and values.

use super::UsageError;
use super::ops::example;
use crate::case::{Backward, Case, Kind, Param, nearest};
use crate::exit_code::Exit;
use crate::ops::{self, Op};
use crate::report::promised;
use crate::tensor::{DType, Fill, Tensor, Value, Values, View};

/// Arguments of `snuffer new`.
#[derive(Debug, clap::Args)]
#[command(override_usage = "snuffer new OP [--NAME VALUE]...")]
pub struct Args {
    /// The op. `snuffer ops OP` lists its inputs and params.
    op: String,
    /// Inputs, params and `backward` by name.
    ///
    /// An input is a shape such as `4x10` or `5x`, values such as `0,3,10,1`, or both:
    /// `2x2=1,2,3,4`. A dtype may follow: `4x10:f16`. Without values it holds small numbers.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "--NAME VALUE")]
    arguments: Vec<String>,
}

pub fn run(args: &Args) -> anyhow::Result<Exit> {
    let op = ops::named(&args.op).map_err(UsageError)?;
    let case = written(op, &args.arguments).map_err(UsageError)?;
    print!("# expected: {}\n{}", promised(&op.contract(&case)), case.to_text());
    Ok(Exit::Clean)
}

/// The case that `arguments` describe.
fn written(op: &'static Op, arguments: &[String]) -> Result<Case, String> {
    let example = example(op);
    let mut case = Case::new(op.name);
    for (name, value) in pairs(arguments)? {
        let spec = op.params.iter().find(|spec| spec.name == name);
        let dtype = example.tensor(name).map_or(DType::F32, |tensor| tensor.dtype);
        // An input and a param may share their name.
        let is_word = spec.is_some_and(|spec| matches!(spec.kind, Kind::Word(words) if words.contains(&value)));
        if op.inputs.iter().any(|spec| spec.name == name) && !is_word {
            // Each input has small numbers of its own.
            let seed = 1 + case.inputs.len() as u32;
            let tensor = tensor(value, dtype, seed).map_err(|problem| format!("--{name} {value}: {problem}"))?;
            case = case.input(name, tensor);
        } else if let Some(spec) = spec {
            case = case.param(name, param(&spec.kind, value));
        } else if name == "backward" {
            case.backward = backward(value)?;
        } else {
            return Err(unknown(op, name));
        }
    }
    case.check().map_err(|problem| problem.to_string())?;
    ops::accept(case).map(|(_, case)| case)
}

/// An argument that the op does not have, and those that it has.
fn unknown(op: &Op, name: &str) -> String {
    let inputs = op.inputs.iter().map(|spec| spec.name);
    let known: Vec<&str> = inputs.chain(op.params.iter().map(|spec| spec.name)).collect();
    let hint = nearest(name, known.iter().copied()).map(|near| format!("; did you mean `--{near}`?"));
    let has = || format!("; it has {}", known.iter().map(|name| format!("--{name}")).collect::<Vec<_>>().join(", "));
    format!("{} has no argument `--{name}`{}", op.name, hint.unwrap_or_else(has))
}

/// Each `--NAME VALUE` or `--NAME=VALUE`.
fn pairs(arguments: &[String]) -> Result<Vec<(&str, &str)>, String> {
    let mut pairs = Vec::new();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let named =
            argument.strip_prefix("--").ok_or_else(|| format!("`{argument}` has no name; write --NAME VALUE"))?;
        pairs.push(match named.split_once('=') {
            Some(pair) if !pair.0.is_empty() => pair,
            _ => (named, rest.next().ok_or_else(|| format!("--{named} has no value"))?.as_str()),
        });
    }
    Ok(pairs)
}

fn param(kind: &Kind, value: &str) -> Param {
    match kind {
        Kind::List(_) if !value.starts_with('[') => Param::read(&format!("[{value}]")),
        Kind::Word(_) | Kind::Dtype | Kind::Text => Param::from(value),
        _ => Param::read(value),
    }
}

fn backward(value: &str) -> Result<Backward, String> {
    let all = [Backward::None, Backward::Sum, Backward::Weighted, Backward::Twice];
    let named = |backward: &Backward| format!("{backward:?}").to_lowercase() == value;
    all.into_iter().find(named).ok_or_else(|| format!("--backward {value}: write none, sum, weighted or twice"))
}

/// The tensor that `text` describes; `dtype` unless it names one. `seed` gives the values that it leaves out.
fn tensor(text: &str, dtype: DType, seed: u32) -> Result<Tensor, String> {
    let named = text.rsplit_once(':').map(|(text, name)| (text, DType::named(name).ok_or(name)));
    let (text, dtype) = match named {
        None => (text, dtype),
        Some((text, Ok(dtype))) => (text, dtype),
        Some((_, Err(name))) => return Err(format!("there is no dtype `{name}`")),
    };
    let (shape, values) = match text.split_once('=') {
        Some((shape, values)) => (self::shape(shape)?, Some(numbers(values)?)),
        None if text.contains('x') => (self::shape(text)?, None),
        None => {
            let values = numbers(text)?;
            (vec![values.len()], Some(values))
        }
    };
    let small = Fill { noise: Some(seed), ..Fill::constant(Value::of(dtype, 0.0)) };
    let values = values.map_or(Values::Fill(small), Values::List);
    let mut tensor = Tensor { dtype, shape, view: View::default(), values };
    tensor.normalize();
    tensor.check().map(|()| tensor)
}

fn shape(text: &str) -> Result<Vec<usize>, String> {
    let sizes = text.split('x').filter(|size| !size.is_empty());
    sizes.map(|size| size.parse().map_err(|_| format!("`{size}` is not a size; a shape is written 4x10"))).collect()
}

fn numbers(text: &str) -> Result<Vec<Value>, String> {
    let number = |text: &str| match Param::read(text.trim()) {
        Param::Number(value) => Ok(value),
        _ => Err(format!("`{text}` is not a number; values are written 0,3,10")),
    };
    text.split(',').filter(|number| !number.trim().is_empty()).map(number).collect()
}
