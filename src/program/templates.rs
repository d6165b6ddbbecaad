//! A call in Rust and in Python: the templates [`Op::source`] and [`Op::torch`], rendered.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{Environment, Error, ErrorKind, State, Value as Jinja};
use serde::Serialize;

use super::{python, rust};
use crate::case::{Case, Param};
use crate::device::Device;
use crate::ops::{self, Op};
use crate::tensor::{DType, Tensor, Value};

/// An input as templates see it.
#[derive(Serialize)]
struct Input {
    name: &'static str,
    rust: &'static str,
    dtype: &'static str,
    float: bool,
    shape: Vec<usize>,
}

/// How a language writes the values in templates.
struct Language {
    dtype: fn(DType) -> &'static str,
    number: fn(Value) -> String,
    constant: fn(DType, f64) -> String,
    sizes: fn(&[String]) -> String,
    booleans: [&'static str; 2],
}

static RUST: Language = Language {
    dtype: rust::dtype,
    number: rust::number,
    constant: rust::constant,
    sizes: rust::sizes,
    booleans: ["false", "true"],
};

static PYTHON: Language = Language {
    dtype: python::dtype,
    number: python::number,
    constant: python::constant,
    sizes: python::sizes,
    booleans: ["False", "True"],
};

impl Language {
    /// The environment that all templates of this language share; one template may include another.
    fn environment(&'static self) -> Environment<'static> {
        let mut environment = Environment::new();
        // A case may lack a param: templates may test for it, but printing it is an error.
        environment.set_formatter(|out, state, value| match value.kind() {
            ValueKind::Undefined => Err(ErrorKind::UndefinedError.into()),
            ValueKind::Bool => Ok(out.write_str(self.booleans[usize::from(value.is_true())])?),
            _ => minijinja::escape_formatter(out, state, value),
        });
        environment.add_filter("dtype", |name: &Jinja| (self.dtype)(named(name)));
        environment.add_filter("of", |number: &Jinja, name: &Jinja| (self.constant)(named(name), self.float(number)));
        environment.add_function("list", |state: &State, name: &str| listed(state, name).join(", "));
        environment.add_function("shape", |state: &State, name: &str| (self.sizes)(&listed(state, name)));
        environment
    }

    /// The value of a rendered number.
    fn float(&self, number: &Jinja) -> f64 {
        let Some(text) = number.as_str() else { return f64::try_from(number.clone()).unwrap_or(f64::NAN) };
        let infinite =
            [f64::INFINITY, f64::NEG_INFINITY].into_iter().find(|&it| (self.number)(Value::Float(it)) == text);
        infinite.unwrap_or_else(|| text.parse().unwrap_or(f64::NAN))
    }

    fn param(&self, param: &Param) -> Jinja {
        match param {
            Param::Number(Value::Int(number)) => Jinja::from(*number),
            Param::Number(number) => Jinja::from((self.number)(*number)),
            Param::Text(text) => param.size().map_or_else(|| Jinja::from(text.as_str()), Jinja::from),
            Param::List(items) => items.iter().map(|item| self.param(item)).collect(),
        }
    }

    /// The params and inputs of `call`.
    fn context(&self, call: &Case) -> BTreeMap<String, Jinja> {
        let param = |(name, param): (&String, &Param)| (name.clone(), self.param(param));
        let input = |data: &Tensor| Input {
            name: data.dtype.name(),
            rust: rust::type_name(data.dtype),
            dtype: (self.dtype)(data.dtype),
            float: data.dtype.is_float(),
            shape: data.shape.clone(),
        };
        let params: BTreeMap<String, Jinja> = call.params.iter().map(param).collect();
        let inputs: BTreeMap<&str, Input> =
            call.inputs.iter().map(|(name, data)| (name.as_str(), input(data))).collect();
        let mut context = params.clone();
        context.insert("params".to_string(), params.into());
        context.insert("inputs".to_string(), Jinja::from(minijinja::value::Serde(inputs)));
        context
    }
}

/// The Rust templates of all ops, by name.
static SOURCES: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = RUST.environment();
    environment.add_filter("f32", |number: &Jinja| number.as_str().map(|text| text.replace("f64::", "f32::")));
    environment.add_filter("i32", |number: i64| number.clamp(i32::MIN.into(), i32::MAX.into()));
    environment.add_filter("option", |value: &Jinja| {
        if value.is_undefined() || value.is_none() { "None".to_string() } else { format!("Some({value})") }
    });
    for (name, source) in ops::ALL.iter().map(|op| (op.name, op.source)).chain(ops::RUST_TEMPLATES) {
        environment.add_template(name, source).expect(name);
    }
    environment
});

/// The PyTorch templates of all ops, by name.
static TORCH: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = PYTHON.environment();
    environment.add_filter("tuple", |sizes: Vec<usize>| {
        python::sizes(&sizes.iter().map(ToString::to_string).collect::<Vec<_>>())
    });
    // PyTorch takes 64-bit ids everywhere, and other ids only in some places.
    environment.add_function("ids", |state: &State, name: &str| {
        let dtype = state.lookup("inputs")?.get_attr(name).ok()?.get_attr("dtype").ok()?;
        Some(if dtype.as_str() == Some("torch.int64") { name.to_string() } else { format!("{name}.long()") })
    });
    environment.add_function("lacks", |what: &str| -> Result<String, Error> {
        Err(Error::new(ErrorKind::InvalidOperation, format!("PyTorch lacks {what}")))
    });
    for (name, source) in ops::ALL.iter().map(|op| (op.name, op.torch)).chain(ops::TORCH_TEMPLATES) {
        environment.add_template(name, source).expect(name);
    }
    environment
});

/// The lines of this call in Rust.
pub fn rust_call(op: &Op, call: &Case, device: Device) -> Result<Vec<String>, String> {
    let call = &op.complete(call);
    let mut context = RUST.context(call);
    context.insert("cuda".to_string(), (device != Device::Cpu).into());
    let host = if device == Device::Cpu { "" } else { ".to_device(&Device::Cpu)?" };
    context.insert("to_host".to_string(), host.into());
    let there = match device {
        Device::Cuda(ordinal) | Device::Sim(ordinal) => ops::other_device_in_rust(call, ordinal),
        Device::Cpu => "&Device::Cpu".to_string(),
    };
    context.insert("there".to_string(), there.into());
    // As a person writes it.
    let largest = usize::MAX.to_string();
    let written = |lines: Vec<String>| lines.iter().map(|line| line.replace(&largest, "usize::MAX")).collect();
    lines(&SOURCES, op.name, op.source, &context).map(written).map_err(|error| format!("{error:#}"))
}

/// The lines of the same call in PyTorch. An `Err` says why there are none.
pub fn torch_call(op: &Op, call: &Case) -> Result<Vec<String>, String> {
    if op.torch.is_empty() {
        return Err("PyTorch has no such call".to_string());
    }
    lines(&TORCH, op.name, op.torch, &PYTHON.context(&op.complete(call))).map_err(|error| match error.kind() {
        ErrorKind::InvalidOperation if error.detail().is_some_and(|why| why.starts_with("PyTorch")) => {
            error.detail().unwrap_or_default().to_string()
        }
        _ => format!("{error:#}"),
    })
}

fn lines(of: &Environment, name: &str, source: &str, context: &BTreeMap<String, Jinja>) -> Result<Vec<String>, Error> {
    // An op that a program defines is none of the catalog's.
    let text = of.get_template(name).or_else(|_| of.template_from_str(source))?.render(context)?;
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    // Templates are indented in their source files.
    let indent = lines.iter().map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
    Ok(lines.iter().map(|line| line[indent..].to_string()).collect())
}

/// The dtype with this name in cases or in Rust; `f32` for any other name.
fn named(name: &Jinja) -> DType {
    let name = name.as_str().unwrap_or_default();
    DType::ALL.into_iter().find(|&dtype| dtype.name() == name || rust::type_name(dtype) == name).unwrap_or(DType::F32)
}

/// The items of the list param of this name, or else the inputs that are named by it and a number from 0 on.
fn listed(state: &State, name: &str) -> Vec<String> {
    if let Some(items) = state.lookup(name).filter(|param| param.kind() == ValueKind::Seq) {
        return items.try_iter().into_iter().flatten().map(|item| item.to_string()).collect();
    }
    let inputs = state.lookup("inputs").unwrap_or_default();
    let input = |number: usize| {
        let name = format!("{name}{number}");
        inputs.get_attr(&name).ok().filter(|input| !input.is_undefined()).map(|_| name)
    };
    (0..).map_while(input).collect()
}
