//! The definition of an op: its inputs with relations between their sizes, its params, and the call.

use std::fmt::Write as _;

use candle_core::{Result, Tensor};

use super::shape::{Shape, Sizes};
use super::training::Descent;
use super::{Function, REFERENCE, TRAINING, add};
use crate::case::{Case, InputSpec, Kind, Param, ParamSpec};
use crate::generate::Draw;
use crate::ops::{Call, Contract, Op, in_range, why};
use crate::tensor::{self, DType, Support};

/// Why an op whose definition states no output is only judged by the defaults.
const NO_OUTPUT: &str = "the definition states no output";
/// Why a case that breaks the definition is only judged by the defaults.
const OUTSIDE: &str = "arguments outside of the definition";

/// The dtypes of labels, ids and indices that programs use.
const IDS: [DType; 2] = [DType::U32, DType::I64];

/// Floats without a range are up to this size in one draw of eight. Their exponentials overflow in `f32`, and their squares do not.
const LARGE: f64 = 128.0;

/// Begins the definition of an op of your own: a loss, a layer, a kernel.
///
/// Shapes are words: `"batch.. tokens heads*width 3"` has any number of dimensions `batch`, then the sizes `tokens`, `heads` times
/// `width`, and 3. A size has the same value wherever its name stands.
///
/// ```
/// let op = snuffer::define("smooth_labels")
///     .floats("logits", "n classes")
///     .labels("target", "n", "classes")
///     .number("smoothing", [0.0, 0.1, 0.5])
///     .call(|args| {
///         let scores = candle_nn::ops::log_softmax(args.tensor("logits")?, 1)?;
///         let hit = candle_nn::loss::nll(&scores, args.tensor("target")?)?;
///         let all = (scores.mean_all()? * -1.0)?;
///         let smoothing = args.number("smoothing");
///         (hit * (1.0 - smoothing))? + all * smoothing
///     });
/// assert_eq!(op.name, "smooth_labels");
/// ```
///
/// # Panics
///
/// If the name has other characters than letters, digits and `_`.
pub fn define(name: &str) -> Definition {
    let is_word = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    assert!(is_word, "the name of an op has letters, digits and `_`, not {name:?}");
    Definition {
        name: leak(name),
        dtypes: vec![DType::F32, DType::F64],
        inputs: Vec::new(),
        params: Vec::new(),
        outputs: Vec::new(),
        batch: None,
        descent: None,
        reference: None,
        source: None,
        function: "",
    }
}

/// An op that is being defined; [`Definition::call`] ends it.
#[must_use]
pub struct Definition {
    pub(super) name: &'static str,
    dtypes: Vec<DType>,
    pub(super) inputs: Vec<Input>,
    params: Vec<Choice>,
    pub(super) outputs: Vec<Shape>,
    /// The size that counts samples.
    pub(super) batch: Option<String>,
    descent: Option<Descent>,
    reference: Option<&'static Function>,
    source: Option<String>,
    /// The function that has the call, as the compiler names it.
    pub(super) function: &'static str,
}

pub(super) struct Input {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    holds: Holds,
    has_gradient: bool,
}

/// The values of an input.
enum Holds {
    /// Floats, in this range if there is one.
    Floats(Option<(f64, f64)>),
    /// Integers from 0 to below this size.
    Ids(String),
    /// 0 and 1 as `u8`.
    Mask,
}

/// A param, and the values that are drawn.
struct Choice {
    spec: ParamSpec,
    values: Vec<Param>,
}

/// The outputs of a call: a tensor, or several.
pub trait IntoOutputs {
    /// The outputs in order.
    fn into_outputs(self) -> Vec<Tensor>;
}

impl IntoOutputs for Tensor {
    fn into_outputs(self) -> Vec<Tensor> {
        vec![self]
    }
}

impl IntoOutputs for Vec<Tensor> {
    fn into_outputs(self) -> Vec<Tensor> {
        self
    }
}

impl IntoOutputs for (Tensor, Tensor) {
    fn into_outputs(self) -> Vec<Tensor> {
        vec![self.0, self.1]
    }
}

impl Definition {
    /// A tensor of floats. All such inputs of a call have one dtype. If it may have a gradient, that is compared with differences of the
    /// call in `f64`.
    pub fn floats(self, name: &str, shape: &str) -> Self {
        self.input(name, shape, Holds::Floats(None), true)
    }

    /// A tensor of floats from `low` to `high`.
    pub fn floats_within(self, name: &str, shape: &str, low: f64, high: f64) -> Self {
        self.input(name, shape, Holds::Floats(Some((low, high))), true)
    }

    /// A tensor of floats that has no gradient, such as targets or a table.
    pub fn constants(self, name: &str, shape: &str) -> Self {
        self.input(name, shape, Holds::Floats(None), false)
    }

    /// A tensor of labels, ids or indices: `u32` or `i64` from 0 to below the size `below`.
    pub fn labels(self, name: &str, shape: &str, below: &str) -> Self {
        self.input(name, shape, Holds::Ids(below.to_string()), false)
    }

    /// A tensor of zeros and ones, as `u8`.
    pub fn mask(self, name: &str, shape: &str) -> Self {
        self.input(name, shape, Holds::Mask, false)
    }

    /// A number that the call takes, and the values to try.
    pub fn number(self, name: &str, values: impl IntoIterator<Item = f64>) -> Self {
        let values: Vec<f64> = values.into_iter().collect();
        let spec = ParamSpec::float(leak(name), values.first().copied().unwrap_or_default(), "a number");
        self.param(spec, values)
    }

    /// A size that the call takes, and the values to try. Shapes may have it by its name. (The call also sees sizes that only shapes
    /// have, by theirs.)
    pub fn size(self, name: &str, values: impl IntoIterator<Item = usize>) -> Self {
        let values: Vec<usize> = values.into_iter().collect();
        let spec = ParamSpec::size(leak(name), values.first().copied().unwrap_or_default() as i64, "a size");
        self.param(spec, values)
    }

    /// A switch that the call takes.
    pub fn flag(self, name: &str) -> Self {
        self.param(ParamSpec::flag(leak(name), false, "no or yes"), [0_i64, 1])
    }

    /// The dtypes of the floats: `f32` and `f64`, unless you name others. Only where the call takes `f64` are its values compared with
    /// it, and its gradients with differences.
    pub fn dtypes(self, dtypes: impl IntoIterator<Item = DType>) -> Self {
        Self { dtypes: dtypes.into_iter().collect(), ..self }
    }

    /// The shape of an output, in the dtype of the floats. With it, a call within the definition must also be accepted, and return that
    /// shape. For several outputs call it for each, in order.
    pub fn output(mut self, shape: &str) -> Self {
        self.outputs.push(Shape::parse(shape));
        self
    }

    /// Says that the size `name` counts samples that do not depend on each other: a call returns for each of them what it returns for
    /// this one alone. Inputs and outputs without the size belong to all samples.
    ///
    /// ```
    /// let op = snuffer::define("scores")
    ///     .floats("x", "n features")
    ///     .floats("weight", "classes features")
    ///     .output("n classes")
    ///     .batch("n")
    ///     .call(|args| candle_nn::ops::softmax(&args.tensor("x")?.matmul(&args.tensor("weight")?.t()?)?, 1));
    /// # assert_eq!(op.name, "scores");
    /// ```
    pub fn batch(self, name: &str) -> Self {
        Self { batch: Some(name.to_string()), ..self }
    }

    /// Says that the call is a loss that is trained: its one output is a scalar, and its `.floats` are the parameters. From valid inputs,
    /// it takes so many steps of plain gradient descent, each this `rate` times the gradient. No loss may become infinite or NaN while
    /// all parameters are moderate, no parameter may lose its gradient on the way, and runs and devices agree.
    pub fn trains(self, steps: usize, rate: f64) -> Self {
        Self { descent: Some(Descent { steps, rate }), ..self }
    }

    /// Another way to compute the same, slow or simple: what the call returns may differ from it only by roundings.
    pub fn reference<R: IntoOutputs>(self, reference: impl Fn(&Call) -> Result<R> + Sync + 'static) -> Self {
        Self { reference: Some(function(reference)), ..self }
    }

    /// The call as a line of Rust for the programs in reports, in which inputs are tensors of their names: `focal(&logits, &target,
    /// {{ gamma }})?`. By default, the function is called like the op, and its arguments have the order of the definition.
    pub fn source(self, line: &str) -> Self {
        Self { source: Some(line.to_string()), ..self }
    }

    /// Ends the definition with the call itself.
    ///
    /// # Panics
    ///
    /// If [`batch`](Self::batch) or [`trains`](Self::trains) says something that the shapes contradict.
    pub fn call<R: IntoOutputs>(mut self, call: impl Fn(&Call) -> Result<R> + Sync + 'static) -> &'static Op {
        self.check_batch();
        self.check_training();
        self.function = std::any::type_name_of_val(&call).trim_end_matches("::{{closure}}");
        let call = function(call);
        let (name, source) = (self.name, self.source.take().unwrap_or_else(|| self.plain_source()));
        let definition: &'static Self = Box::leak(Box::new(self));
        let beside = |end: &str, call| add(definition, definition.op(leak(&format!("{name}{end}")), call, ""));
        if let Some(reference) = definition.reference {
            beside(REFERENCE, reference);
        }
        if let Some(descent) = definition.descent {
            let parameters: Vec<&str> = definition.parameters().collect();
            beside(TRAINING, function(move |args| descent.run(args, &parameters, call)));
        }
        let op = definition.op(name, call, leak(&source));
        add(definition, op);
        op
    }

    fn input(mut self, name: &str, shape: &str, holds: Holds, has_gradient: bool) -> Self {
        self.inputs.push(Input { name: leak(name), shape: Shape::parse(shape), holds, has_gradient });
        self
    }

    fn param<T: Into<Param>>(mut self, spec: ParamSpec, values: impl IntoIterator<Item = T>) -> Self {
        self.params.push(Choice { spec, values: values.into_iter().map(Into::into).collect() });
        self
    }

    fn plain_source(&self) -> String {
        let inputs = self.inputs.iter().map(|input| format!("&{}", input.name));
        let params = self.params.iter().map(|param| format!("{{{{ {} }}}}", param.spec.name));
        let arguments: Vec<String> = inputs.chain(params).collect();
        format!("{}({})?", self.name, arguments.join(", "))
    }

    /// Panics if the call that is trained has no loss.
    fn check_training(&self) {
        let Some(Descent { steps, .. }) = self.descent else { return };
        let name = self.name;
        assert!(steps > 1, "{name}: one step of training is no more than a gradient");
        let is_scalar = self.outputs.len() == 1 && self.outputs.iter().all(Shape::is_empty);
        assert!(is_scalar, "{name}: what is trained has one output, a scalar: `.output(\"\")`");
        assert!(self.parameters().next().is_some(), "{name}: nothing is trained without `.floats`");
    }

    /// The inputs with a gradient.
    pub(super) fn parameters(&self) -> impl Iterator<Item = &'static str> {
        self.inputs.iter().filter(|input| input.has_gradient).map(|input| input.name)
    }

    fn op(&'static self, name: &'static str, call: &'static Function, source: &'static str) -> &'static Op {
        let about = |input: &Input| {
            let mut about = String::new();
            let _ = match &input.holds {
                Holds::Floats(None) => write!(about, "floats"),
                Holds::Floats(Some((low, high))) => write!(about, "floats from {low} to {high}"),
                Holds::Ids(size) => write!(about, "from 0 to below {size}"),
                Holds::Mask => write!(about, "0 and 1"),
            };
            leak(&about)
        };
        let spec = |input: &Input| {
            let spec = InputSpec::new(input.name, about(input));
            if matches!(input.holds, Holds::Floats(_)) { spec } else { spec.discrete() }
        };
        let mut floats = self.inputs.iter().filter(|input| matches!(input.holds, Holds::Floats(_)));
        let dtypes: &'static [DType] = leaked(self.dtypes.clone());
        let first = floats.next().map_or("", |input| input.name);
        Box::leak(Box::new(Op {
            name,
            covers: leaked(vec![name]),
            support: Box::leak(Box::new(Support::both(first, dtypes))),
            inputs: leaked(self.inputs.iter().map(spec).collect()),
            params: leaked(self.params.iter().map(|param| param.spec).collect()),
            generate: Box::leak(Box::new(|draw: &mut Draw| self.draw(draw))),
            contract: Box::leak(Box::new(|case: &Case| self.contract(case))),
            call: Box::leak(Box::new(|args: &Call| {
                let (case, tensors) = (&self.with_sizes(args.case), args.tensors.clone());
                call(&Call { case, tensors, ..*args })
            })),
            source,
            torch: "",
            reference: None,
            ulps: 1.0,
            differentiable: leaked(self.parameters().collect()),
            promise: "the definition of the op",
        }))
    }

    fn draw(&self, draw: &mut Draw) -> arbitrary::Result<Case> {
        let dtype = draw.choose(&self.dtypes)?;
        let mut case = Case { backward: draw.backward()?, ..Case::new(self.name) };
        for Choice { spec, values } in &self.params {
            if !values.is_empty() {
                case.params.insert(spec.name.to_string(), draw.choose(values)?.clone());
            }
        }
        let mut sizes = self.given_sizes(&case);
        for input in &self.inputs {
            for name in input.shape.names().chain(input.below()) {
                if !sizes.one.contains_key(name) {
                    sizes.one.insert(name.to_string(), draw.size()?);
                }
            }
            for name in input.shape.open_names() {
                if !sizes.any.contains_key(name) {
                    sizes.any.insert(name.to_string(), draw.shape(0, 2)?);
                }
            }
            let shape = input.shape.of(&sizes).unwrap_or_default();
            let data = match &input.holds {
                Holds::Floats(None) if draw.one_in(8)? => draw.tensor_within(*dtype, &shape, -LARGE, LARGE)?,
                Holds::Floats(None) => draw.tensor(*dtype, &shape)?,
                Holds::Floats(Some((low, high))) => draw.tensor_within(*dtype, &shape, *low, *high)?,
                Holds::Ids(size) => {
                    let dtype = draw.choose(&IDS)?;
                    draw.ids(*dtype, &shape, sizes.one[size])?
                }
                Holds::Mask => draw.ids(DType::U8, &shape, 2)?,
            };
            case = case.input(input.name, data);
        }
        Ok(case)
    }

    /// The params of a case, and the sizes of its shapes as further ones. The call has the inputs as tensors.
    fn with_sizes(&self, case: &Case) -> Case {
        let mut sizes = self.given_sizes(case);
        for input in &self.inputs {
            if let Some(data) = case.tensor(input.name) {
                input.shape.learn(&data.shape, &mut sizes);
            }
        }
        let sizes = sizes.one.into_iter().map(|(name, size)| (name, size.into()));
        Case { params: sizes.chain(case.params.clone()).collect(), ..Case::new(&case.op) }
    }

    /// The sizes that are params.
    fn given_sizes(&self, case: &Case) -> Sizes {
        let sizes = self.params.iter().map(|param| param.spec).filter(|spec| matches!(spec.kind, Kind::Size));
        let given = |spec: ParamSpec| Some((spec.name.to_string(), case.optional_size(spec.name)?));
        Sizes { one: sizes.filter_map(given).collect(), ..Sizes::default() }
    }

    /// As of [`super::has_a_caller`].
    pub(super) fn has_a_caller(&self, case: &Case) -> bool {
        let mut floats = case.inputs.values().map(|data| data.dtype).filter(|dtype| dtype.is_float());
        let first = floats.next();
        let has_dtype = |input: &Input| case.tensor(input.name).is_some_and(|data| input.has_dtype(data.dtype));
        first.is_none_or(|first| self.dtypes.contains(&first) && floats.all(|other| other == first))
            && self.inputs.iter().all(has_dtype)
            && self
                .params
                .iter()
                .all(|param| case.params.get(param.spec.name).is_some_and(|it| param.values.contains(it)))
    }

    fn contract(&self, case: &Case) -> Contract {
        if self.outputs.is_empty() {
            return Contract::Unspecified(NO_OUTPUT);
        }
        let Some(outputs) = self.outputs_of(case) else { return Contract::Unspecified(OUTSIDE) };
        // Few ops take any layout, and an `Err` that says so loses nothing.
        Contract::Accepts { outputs, refusal: None }.may_refuse(!case.is_plain(), why::CONTIGUOUS)
    }

    /// The outputs of a case that keeps to the definition.
    fn outputs_of(&self, case: &Case) -> Option<Vec<(DType, Vec<usize>)>> {
        let (dtype, sizes) = self.kept(case)?;
        let dtype = dtype?;
        self.outputs.iter().map(|shape| Some((dtype, shape.of(&sizes)?))).collect()
    }

    /// The dtype of the floats, if there are some, and the sizes of a case that keeps to the definition.
    pub(super) fn kept(&self, case: &Case) -> Option<(Option<DType>, Sizes)> {
        let mut sizes = self.given_sizes(case);
        for input in &self.inputs {
            input.shape.learn(&case.tensor(input.name)?.shape, &mut sizes);
        }
        let mut dtype = None;
        for input in &self.inputs {
            let data = case.tensor(input.name)?;
            // Empty tensors are drawn, too, but no definition says what comes of them.
            if input.shape.of(&sizes)? != data.shape || data.elements() == Some(0) || !input.keeps(data, &sizes) {
                return None;
            }
            if matches!(input.holds, Holds::Floats(_)) && *dtype.get_or_insert(data.dtype) != data.dtype {
                return None;
            }
        }
        dtype.is_none_or(|dtype| self.dtypes.contains(&dtype)).then_some((dtype, sizes))
    }
}

impl Input {
    /// The size that all labels are below, if they are labels.
    pub(super) fn below(&self) -> Option<&str> {
        if let Holds::Ids(size) = &self.holds { Some(size) } else { None }
    }

    /// Whether the input may have this dtype.
    fn has_dtype(&self, dtype: DType) -> bool {
        match self.holds {
            Holds::Floats(_) => dtype.is_float(),
            Holds::Ids(_) => IDS.contains(&dtype),
            Holds::Mask => dtype == DType::U8,
        }
    }

    /// Whether `data` has a dtype and values of the definition.
    fn keeps(&self, data: &tensor::Tensor, sizes: &Sizes) -> bool {
        if !self.has_dtype(data.dtype) {
            return false;
        }
        let mut values = data.values.listed().into_iter();
        match &self.holds {
            Holds::Floats(range) => {
                let (low, high) = range.unwrap_or((f64::NEG_INFINITY, f64::INFINITY));
                values.all(|value| (low..=high).contains(&value.as_f64()))
            }
            Holds::Ids(size) => {
                let below = sizes.one.get(size).copied().unwrap_or(0);
                values.all(|value| in_range(value.as_i64(), below))
            }
            Holds::Mask => values.all(|value| in_range(value.as_i64(), 2)),
        }
    }
}

fn function<R: IntoOutputs>(call: impl Fn(&Call) -> Result<R> + Sync + 'static) -> &'static Function {
    Box::leak(Box::new(move |args: &Call| call(args).map(R::into_outputs)))
}

fn leak(text: &str) -> &'static str {
    Box::leak(text.into())
}

fn leaked<T>(list: Vec<T>) -> &'static [T] {
    Box::leak(list.into_boxed_slice())
}
