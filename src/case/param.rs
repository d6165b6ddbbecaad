//! Params: the arguments of a call that are not tensors.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, de};

use crate::tensor::Value;

/// An argument that is not a tensor.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Param {
    Number(Value),
    Text(String),
    List(Vec<Param>),
}

/// How deep lists are in each other at most: no op takes more than lists of lists.
const DEEPEST: usize = 8;

// Not promised.
#[doc(hidden)]
impl Param {
    /// The number, or all numbers of a list.
    pub fn numbers(&self) -> Vec<Value> {
        match self {
            Self::Number(value) => vec![*value],
            Self::Text(_) => Vec::new(),
            Self::List(items) => items.iter().flat_map(Self::numbers).collect(),
        }
    }

    /// The number, or all numbers of a list, as mutable references.
    pub fn numbers_mut(&mut self) -> Vec<&mut Value> {
        match self {
            Self::Number(value) => vec![value],
            Self::Text(_) => Vec::new(),
            Self::List(items) => items.iter_mut().flat_map(Self::numbers_mut).collect(),
        }
    }

    /// The param that a person means by `text`: a number, a list such as `[1, 2]`, or else a text.
    pub fn read(text: &str) -> Self {
        Self::read_within(text, DEEPEST)
    }

    /// The same, where lists are at most so deep in each other. What is deeper is a text.
    fn read_within(text: &str, depth: usize) -> Self {
        let inside = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
        if let (Some(items), Some(depth)) = (inside, depth.checked_sub(1)) {
            let items = items.split(',').map(str::trim).filter(|item| !item.is_empty());
            return Self::List(items.map(|item| Self::read_within(item, depth)).collect());
        }
        let int = text.parse().map(Value::Int).ok();
        let number = int.or_else(|| text.parse().map(Value::Float).ok());
        number.map_or_else(|| Self::Text(text.to_string()), Self::Number)
    }

    /// The `usize` that it means: an integer of at least 0 or, where that has more than 63 bits, a text such as `usize::MAX - 1`.
    pub fn size(&self) -> Option<usize> {
        match self {
            Self::Number(value) => usize::try_from(value.as_i64()).ok(),
            Self::Text(text) => {
                let rest = text.strip_prefix(LARGEST)?;
                let below = if rest.is_empty() { 0 } else { rest.strip_prefix(" - ")?.parse().ok()? };
                // A size has one text, and a smaller one none.
                usize::MAX.checked_sub(below).filter(|&size| Self::from(size) == *self)
            }
            Self::List(_) => None,
        }
    }

    /// Whether it is a text that means a size.
    pub fn is_huge(&self) -> bool {
        matches!(self, Self::Text(_)) && self.size().is_some()
    }

    /// The param itself, or every item of a list.
    pub fn leaves(&self) -> Vec<&Self> {
        match self {
            Self::List(items) => items.iter().flat_map(Self::leaves).collect(),
            leaf => vec![leaf],
        }
    }

    /// The param itself, or every item of a list, as mutable references.
    pub fn leaves_mut(&mut self) -> Vec<&mut Self> {
        match self {
            Self::List(items) => items.iter_mut().flat_map(Self::leaves_mut).collect(),
            leaf => vec![leaf],
        }
    }

    /// The items of a list; empty for anything else.
    pub fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            Self::Number(_) | Self::Text(_) => &[],
        }
    }
}

/// How the text of a size with 64 bits begins: TOML has no number for it.
const LARGEST: &str = "usize::MAX";

impl<'de> Deserialize<'de> for Param {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Param;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number, a text or a list (0 and 1 are no and yes)")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Param, E> {
                Ok(Param::from(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Param, E> {
                let integer = i64::try_from(value).map_err(|_| E::custom(format!("{value} does not fit in 64 bits")));
                integer.map(Param::from)
            }
            fn visit_f64<E>(self, value: f64) -> Result<Param, E> {
                Ok(Param::from(value))
            }
            fn visit_str<E>(self, text: &str) -> Result<Param, E> {
                Ok(Param::from(text))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<Param, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Param::List(list))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(value) => write!(f, "{value}"),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(items) => {
                let items: Vec<String> = items.iter().map(ToString::to_string).collect();
                write!(f, "[{}]", items.join(", "))
            }
        }
    }
}

impl<T: Into<Self>> From<Vec<T>> for Param {
    fn from(items: Vec<T>) -> Self {
        Self::List(items.into_iter().map(Into::into).collect())
    }
}

impl From<i64> for Param {
    fn from(value: i64) -> Self {
        Self::Number(Value::Int(value))
    }
}

impl From<usize> for Param {
    fn from(value: usize) -> Self {
        match (i64::try_from(value), usize::MAX - value) {
            (Ok(value), _) => Self::Number(Value::Int(value)),
            (Err(_), 0) => Self::Text(LARGEST.to_string()),
            (Err(_), below) => Self::Text(format!("{LARGEST} - {below}")),
        }
    }
}

impl From<f64> for Param {
    fn from(value: f64) -> Self {
        Self::Number(Value::Float(value))
    }
}

impl From<&str> for Param {
    fn from(text: &str) -> Self {
        Self::Text(text.to_string())
    }
}
