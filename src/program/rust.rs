//! Tensors of a case as Rust that a person would write.

use super::memory::{self, Buffer, Step};
use crate::tensor::{DType, Fill, Tensor, Value, product};

/// The expression of the device that a program opens.
pub const DEVICE: &str = "&device";

/// The expression of the CPU, where a program may open another device.
pub const HOST: &str = "&Device::Cpu";

/// `text` of a program for the CPU, without calls that move there what is there already and goes on to another call.
pub fn without_moves(text: &str) -> String {
    text.replace(".to_device(&Device::Cpu)?.", ".")
}

/// The dtype as candle names it.
pub fn dtype(dtype: DType) -> &'static str {
    match dtype {
        DType::U8 => "DType::U8",
        DType::U32 => "DType::U32",
        DType::I16 => "DType::I16",
        DType::I32 => "DType::I32",
        DType::I64 => "DType::I64",
        DType::F16 => "DType::F16",
        DType::Bf16 => "DType::BF16",
        DType::F32 => "DType::F32",
        DType::F64 => "DType::F64",
        DType::F8e4m3 => "DType::F8E4M3",
    }
}

/// The Rust type of an element.
pub fn type_name(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "half::f16",
        DType::Bf16 => "half::bf16",
        DType::F8e4m3 => "float8::F8E4M3",
        plain => plain.name(),
    }
}

/// The methods that make a tensor of this dtype one whose elements Rust can print and compare, and their type.
pub fn readable(dtype: DType) -> (&'static str, &'static str) {
    match dtype {
        DType::F16 | DType::Bf16 | DType::F8e4m3 => (".to_device(&Device::Cpu)?.to_dtype(DType::F32)?", "f32"),
        other => ("", type_name(other)),
    }
}

/// A number without a type suffix; NaN and infinities are constants of `f64`.
pub fn number(value: Value) -> String {
    typed(value, "f64")
}

/// A number; NaN and infinities are constants of the type `float`.
pub fn typed(value: Value, float: &str) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Float(value) if value.is_nan() => format!("{float}::NAN"),
        Value::Float(value) if value.is_infinite() => {
            format!("{float}::{}", if value > 0.0 { "INFINITY" } else { "NEG_INFINITY" })
        }
        // The shortest form: 9 digits are enough for an `f32` that takes 17 as an `f64`.
        Value::Float(value) if float == "f32" => format!("{:?}", value as f32),
        Value::Float(value) => format!("{value:?}"),
    }
}

/// A number of this dtype, with its type.
pub fn constant(dtype: DType, number: f64) -> String {
    element(dtype, Value::of(dtype, number), true)
}

/// A shape as candle takes it.
pub fn shape(shape: &[usize]) -> String {
    let sizes: Vec<String> = shape.iter().map(ToString::to_string).collect();
    self::sizes(&sizes)
}

/// A shape of sizes that are already text.
pub fn sizes(sizes: &[String]) -> String {
    match sizes {
        [] => "()".to_string(),
        [size] => size.clone(),
        _ if sizes.len() <= 6 => format!("({})", sizes.join(", ")),
        _ => format!("vec![{}]", sizes.join(", ")),
    }
}

/// The expression that makes `data` on [`DEVICE`], without its view; lines that must come first go to `lines`. An `Err` says
/// why it cannot be written. `host` is the expression of a device of the CPU.
pub fn buffer(name: &str, data: &Tensor, host: &str, lines: &mut Vec<String>) -> Result<String, String> {
    let (buffer, sizes) = memory::buffer(name, data)?;
    Ok(match buffer {
        Buffer::Filled(fill, count) => filled(data.dtype, fill, count, &shape(&sizes), lines),
        Buffer::Spelled(values) => spelled(data.dtype, &values, &sizes, host),
    })
}

fn filled(dtype: DType, fill: &Fill, count: usize, sizes: &str, lines: &mut Vec<String>) -> String {
    let element = |value| element(dtype, value, true);
    if fill.except.is_empty() {
        return format!("Tensor::from_vec(vec![{}; {count}], {sizes}, {DEVICE})?", element(fill.constant));
    }
    lines.push(format!("let mut values = vec![{}; {count}];", element(fill.constant)));
    for &(position, value) in &fill.except {
        lines.push(format!("values[{position}] = {};", element(value)));
    }
    format!("Tensor::from_vec(values, {sizes}, {DEVICE})?")
}

/// One element; a dtype without literals in Rust is converted from `f32`.
fn element(dtype: DType, value: Value, suffixed: bool) -> String {
    let made = |from: &str| format!("{}::from_f32({from})", type_name(dtype));
    match dtype {
        DType::F16 | DType::Bf16 | DType::F8e4m3 => made(&typed(value, "f32")),
        DType::F32 | DType::F64 => {
            let text = typed(value, type_name(dtype));
            // `1.0` becomes `1f32`, as people write it.
            let short = text.strip_suffix(".0").unwrap_or(&text);
            match (suffixed, text.contains("::")) {
                (true, false) => format!("{short}{}", type_name(dtype)),
                _ => text,
            }
        }
        _ if suffixed => format!("{}{}", typed(value, ""), type_name(dtype)),
        _ => typed(value, ""),
    }
}

fn spelled(dtype: DType, values: &[Value], sizes: &[usize], host: &str) -> String {
    if values.is_empty() {
        return format!("Tensor::from_vec(Vec::<{}>::new(), {}, {DEVICE})?", type_name(dtype), shape(sizes));
    }
    if memory::are_many_zeros(values) {
        return format!("Tensor::zeros({}, {}, {DEVICE})?", shape(sizes), self::dtype(dtype));
    }
    // Rust has no literals for these: cast from `f32`, which holds them all. On the host, as the device's cast may be the bug.
    let cast = matches!(dtype, DType::F16 | DType::Bf16);
    let (held, at) = if cast { (DType::F32, host) } else { (dtype, DEVICE) };
    let parts: Vec<String> = values.iter().enumerate().map(|(n, &value)| element(held, value, n == 0)).collect();
    let made = match sizes.len() {
        0 => format!("Tensor::new({}, {at})?", parts[0]),
        1..=3 => format!("Tensor::new(&{}, {at})?", nested(&parts, sizes)),
        _ => format!("Tensor::from_vec(vec![{}], {}, {at})?", parts.join(", "), shape(sizes)),
    };
    match (cast, DEVICE == at) {
        (false, _) => made,
        (true, true) => format!("{made}.to_dtype({})?", self::dtype(dtype)),
        (true, false) => format!("{made}.to_dtype({})?.to_device({DEVICE})?", self::dtype(dtype)),
    }
}

/// Elements in nested brackets, row by row.
pub fn nested(parts: &[String], sizes: &[usize]) -> String {
    let Some((_, inner)) = sizes.split_first().filter(|(_, inner)| !inner.is_empty()) else {
        return format!("[{}]", parts.join(", "));
    };
    let rows: Vec<String> = parts.chunks(product(inner).unwrap_or(1).max(1)).map(|row| nested(row, inner)).collect();
    format!("[{}]", rows.join(", "))
}

/// The methods that make the buffer of `data` when called on a buffer in which several inputs lie. They share its memory.
pub fn part(data: &Tensor, start: usize, length: usize, whole: &Tensor) -> String {
    let (range, sizes) = memory::part(data, start, length, whole);
    let narrow = range.map(|(start, length)| format!(".narrow(0, {start}, {length})?")).unwrap_or_default();
    let reshape = sizes.map(|sizes| format!(".reshape({})?", shape(&sizes))).unwrap_or_default();
    let part = narrow + &reshape;
    // A clone of a tensor has the memory of the tensor.
    if part.is_empty() && memory::steps(data).is_empty() { ".clone()".to_string() } else { part }
}

/// The methods that make the view when called on the buffer.
pub fn view(data: &Tensor) -> String {
    let call = |step: &Step| match step {
        Step::Narrow(dim, start, len) => format!(".narrow({dim}, {start}, {len})?"),
        Step::First(dim) => format!(".narrow({dim}, 0, 1)?.squeeze({dim})?"),
        Step::Transpose => ".t()?".to_string(),
        Step::Swap(one, other) => format!(".transpose({one}, {other})?"),
        Step::Permute(order) => format!(".permute({})?", shape(order)),
        Step::Expand(sizes) => format!(".broadcast_as({})?", shape(sizes)),
    };
    memory::steps(data).iter().map(call).collect()
}
