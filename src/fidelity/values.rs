//! Values bit by bit: the bits of an element, the distance of two, and counts of distances.

use schemars::JsonSchema;
use serde::Serialize;

use crate::tensor::{DType, Value};

/// The bits of an element of `dtype`, with one NaN.
pub fn bits(dtype: DType, value: Value) -> u64 {
    match dtype {
        DType::F64 => value.as_f64().to_bits(),
        DType::F32 => (value.as_f64() as f32).to_bits().into(),
        DType::F16 => half::f16::from_f64(value.as_f64()).to_bits().into(),
        DType::Bf16 => half::bf16::from_f64(value.as_f64()).to_bits().into(),
        DType::F8e4m3 => float8::F8E4M3::from_f64(value.as_f64()).to_bits().into(),
        DType::U32 | DType::I64 | DType::U8 | DType::I32 | DType::I16 => {
            value.as_i64() as u64 & u64::MAX >> (64 - 8 * dtype.size())
        }
    }
}

/// The element of `dtype` with these bits.
pub fn value(dtype: DType, bits: u64) -> Value {
    match dtype {
        DType::F64 => Value::Float(f64::from_bits(bits)),
        DType::F32 => Value::Float(f32::from_bits(bits as u32).into()),
        DType::F16 => Value::Float(half::f16::from_bits(bits as u16).to_f64()),
        DType::Bf16 => Value::Float(half::bf16::from_bits(bits as u16).to_f64()),
        DType::F8e4m3 => Value::Float(float8::F8E4M3::from_bits(bits as u8).to_f64()),
        DType::I32 => Value::Int((bits as i32).into()),
        DType::I16 => Value::Int((bits as i16).into()),
        DType::U32 | DType::I64 | DType::U8 => Value::Int(bits as i64),
    }
}

/// How far two elements of `dtype` are apart: 0 if they have the same bits, `None` if there is no distance, because only one of
/// them is NaN or infinite.
pub fn ulps(dtype: DType, left: Value, right: Value) -> Option<u64> {
    if bits(dtype, left) == bits(dtype, right) {
        return Some(0);
    }
    if !dtype.is_float() {
        return Some(left.as_i64().abs_diff(right.as_i64()));
    }
    let finite = |value: Value| value.as_f64().is_finite();
    (finite(left) && finite(right)).then(|| place(dtype, left).abs_diff(place(dtype, right)))
}

/// The place of a float among all of its dtype. −0 is one place below +0.
fn place(dtype: DType, value: Value) -> i64 {
    let bits = bits(dtype, value);
    let sign = 1 << (8 * dtype.size() - 1);
    if bits & sign == 0 { bits as i64 } else { -((bits & !sign) as i64) - 1 }
}

/// Counts of elements and of their distances.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Values {
    /// How many elements were compared.
    pub elements: u64,
    /// How many differ in any bit.
    pub differ: u64,
    /// The largest distance, in units in the last place. Integers are in units of 1.
    pub most_ulps: u64,
    /// How many have no distance, because one of the two is NaN or infinite.
    pub no_distance: u64,
    /// How many are 1 to 9 units apart, 10 to 99, and so on.
    pub decades: Vec<u64>,
}

impl Values {
    /// Counts a pair of elements with this distance.
    pub fn count(&mut self, ulps: Option<u64>) {
        self.elements += 1;
        self.differ += u64::from(ulps != Some(0));
        match ulps {
            Some(0) => {}
            None => self.no_distance += 1,
            Some(ulps) => {
                self.most_ulps = self.most_ulps.max(ulps);
                let decade = ulps.ilog10() as usize;
                self.decades.resize(self.decades.len().max(decade + 1), 0);
                self.decades[decade] += 1;
            }
        }
    }

    /// Adds the counts of `other`.
    pub fn add(&mut self, other: &Self) {
        self.elements += other.elements;
        self.differ += other.differ;
        self.most_ulps = self.most_ulps.max(other.most_ulps);
        self.no_distance += other.no_distance;
        self.decades.resize(self.decades.len().max(other.decades.len()), 0);
        self.decades.iter_mut().zip(&other.decades).for_each(|(mine, theirs)| *mine += theirs);
    }
}
