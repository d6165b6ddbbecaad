//! Conditions on a case: what an input is, and an expression of params and sizes.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use minijinja::value::ValueKind;
use minijinja::{Environment, Expression, Value as Jinja, context};
use serde::Deserialize;

use crate::case::{Case, Param};
use crate::ops::Op;
use crate::tensor::{DType, Tensor, Value};

/// A condition on an input.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct InputCondition {
    /// Its dtype is one of these.
    #[serde(default)]
    dtypes: Vec<Dtypes>,
    /// Its memory layout.
    #[serde(default)]
    view: Option<Layout>,
    /// An element that it has.
    #[serde(default)]
    holds: Option<Element>,
    /// An element that it does not have.
    #[serde(default)]
    lacks: Option<Element>,
}

/// A dtype, or a class of them.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
enum Dtypes {
    Integers,
    Floats,
    ReducedPrecision,
    One(DType),
}

impl TryFrom<String> for Dtypes {
    type Error = String;
    fn try_from(name: String) -> Result<Self, String> {
        match name.as_str() {
            "integers" => Ok(Self::Integers),
            "floats" => Ok(Self::Floats),
            "reduced-precision" => Ok(Self::ReducedPrecision),
            other => DType::named(other).map(Self::One).ok_or_else(|| {
                format!("`{other}` is not a dtype; use one such as `f32`, `integers`, `floats` or `reduced-precision`")
            }),
        }
    }
}

impl Dtypes {
    fn contain(self, dtype: DType) -> bool {
        match self {
            Self::Integers => !dtype.is_float(),
            Self::Floats => dtype.is_float(),
            Self::ReducedPrecision => dtype.is_reduced_precision(),
            Self::One(one) => one == dtype,
        }
    }
}

/// A memory layout.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Layout {
    /// Any view that is not contiguous.
    Any,
    /// Contiguous.
    None,
    /// Elements of the buffer lie in front of it.
    Offset,
    /// Its dimensions are permuted.
    Order,
    /// It skips elements of the buffer.
    Step,
    /// A dimension has stride 0.
    Broadcast,
    /// It is a view of another input's buffer.
    Shared,
}

impl Layout {
    fn is_of(self, tensor: &Tensor) -> bool {
        let view = &tensor.view;
        match self {
            Self::Any => !view.is_contiguous(),
            Self::None => view.is_contiguous(),
            Self::Offset => view.before.iter().any(|&before| before > 0),
            Self::Order => !view.order.is_empty(),
            Self::Step => view.step.iter().any(|&step| step > 1),
            Self::Broadcast => !view.broadcast.is_empty(),
            Self::Shared => view.of.is_some(),
        }
    }
}

/// An element.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Element {
    /// 0.
    Zero,
    /// Less than 0.
    Negative,
    /// So small that the dtype holds it with fewer digits.
    Subnormal,
    /// NaN or an infinity.
    NonFinite,
    /// The largest integer of the dtype.
    Largest,
}

impl Element {
    fn is(self, value: Value, dtype: DType) -> bool {
        match self {
            Self::Zero => value.as_f64() == 0.0,
            Self::Negative => value.as_f64() < 0.0,
            Self::Subnormal => {
                let normal = dtype.format().map_or(0.0, |format| f64::from(format.min_exponent).exp2());
                value.as_f64() != 0.0 && value.as_f64().abs() < normal
            }
            Self::NonFinite => !value.as_f64().is_finite(),
            Self::Largest => dtype.int_range().is_some_and(|(_, largest)| value.as_i64() == largest),
        }
    }
}

impl InputCondition {
    /// True if it holds for `tensor`.
    pub fn holds(&self, tensor: &Tensor) -> bool {
        let has = |element: Element| {
            let mut listed = tensor.values.listed().into_iter();
            tensor.stored() != Some(0) && listed.any(|value| element.is(value, tensor.dtype))
        };
        (self.dtypes.is_empty() || self.dtypes.iter().any(|dtypes| dtypes.contain(tensor.dtype)))
            && self.view.is_none_or(|layout| layout.is_of(tensor))
            && self.holds.is_none_or(has)
            && self.lacks.is_none_or(|element| !has(element))
    }
}

/// Where expressions are compiled.
static EXPRESSIONS: LazyLock<Environment<'static>> = LazyLock::new(Environment::new);

/// An expression (minijinja) of params by name, and of `shape`, `rank` and `elements` of inputs:
/// `kernel.shape[2] > x.shape[2] + 2 * padding`.
#[derive(Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct When(Expression<'static, 'static>);

impl TryFrom<String> for When {
    type Error = String;
    fn try_from(text: String) -> Result<Self, String> {
        let compiled = EXPRESSIONS.compile_expression_owned(text.clone());
        let why = |error: minijinja::Error| error.detail().unwrap_or("a syntax error").to_string();
        compiled.map(Self).map_err(|error| format!("`{text}` is not an expression: {}", why(error)))
    }
}

impl When {
    /// The inputs and params that it names.
    pub fn names(&self) -> BTreeSet<String> {
        self.0.undeclared_variables(false).into_iter().collect()
    }

    /// True if the expression is true for `case` of `op`. It is false if the case lacks an input or a param of it.
    pub fn holds(&self, op: &Op, case: &Case) -> bool {
        let case = op.complete(case);
        let params = case.params.iter().map(|(name, param)| (name.as_str(), number(param)));
        let mut all: BTreeMap<&str, Jinja> = params.collect();
        all.extend(case.inputs.iter().map(|(name, tensor)| (name.as_str(), sizes(tensor))));
        let value = self.0.eval(all);
        value.is_ok_and(|value| value.kind() == ValueKind::Bool && value.is_true())
    }
}

fn number(param: &Param) -> Jinja {
    match param {
        Param::Number(Value::Int(value)) => Jinja::from(*value),
        Param::Number(Value::Float(value)) => Jinja::from(*value),
        Param::Text(text) => param.size().map_or_else(|| Jinja::from(text.as_str()), Jinja::from),
        Param::List(items) => items.iter().map(number).collect(),
    }
}

fn sizes(tensor: &Tensor) -> Jinja {
    context! { shape => &tensor.shape, rank => tensor.shape.len(), elements => tensor.elements() }
}
