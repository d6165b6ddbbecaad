//! Whether a case keeps to what its op declares.

use super::{Absent, InputSpec, Kind, Only, Specs};
use crate::case::{Case, Param};
use crate::tensor::{DType, Value};

impl Kind {
    /// `param`, with each number in the form of this type: `1` becomes `1.0` for a number, and `2.0` becomes `2` for an integer.
    fn normalize(&self, param: &mut Param) {
        match (self, param) {
            (Self::Float, Param::Number(value)) => *value = value.in_form(true),
            (Self::Int(..) | Self::Size | Self::Flag, Param::Number(value)) => *value = value.in_form(false),
            (Self::List(items), Param::List(list)) => list.iter_mut().for_each(|item| items.normalize(item)),
            _ => {}
        }
    }

    /// Moves each integer that is out of range to the end of the range.
    fn clamp(&self, param: &mut Param) {
        match (self, param) {
            (Self::Int(low, high), Param::Number(Value::Int(value))) => *value = (*value).clamp(*low, *high),
            (Self::Flag, Param::Number(Value::Int(value))) => *value = (*value).clamp(0, 1),
            (Self::Size, Param::Number(Value::Int(value))) => *value = (*value).max(0),
            (Self::Int(_, high), param) if param.is_huge() => *param = Param::from(*high),
            (Self::Flag, param) if param.is_huge() => *param = Param::from(1_i64),
            (Self::List(items), Param::List(list)) => list.iter_mut().for_each(|item| items.clamp(item)),
            _ => {}
        }
    }

    /// What is wrong with `param`, as the end of a sentence about it.
    fn check(&self, param: &Param) -> Result<(), String> {
        match (self, param) {
            (Self::Int(low, high), Param::Number(Value::Int(value))) if (low..=high).contains(&value) => Ok(()),
            (Self::Size, Param::Number(Value::Int(0..))) => Ok(()),
            (Self::Size, param) if param.is_huge() => Ok(()),
            (Self::Flag, Param::Number(Value::Int(0 | 1))) | (Self::Float, Param::Number(Value::Float(_))) => Ok(()),
            (Self::Word(words), Param::Text(text)) if words.contains(&text.as_str()) => Ok(()),
            (Self::Dtype, Param::Text(text)) if DType::named(text).is_some() => Ok(()),
            (Self::Text, Param::Text(_)) => Ok(()),
            (Self::List(items), Param::List(list)) => list.iter().try_for_each(|item| items.check(item)),
            _ => Err(format!("is {param}, but must be {self}{}", self.nearest(param))),
        }
    }

    /// The value of this type that is nearest to `param`, as a hint.
    fn nearest(&self, param: &Param) -> String {
        let names: Vec<&str> = match self {
            Self::Word(words) => words.to_vec(),
            Self::Dtype => DType::ALL.iter().map(|dtype| dtype.name()).collect(),
            _ => Vec::new(),
        };
        match (self, param) {
            (Self::Size, Param::Number(Value::Float(value))) if value.is_finite() => {
                format!("; the nearest is {}", Param::from(value.round() as usize))
            }
            (Self::Size, Param::Text(_)) => "; the largest is \"usize::MAX\"".to_string(),
            (Self::Int(low, high), Param::Number(Value::Float(value))) if value.is_finite() => {
                format!("; the nearest is {}", (value.round() as i64).clamp(*low, *high))
            }
            (_, Param::Text(text)) => {
                nearest(text, names.into_iter()).map(|name| format!("; did you mean \"{name}\"?")).unwrap_or_default()
            }
            _ => String::new(),
        }
    }
}

/// The one of `names` that is spelled most like `typed`, unless none is.
pub fn nearest<'a>(typed: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    /// No name is longer. The comparison takes time with the square of the length.
    const LONGEST: usize = 200;
    if typed.len() > LONGEST {
        return None;
    }
    let alike = |name: &'a str| (strsim::jaro_winkler(typed, name), name);
    let best = names.map(alike).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(likeness, _)| *likeness > 0.7).map(|(_, name)| name)
}

impl Specs {
    /// The input that the output of the step before is: the only one that `case` lacks. The error is the end of a sentence about the
    /// case.
    pub fn flowing(&self, case: &Case) -> Result<&'static str, String> {
        let missing: Vec<&str> = self.missing(case).map(|spec| spec.name).collect();
        match missing.as_slice() {
            [name] => Ok(name),
            [first @ .., last] if !first.is_empty() => Err(format!(
                "lacks the inputs `{}` and `{last}`; the output of the step before can be only one of them",
                first.join("`, `")
            )),
            _ if self.inputs.is_empty() => {
                Err("takes no input that the output of the step before could be".to_string())
            }
            _ => Err("has all its inputs; leave out the one that is the output of the step before".to_string()),
        }
    }

    /// Gives each number the form of its param's type. What has no such form stays, for [`Self::check`] to name.
    pub fn normalize(&self, case: &mut Case) {
        self.each_param(case, Kind::normalize);
    }

    /// Moves each integer that is out of its param's range to the end of the range.
    pub fn clamp(&self, case: &mut Case) {
        self.each_param(case, Kind::clamp);
    }

    fn each_param(&self, case: &mut Case, change: impl Fn(&Kind, &mut Param)) {
        for spec in self.params {
            if let Some(param) = case.params.get_mut(spec.name) {
                change(&spec.kind, param);
            }
        }
    }

    /// Whether `case` has all that a call needs, nothing else, and each param of its type; `flows` if one input is not in the case,
    /// because it is the output of the step before. The error is the end of a sentence about the case.
    pub fn check(&self, case: &Case, flows: bool) -> Result<(), String> {
        let inputs = || self.inputs.iter().map(|spec| spec.name);
        let params = || self.params.iter().map(|spec| spec.name);
        if let Some(name) = case.inputs.keys().find(|name| !inputs().any(|known| known == *name)) {
            return Err(unknown("input", name, &inputs().collect::<Vec<_>>()));
        }
        if let Some(name) = case.params.keys().find(|name| !params().any(|known| known == *name)) {
            return Err(unknown("param", name, &params().collect::<Vec<_>>()));
        }
        for spec in self.params {
            let taken = self.takes(case, spec.only);
            match case.params.get(spec.name) {
                Some(_) if !taken => return Err(misplaced("param", spec.name, spec.only)),
                Some(param) => spec.kind.check(param).map_err(|what| format!("param `{}` {what}", spec.name))?,
                None if taken && matches!(spec.absent, Absent::Error) => {
                    return Err(format!("lacks the param `{}`: {}", spec.name, spec.kind));
                }
                None => {}
            }
        }
        let misplaces = |spec: &&InputSpec| case.tensor(spec.name).is_some() && !self.takes(case, spec.only);
        if let Some(spec) = self.inputs.iter().find(misplaces) {
            return Err(misplaced("input", spec.name, spec.only));
        }
        match self.missing(case).next() {
            _ if flows => self.flowing(case).map(drop),
            Some(spec) => Err(format!("lacks the input `{}`, {}", spec.name, spec.about)),
            None => Ok(()),
        }
    }
}

fn unknown(what: &str, name: &str, known: &[&str]) -> String {
    let hint = match nearest(name, known.iter().copied()) {
        Some(known) => format!("; did you mean `{known}`?"),
        None if known.is_empty() => format!("; it has no {what}s"),
        None => format!("; it has {}", known.join(", ")),
    };
    format!("has no {what} `{name}`{hint}")
}

fn misplaced(what: &str, name: &str, only: Option<Only>) -> String {
    format!("takes the {what} `{name}` only {}", only.map(|only| only.to_string()).unwrap_or_default())
}
