//! What an op declares about its inputs and params.

mod check;

use std::borrow::Cow;
use std::fmt;

pub use check::nearest;

use super::{Case, Param};

/// The inputs and params of an op.
#[derive(Debug, Clone, Copy)]
pub struct Specs {
    /// The inputs, in the order of the call.
    pub inputs: &'static [InputSpec],
    /// The params, by name.
    pub params: &'static [ParamSpec],
}

impl Specs {
    /// `case` with the default of each param that it leaves out.
    pub fn complete<'a>(&self, case: &'a Case) -> Cow<'a, Case> {
        let mut complete = Cow::Borrowed(case);
        for spec in self.params.iter().filter(|spec| !case.params.contains_key(spec.name)) {
            if let Some(default) = spec.default().filter(|_| self.takes(case, spec.only)) {
                complete.to_mut().params.insert(spec.name.to_string(), default);
            }
        }
        complete
    }

    /// The inputs that a call needs and `case` lacks.
    pub fn missing<'a>(&'a self, case: &'a Case) -> impl Iterator<Item = &'static InputSpec> + 'a {
        let needed = |spec: &&InputSpec| !spec.optional && self.takes(case, spec.only);
        self.inputs.iter().filter(needed).filter(|spec| case.tensor(spec.name).is_none())
    }

    /// Whether `case` is one of the calls that take an argument.
    fn takes(&self, case: &Case, only: Option<Only>) -> bool {
        only.is_none_or(|only| only.holds(case, self.params))
    }
}

/// A tensor that an op takes.
#[derive(Debug, Clone, Copy)]
pub struct InputSpec {
    /// The name in cases.
    pub name: &'static str,
    /// Whether a case may lack it.
    pub optional: bool,
    /// The only calls that take it; `None` for all.
    pub only: Option<Only>,
    /// Whether its integers are positions, labels, conditions or codes, and no amounts: a result says nothing unless they are known.
    pub discrete: bool,
    /// Its shape, and what it holds.
    pub about: &'static str,
}

/// An argument that is not a tensor.
#[derive(Debug, Clone, Copy)]
pub struct ParamSpec {
    /// The name in cases.
    pub name: &'static str,
    /// Its type and range.
    pub kind: Kind,
    /// What a case means that lacks it.
    pub absent: Absent,
    /// The only calls that take it; `None` for all.
    pub only: Option<Only>,
    /// What it is.
    pub about: &'static str,
}

/// The type of a param.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// An integer from the first to the second.
    Int(i64, i64),
    /// Any `usize`.
    Size,
    /// 0 or 1.
    Flag,
    /// A number.
    Float,
    /// One of these words.
    Word(&'static [&'static str]),
    /// The name of a dtype.
    Dtype,
    /// Any text.
    Text,
    /// A list of items of one type.
    List(&'static Self),
}

/// What a case means that lacks a param.
#[derive(Debug, Clone, Copy)]
pub enum Absent {
    /// Nothing: it is needed.
    Error,
    /// A call of another form, or without this argument.
    Omitted,
    /// This integer, or 0 and 1 for no and yes.
    Int(i64),
    /// This number.
    Float(f64),
    /// This word.
    Word(&'static str),
    /// The empty list.
    Empty,
}

/// The calls that take an argument: those whose param `param` is (or is not) `word`, or a list with it.
#[derive(Debug, Clone, Copy)]
pub struct Only {
    param: &'static str,
    word: &'static str,
    is: bool,
}

impl Only {
    /// Whether `case` is one of these calls. `params` gives the word that a case means that lacks it.
    fn holds(&self, case: &Case, params: &[ParamSpec]) -> bool {
        let given = |spec: &ParamSpec| case.params.get(self.param).cloned().or_else(|| spec.default());
        let param = params.iter().find(|spec| spec.name == self.param).and_then(given);
        let word = Param::from(self.word);
        param.is_some_and(|param| param == word || param.items().contains(&word)) == self.is
    }
}

impl fmt::Display for Only {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} `{} = \"{}\"`", if self.is { "with" } else { "without" }, self.param, self.word)
    }
}

impl InputSpec {
    /// An input that every case has.
    pub const fn new(name: &'static str, about: &'static str) -> Self {
        Self { name, optional: false, only: None, discrete: false, about }
    }

    /// This input, which a case may lack.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    /// This input, whose integers are positions, labels, conditions or codes.
    #[must_use]
    pub const fn discrete(self) -> Self {
        Self { discrete: true, ..self }
    }

    /// This input, for calls whose param `param` is `word`.
    #[must_use]
    pub const fn when(self, param: &'static str, word: &'static str) -> Self {
        Self { only: Some(Only { param, word, is: true }), ..self }
    }

    /// This input, for calls whose param `param` is not `word`.
    #[must_use]
    pub const fn unless(self, param: &'static str, word: &'static str) -> Self {
        Self { only: Some(Only { param, word, is: false }), ..self }
    }
}

impl InputSpec {
    /// What it is, and which calls take it.
    pub fn taken(&self) -> String {
        let only = self.only.map(|only| format!(", only {only}")).unwrap_or_default();
        format!("{}{}{only}", self.about, if self.optional { ", optional" } else { "" })
    }
}

impl ParamSpec {
    /// Its type, its default, and which calls take it.
    pub fn taken(&self) -> String {
        let absent = match (self.default(), self.absent) {
            (Some(value), _) => format!(", {value} by default"),
            (None, Absent::Omitted) => ", optional".to_string(),
            (None, _) => String::new(),
        };
        let only = self.only.map(|only| format!(", only {only}")).unwrap_or_default();
        format!("{}{absent}{only}", self.kind)
    }

    const fn of(name: &'static str, kind: Kind, absent: Absent, about: &'static str) -> Self {
        Self { name, kind, absent, only: None, about }
    }

    /// An integer that candle takes as a `usize`.
    pub const fn size(name: &'static str, default: i64, about: &'static str) -> Self {
        Self::of(name, Kind::Size, Absent::Int(default), about)
    }

    /// Any integer.
    pub const fn int(name: &'static str, default: i64, about: &'static str) -> Self {
        Self::of(name, Kind::Int(i64::MIN, i64::MAX), Absent::Int(default), about)
    }

    /// An integer that candle takes as an `i32`.
    pub const fn i32(name: &'static str, default: i64, about: &'static str) -> Self {
        Self::of(name, Kind::Int(i32::MIN as i64, i32::MAX as i64), Absent::Int(default), about)
    }

    /// No or yes, 0 or 1.
    pub const fn flag(name: &'static str, default: bool, about: &'static str) -> Self {
        Self::of(name, Kind::Flag, Absent::Int(default as i64), about)
    }

    /// A number.
    pub const fn float(name: &'static str, default: f64, about: &'static str) -> Self {
        Self::of(name, Kind::Float, Absent::Float(default), about)
    }

    /// One of `words`; the first is the default.
    pub const fn word(name: &'static str, words: &'static [&'static str], about: &'static str) -> Self {
        Self::of(name, Kind::Word(words), Absent::Word(words[0]), about)
    }

    /// The name of a dtype, `f32` by default.
    pub const fn dtype(name: &'static str, about: &'static str) -> Self {
        Self::of(name, Kind::Dtype, Absent::Word("f32"), about)
    }

    /// Any text, which every case has.
    pub const fn text(name: &'static str, about: &'static str) -> Self {
        Self::of(name, Kind::Text, Absent::Error, about)
    }

    /// A list of sizes, empty by default.
    pub const fn sizes(name: &'static str, about: &'static str) -> Self {
        Self::of(name, Kind::List(&Kind::Size), Absent::Empty, about)
    }

    /// A list of items of this type, empty by default.
    pub const fn list(name: &'static str, items: &'static Kind, about: &'static str) -> Self {
        Self::of(name, Kind::List(items), Absent::Empty, about)
    }

    /// This param; a call without it differs from one with any value.
    #[must_use]
    pub const fn optional(self) -> Self {
        Self { absent: Absent::Omitted, ..self }
    }

    /// This param, which every case has.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { absent: Absent::Error, ..self }
    }

    /// This param, for calls whose param `param` is `word`.
    #[must_use]
    pub const fn when(self, param: &'static str, word: &'static str) -> Self {
        Self { only: Some(Only { param, word, is: true }), ..self }
    }

    /// The value that a case without it means.
    pub fn default(&self) -> Option<Param> {
        match self.absent {
            Absent::Error | Absent::Omitted => None,
            Absent::Int(value) => Some(value.into()),
            Absent::Float(value) => Some(value.into()),
            Absent::Word(word) => Some(word.into()),
            Absent::Empty => Some(Param::List(Vec::new())),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Int(i64::MIN, i64::MAX) => f.write_str("an integer"),
            Self::Size => f.write_str("an integer of at least 0"),
            Self::Int(low, high) => write!(f, "an integer from {low} to {high}"),
            Self::Flag => f.write_str("0 or 1"),
            Self::Float => f.write_str("a number"),
            Self::Word(words) => {
                let quoted: Vec<String> = words.iter().map(|word| format!("\"{word}\"")).collect();
                write!(f, "one of {}", quoted.join(", "))
            }
            Self::Dtype => f.write_str("a dtype"),
            Self::Text => f.write_str("a text"),
            Self::List(items) => write!(f, "a list, each item {items}"),
        }
    }
}
