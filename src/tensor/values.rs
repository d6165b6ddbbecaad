//! The elements of a tensor: listed, or a fill with exceptions, so that 70,000 elements are three lines of text.

use std::cmp::Ordering;
use std::hash::{Hash, Hasher};

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::DType;

/// One element. All integers are `i64`, all floats `f64`; NaN is one value whatever its payload.
#[derive(Debug, Clone, Copy)]
#[allow(missing_docs)]
pub enum Value {
    Int(i64),
    Float(f64),
}

impl Value {
    /// The value as a float.
    pub fn as_f64(self) -> f64 {
        match self {
            Self::Int(value) => value as f64,
            Self::Float(value) => value,
        }
    }

    /// The value as an integer, a float truncated.
    pub fn as_i64(self) -> i64 {
        match self {
            Self::Int(value) => value,
            Self::Float(value) => value as i64,
        }
    }

    /// `value` as an element of `dtype`, rounded to what the dtype holds.
    pub fn of(dtype: DType, value: f64) -> Self {
        if dtype.is_float() { Self::Float(dtype.round(value)) } else { Self::Int(dtype.round(value) as i64) }
    }
}

// Not promised.
#[doc(hidden)]
impl Value {
    /// The same number as a float (`1` as `1.0`), or as an integer (`2.0` as `2`). A number without such a form stays as it is.
    #[must_use]
    pub fn in_form(self, float: bool) -> Self {
        match self {
            Self::Int(value) if float && value as f64 as i64 == value => Self::Float(value as f64),
            Self::Float(value) if !float && (value as i64) as f64 == value => Self::Int(value as i64),
            _ => self,
        }
    }

    /// A key that orders values from simple to complex: 0, 1, small, large, non-finite.
    pub fn simplicity(self) -> (u8, u64, bool) {
        match self {
            Self::Int(value) => (u8::from(value.unsigned_abs() > 255), value.unsigned_abs(), value < 0),
            Self::Float(value) if value.is_nan() => (5, 0, false),
            Self::Float(value) => {
                let size = value.abs();
                let class = match size {
                    _ if size.is_infinite() => 4,
                    _ if size.fract() == 0.0 && size <= 255.0 => 0,
                    _ if (size * 16.0).fract() == 0.0 && size <= 255.0 => 1,
                    _ if (1e-4..1e6).contains(&size) => 2,
                    _ => 3,
                };
                (class, size.to_bits(), value.is_sign_negative())
            }
        }
    }

    fn key(self) -> (u8, u64) {
        match self {
            Self::Int(value) => (0, value as u64),
            Self::Float(value) if value.is_nan() => (1, f64::NAN.to_bits()),
            Self::Float(value) => (1, value.to_bits()),
        }
    }
}

impl PartialEq for Value {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Value {}

impl Hash for Value {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialOrd for Value {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Value {
    fn cmp(&self, other: &Self) -> Ordering {
        self.simplicity().cmp(&other.simplicity()).then(self.key().cmp(&other.key()))
    }
}

impl std::fmt::Display for Value {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Int(value) => write!(f, "{value}"),
            Self::Float(value) => write!(f, "{value:?}"),
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Int(value) => serializer.serialize_i64(value),
            // Write every NaN the same way, without a sign.
            Self::Float(value) if value.is_nan() => serializer.serialize_f64(f64::NAN),
            Self::Float(value) => serializer.serialize_f64(value),
        }
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl de::Visitor<'_> for Visitor {
            type Value = Value;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("an integer or a float")
            }
            fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
                Ok(Value::Int(value))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Value, E> {
                i64::try_from(value).map(Value::Int).map_err(|_| E::custom(format!("{value} does not fit in 64 bits")))
            }
            fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
                Ok(Value::Float(value))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

/// The elements of a tensor, in row-major order.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Values {
    /// Every element.
    List(Vec<Value>),
    /// A rule for all elements, and the elements that differ.
    Fill(Fill),
}

/// A rule that gives every element, with exceptions.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// The value of every element; with noise, only its type matters.
    pub constant: Value,
    /// Small values drawn from this seed instead of the constant: multiples of 1/4 in [-2, 2] for floats, 0 and 1 for
    /// integers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<u32>,
    /// `[position, value]` of the elements that differ.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "pairs")]
    pub except: Vec<(usize, Value)>,
}

/// Reads pairs. A tuple would ignore what follows the second item in TOML.
fn pairs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<(usize, Value)>, D::Error> {
    let pair = |items: Vec<Value>| match items[..] {
        [Value::Int(position), value] => Some((usize::try_from(position).ok()?, value)),
        _ => None,
    };
    let pairs: Option<Vec<_>> = Vec::deserialize(deserializer)?.into_iter().map(pair).collect();
    pairs.ok_or_else(|| de::Error::custom("each exception is a position and a value, such as [3, 0.5]"))
}

impl Fill {
    /// `value` everywhere.
    pub fn constant(value: Value) -> Self {
        Self { constant: value, noise: None, except: Vec::new() }
    }
}

impl Values {
    /// The `count` elements.
    pub fn to_vec(&self, count: usize) -> Vec<Value> {
        let fill = match self {
            Self::List(values) => return values.clone(),
            Self::Fill(fill) => fill,
        };
        let mut values = vec![fill.constant; count];
        if let Some(seed) = fill.noise {
            let mut rng = Pcg64Mcg::seed_from_u64(u64::from(seed));
            for value in &mut values {
                let bits = rng.next_u32() >> 8;
                *value = match fill.constant {
                    Value::Int(_) => Value::Int(i64::from(bits % 2)),
                    Value::Float(_) => Value::Float(f64::from(bits % 17) / 4.0 - 2.0),
                };
            }
        }
        for &(position, value) in &fill.except {
            if let Some(slot) = values.get_mut(position) {
                *slot = value;
            }
        }
        values
    }

    /// Gives each number the form of the elements of `dtype`, and rounds it to the nearest one of a float dtype. A number that is no
    /// element of the dtype stays as it is.
    pub fn normalize(&mut self, dtype: DType) {
        let form = |value: &mut Value| {
            *value = value.in_form(dtype.is_float());
            if let Some(element) = dtype.element(value.as_f64()).filter(|_| dtype.is_float()) {
                *value = Value::Float(element);
            }
        };
        match self {
            Self::List(values) => values.iter_mut().for_each(form),
            Self::Fill(fill) => {
                form(&mut fill.constant);
                fill.except.iter_mut().for_each(|(_, value)| form(value));
            }
        }
    }

    /// The values that the text form lists. It does not list noise, which is finite and small.
    pub fn listed(&self) -> Vec<Value> {
        match self {
            Self::List(values) => values.clone(),
            Self::Fill(fill) => {
                std::iter::once(fill.constant).chain(fill.except.iter().map(|&(_, value)| value)).collect()
            }
        }
    }

    /// The same, to change them.
    pub fn listed_mut(&mut self) -> Vec<&mut Value> {
        match self {
            Self::List(values) => values.iter_mut().collect(),
            Self::Fill(fill) => {
                std::iter::once(&mut fill.constant).chain(fill.except.iter_mut().map(|(_, value)| value)).collect()
            }
        }
    }

    /// How many values the text form lists.
    pub fn spelled(&self) -> usize {
        match self {
            Self::List(values) => values.len(),
            Self::Fill(fill) => 1 + 2 * usize::from(fill.noise.is_some()) + 2 * fill.except.len(),
        }
    }

    /// Checks these values for a tensor of `count` elements of `dtype`.
    pub fn check(&self, count: usize, dtype: DType) -> Result<(), String> {
        self.check_count(count)?;
        match self {
            Self::List(values) => values.iter().try_for_each(|&value| holds(dtype, value)),
            Self::Fill(fill) => {
                holds(dtype, fill.constant)?;
                fill.except.iter().try_for_each(|&(_, value)| holds(dtype, value))
            }
        }
    }

    /// Checks that these are values of `count` elements.
    pub fn check_count(&self, count: usize) -> Result<(), String> {
        match self {
            Self::List(values) if values.len() != count => {
                Err(format!("lists {} values where the shape has {count} elements", values.len()))
            }
            Self::List(_) => Ok(()),
            Self::Fill(fill) => match fill.except.iter().find(|(position, _)| *position >= count) {
                Some((position, _)) => {
                    Err(format!("has an exception at {position} where the shape has {count} elements"))
                }
                None => Ok(()),
            },
        }
    }
}

fn holds(dtype: DType, value: Value) -> Result<(), String> {
    let held = match value {
        Value::Int(value) => dtype.int_range().is_some_and(|(low, high)| (low..=high).contains(&value)),
        Value::Float(value) => {
            // f8e4m3 has no infinity: rounding saturates, so the comparison refuses it.
            dtype.is_float() && (value.is_nan() || dtype.round(value).to_bits() == value.to_bits())
        }
    };
    let nearest = || Value::of(dtype, value.as_f64());
    if held {
        Ok(())
    } else {
        Err(format!("has the value {value}, which {dtype} cannot hold; the nearest is {}", nearest()))
    }
}
