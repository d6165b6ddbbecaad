//! Calls that ended the process: what made such a call fatal, which other calls are like it, and for how long that is believed.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use crate::case::{Case, Param};
use crate::ops::sequence::{self, Step};
use crate::ops::{Contract, Op, SMALL};
use crate::tensor::{DType, Tensor, Value};

/// How a call ended the process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// A signal, an abort, or an error of a sanitizer.
    Crash,
    /// It was not over in time.
    Timeout,
    /// It needed too much memory.
    Memory,
    /// Somebody keeps the call, as in `corpora/fatal`.
    Kept,
}

impl End {
    /// How the input ended the fuzzer that libFuzzer saved in a file of this name.
    pub fn named(file: &str) -> Self {
        match file.split('-').next() {
            Some("timeout") => Self::Timeout,
            Some("oom") => Self::Memory,
            _ => Self::Crash,
        }
    }

    /// For how long similar calls are not run. A machine that was busy for a night makes timeouts.
    pub fn is_believed_for(self) -> Duration {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        match self {
            Self::Timeout => 2 * DAY,
            Self::Crash | Self::Memory => 7 * DAY,
            Self::Kept => Duration::MAX,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Crash => "a crash",
            Self::Timeout => "a timeout",
            Self::Memory => "out of memory",
            Self::Kept => "kept",
        }
    }
}

/// A call that ended the process, as far as other calls may be like it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Fatal {
    op: String,
    cause: Cause,
    end: End,
}

/// What made a call fatal.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Cause {
    /// It breaks this rule, or it is unspecified for this reason.
    Rule(&'static str),
    /// It is valid. Then it is the dtype, and what is unusual about the inputs and params.
    Unusual(Option<DType>, BTreeSet<Trait>),
    /// It has these steps.
    Steps(Vec<String>),
}

/// Something unusual about an input or a param.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Trait {
    Input(String, InputTrait),
    Param(String, ParamTrait),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum InputTrait {
    View,
    Empty,
    Large,
    NotFinite,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum ParamTrait {
    Zero,
    Negative,
    Large,
    /// Texts are choices, such as a dtype.
    Text(String),
}

impl InputTrait {
    const ALL: [Self; 4] = [Self::View, Self::Empty, Self::Large, Self::NotFinite];

    fn holds(self, tensor: &Tensor) -> bool {
        match self {
            Self::View => !tensor.view.is_plain(),
            Self::Empty => tensor.elements() == Some(0),
            Self::Large => tensor.elements().is_none_or(|count| count > SMALL),
            Self::NotFinite => tensor.values.listed().iter().any(|value| !value.as_f64().is_finite()),
        }
    }
}

impl ParamTrait {
    /// The traits of a param; of a list, those of its numbers.
    fn of(param: &Param) -> BTreeSet<Self> {
        const LARGE: f64 = 256.0;
        let number = |number: Value| match number.as_f64() {
            0.0 => Some(Self::Zero),
            value if value < 0.0 => Some(Self::Negative),
            value if value > LARGE => Some(Self::Large),
            _ => None,
        };
        match param {
            Param::Text(_) if param.is_huge() => BTreeSet::from([Self::Large]),
            Param::Text(text) => BTreeSet::from([Self::Text(text.clone())]),
            Param::Number(_) | Param::List(_) => param.numbers().into_iter().filter_map(number).collect(),
        }
    }
}

impl Trait {
    fn all_of(case: &Case) -> BTreeSet<Self> {
        let of_input = |(name, tensor)| {
            InputTrait::ALL
                .into_iter()
                .filter(move |it| it.holds(tensor))
                .map(move |it| Self::Input(String::clone(name), it))
        };
        let of_param =
            |(name, param)| ParamTrait::of(param).into_iter().map(move |it| Self::Param(String::clone(name), it));
        case.inputs.iter().flat_map(of_input).chain(case.params.iter().flat_map(of_param)).collect()
    }

    /// Whether a call has the trait, or may have it: the default of a param is not known here, nor the output of the step before,
    /// which is an input of a step.
    fn may_hold(&self, call: &Case, is_step: bool) -> bool {
        match self {
            Self::Input(name, it) => call.inputs.get(name).map_or(is_step, |tensor| it.holds(tensor)),
            Self::Param(name, it) => call.params.get(name).is_none_or(|param| ParamTrait::of(param).contains(it)),
        }
    }
}

impl Fatal {
    /// What is known of `case`, which ended the process.
    pub fn new(op: &Op, case: &Case, end: End) -> Self {
        let cause = match op.contract(case) {
            _ if !case.steps.is_empty() => Cause::Steps(case.steps.clone()),
            Contract::Accepts { .. } => Cause::Unusual(op.dtype(case), Trait::all_of(case)),
            Contract::Rejects(rule) => Cause::Rule(rule.id),
            Contract::Unspecified(reason) => Cause::Rule(reason),
        };
        Self { op: op.name.to_string(), cause, end }
    }

    /// Whether `case`, or a step of it, may end the process for the same cause.
    pub fn is_like(&self, op: &Op, case: &Case) -> bool {
        if case.steps.is_empty() {
            return self.op == op.name && self.cause.explains(op, case);
        }
        let is_like = |step: Step| self.op == step.op.name && self.cause.may_explain(&step.call, case);
        self.cause == Cause::Steps(case.steps.clone()) || sequence::steps(case).into_iter().any(is_like)
    }
}

impl Cause {
    /// Whether a call of the op has this cause.
    fn explains(&self, op: &Op, call: &Case) -> bool {
        match (self, op.contract(call)) {
            (Self::Rule(rule), Contract::Rejects(own)) => *rule == own.id,
            (Self::Rule(reason), Contract::Unspecified(own)) => *reason == own,
            (Self::Unusual(dtype, traits), Contract::Accepts { .. }) => {
                op.dtype(call) == *dtype && traits.iter().all(|it| it.may_hold(call, false))
            }
            _ => false,
        }
    }

    /// Whether a step of a sequence may have this cause. It is not known what reaches the step, but its dtype must be somewhere in
    /// the sequence.
    fn may_explain(&self, step: &Case, sequence: &Case) -> bool {
        let has = |dtype: DType| {
            let named = sequence.params.values().any(|param| *param == Param::from(dtype.name()));
            named || sequence.inputs.values().any(|tensor| tensor.dtype == dtype)
        };
        match self {
            Self::Rule(_) => true,
            Self::Unusual(dtype, traits) => dtype.is_none_or(has) && traits.iter().all(|it| it.may_hold(step, true)),
            Self::Steps(_) => false,
        }
    }
}

impl fmt::Display for Fatal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Cause::Rule(rule) => write!(f, "{}: {rule}", self.op)?,
            Cause::Steps(steps) => write!(f, "{}: {}", self.op, steps.join(", "))?,
            Cause::Unusual(dtype, traits) => {
                write!(f, "{} in {}", self.op, dtype.map_or("any dtype", DType::name))?;
                traits.iter().try_for_each(|it| write!(f, ", {it}"))?;
            }
        }
        write!(f, " ({})", self.end.name())
    }
}

impl fmt::Display for Trait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Input(name, InputTrait::View) => write!(f, "{name} a view"),
            Self::Input(name, InputTrait::Empty) => write!(f, "{name} empty"),
            Self::Input(name, InputTrait::Large) => write!(f, "{name} large"),
            Self::Input(name, InputTrait::NotFinite) => write!(f, "{name} not finite"),
            Self::Param(name, ParamTrait::Zero) => write!(f, "{name} 0"),
            Self::Param(name, ParamTrait::Negative) => write!(f, "{name} negative"),
            Self::Param(name, ParamTrait::Large) => write!(f, "{name} large"),
            Self::Param(name, ParamTrait::Text(text)) => write!(f, "{name} {text}"),
        }
    }
}
