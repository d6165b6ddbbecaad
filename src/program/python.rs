//! Tensors of a case as Python that a person would write.

use super::memory::{self, Buffer, Step};
use super::rust::nested;
use crate::tensor::{DType, Tensor, Value};

/// The dtype's name in PyTorch. `u32` becomes `int64`, as PyTorch has few operations on `uint32`.
pub fn dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "torch.uint8",
        DType::I16 => "torch.int16",
        DType::I32 => "torch.int32",
        DType::U32 | DType::I64 => "torch.int64",
        DType::F16 => "torch.float16",
        DType::Bf16 => "torch.bfloat16",
        DType::F32 => "torch.float32",
        DType::F64 => "torch.float64",
        DType::F8e4m3 => "torch.float8_e4m3fn",
    }
}

/// A number.
pub fn number(value: Value) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Float(value) if value.is_nan() => "torch.nan".to_string(),
        Value::Float(value) if value.is_infinite() => if value > 0.0 { "torch.inf" } else { "-torch.inf" }.to_string(),
        Value::Float(value) => format!("{value:?}"),
    }
}

/// A scalar next to tensors of this dtype; it may be a fraction even if the dtype is an integer.
pub fn constant(dtype: DType, value: f64) -> String {
    let whole = !dtype.is_float() && value.fract() == 0.0;
    number(if whole { Value::Int(value as i64) } else { Value::Float(value) })
}

/// An element in its shortest form: 9 digits are enough for an `f32` that takes 17 as an `f64`.
fn element(dtype: DType, value: Value) -> String {
    match value {
        Value::Float(float) if dtype != DType::F64 && float.is_finite() => format!("{:?}", float as f32),
        value => number(value),
    }
}

/// Sizes that are already text, as a tuple.
pub fn sizes(sizes: &[String]) -> String {
    match sizes {
        [size] => format!("({size},)"),
        sizes => format!("({})", sizes.join(", ")),
    }
}

fn shape(shape: &[usize]) -> String {
    sizes(&shape.iter().map(ToString::to_string).collect::<Vec<_>>())
}

/// The expression that makes `data` without its view; lines that must come first go to `lines`. An `Err` says why it cannot
/// be written.
pub fn buffer(name: &str, data: &Tensor, lines: &mut Vec<String>) -> Result<String, String> {
    let (buffer, sizes) = memory::buffer(name, data)?;
    let (dtype, shape) = (dtype(data.dtype), shape(&sizes));
    let element = |value| element(data.dtype, value);
    let full = |shape: &str, value| format!("torch.full({shape}, {}, dtype={dtype})", element(value));
    Ok(match buffer {
        Buffer::Filled(fill, _) if fill.except.is_empty() => full(&shape, fill.constant),
        Buffer::Filled(fill, count) => {
            lines.push(format!("values = {}", full(&format!("({count},)"), fill.constant)));
            let set = |(position, value): &(usize, Value)| format!("values[{position}] = {}", element(*value));
            lines.extend(fill.except.iter().map(set));
            format!("values.reshape({shape})")
        }
        Buffer::Spelled(values) if values.is_empty() || memory::are_many_zeros(&values) => {
            format!("torch.zeros({shape}, dtype={dtype})")
        }
        Buffer::Spelled(values) => {
            let parts: Vec<String> = values.into_iter().map(element).collect();
            match sizes.len() {
                0 => format!("torch.tensor({}, dtype={dtype})", parts[0]),
                1..=3 => format!("torch.tensor({}, dtype={dtype})", nested(&parts, &sizes)),
                _ => format!("torch.tensor([{}], dtype={dtype}).reshape({shape})", parts.join(", ")),
            }
        }
    })
}

/// The methods that make the buffer of `data` when called on a buffer in which several inputs lie. They share its memory.
pub fn part(data: &Tensor, start: usize, length: usize, whole: &Tensor) -> String {
    let (range, sizes) = memory::part(data, start, length, whole);
    let narrow = range.map(|(start, length)| format!(".narrow(0, {start}, {length})")).unwrap_or_default();
    narrow + &sizes.map(|sizes| format!(".reshape({})", shape(&sizes))).unwrap_or_default()
}

/// The methods that make the view when called on the buffer.
pub fn view(data: &Tensor) -> String {
    let call = |step: &Step| match step {
        Step::Narrow(dim, start, len) => format!(".narrow({dim}, {start}, {len})"),
        Step::First(dim) => format!(".select({dim}, 0)"),
        Step::Transpose => ".t()".to_string(),
        Step::Swap(one, other) => format!(".transpose({one}, {other})"),
        Step::Permute(order) => format!(".permute({})", shape(order)),
        Step::Expand(sizes) => format!(".expand({})", shape(sizes)),
    };
    memory::steps(data).iter().map(call).collect()
}
