//! Tensors of a case as the Rust a person would write for them.

use crate::tensor::{DType, Fill, Tensor, Value, Values, View, product};

/// The most elements that are spelled out.
const SPELLED: usize = 4096;
/// From here on a rule is shorter than its elements.
const LONG: usize = 24;

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
pub fn rust(dtype: DType) -> &'static str {
    match dtype {
        DType::F16 => "half::f16",
        DType::Bf16 => "half::bf16",
        DType::F8e4m3 => "float8::F8E4M3",
        plain => plain.name(),
    }
}

/// A number without its type, `f64` where that must be named.
pub fn number(value: Value) -> String {
    typed(value, "f64")
}

/// A number; what is no finite one by the constant of the `float` type.
fn typed(value: Value, float: &str) -> String {
    match value {
        Value::Int(value) => value.to_string(),
        Value::Float(value) if value.is_nan() => format!("{float}::NAN"),
        Value::Float(value) if value.is_infinite() => {
            format!("{float}::{}", if value > 0.0 { "INFINITY" } else { "NEG_INFINITY" })
        }
        // As short as it can be: an `f32` that `f64` needs 17 digits for has 9.
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

/// The same of sizes that are written already.
pub fn sizes(sizes: &[String]) -> String {
    match sizes {
        [] => "()".to_string(),
        [size] => size.clone(),
        _ if sizes.len() <= 6 => format!("({})", sizes.join(", ")),
        _ => format!("vec![{}]", sizes.join(", ")),
    }
}

/// What makes `data`, without its view, on `device`; lines that come before it go to `lines`. An `Err` says why nobody
/// would write that.
pub fn buffer(name: &str, data: &Tensor, device: &str, lines: &mut Vec<String>) -> Result<String, String> {
    let stored = data.stored_shape();
    let count = product(&stored).unwrap_or(0);
    if let Values::Fill(fill @ Fill { noise: None, .. }) = &data.values
        && count > LONG
        && covers(&data.view)
    {
        return Ok(filled(data.dtype, fill, count, &shape(&stored), device, lines));
    }
    let mut values = data.values.to_vec(count);
    let mut sizes = stored.clone();
    if !covers(&data.view) {
        let (positions, length) = data.view.positions(&stored);
        let mut cells = vec![Value::of(data.dtype, View::POISON); length];
        for (&position, &value) in positions.iter().zip(&values) {
            cells[position] = value;
        }
        (values, sizes) = (cells, data.view.buffer_shape(&stored));
    }
    if values.len() > SPELLED {
        return Err(format!("`{name}` has {} elements, too many to spell out", values.len()));
    }
    Ok(spelled(data.dtype, &values, &sizes, device))
}

/// Whether the view leaves nothing of its buffer out, and that in order.
fn covers(view: &View) -> bool {
    View { broadcast: Vec::new(), ..view.clone() } == View::default()
}

fn filled(dtype: DType, fill: &Fill, count: usize, sizes: &str, device: &str, lines: &mut Vec<String>) -> String {
    let element = |value| element(dtype, value, true);
    if fill.except.is_empty() {
        return format!("Tensor::from_vec(vec![{}; {count}], {sizes}, {device})?", element(fill.constant));
    }
    lines.push(format!("let mut values = vec![{}; {count}];", element(fill.constant)));
    for &(position, value) in &fill.except {
        lines.push(format!("values[{position}] = {};", element(value)));
    }
    format!("Tensor::from_vec(values, {sizes}, {device})?")
}

/// One element; of a dtype that Rust has no literals for, made of an `f32`.
fn element(dtype: DType, value: Value, suffixed: bool) -> String {
    let made = |from: &str| format!("{}::from_f32({from})", rust(dtype));
    match dtype {
        DType::F16 | DType::Bf16 | DType::F8e4m3 => made(&typed(value, "f32")),
        DType::F32 | DType::F64 => {
            let text = typed(value, rust(dtype));
            // `1.0` becomes `1f32`, as people write it.
            let short = text.strip_suffix(".0").unwrap_or(&text);
            match (suffixed, text.contains("::")) {
                (true, false) => format!("{short}{}", rust(dtype)),
                _ => text,
            }
        }
        _ if suffixed => format!("{}{}", typed(value, ""), rust(dtype)),
        _ => typed(value, ""),
    }
}

fn spelled(dtype: DType, values: &[Value], sizes: &[usize], device: &str) -> String {
    if values.is_empty() {
        return format!("Tensor::from_vec(Vec::<{}>::new(), {}, {device})?", rust(dtype), shape(sizes));
    }
    // Rust has no literals of these: of `f32`s, which hold them all, on the host, as a device's cast may be at fault.
    let cast = matches!(dtype, DType::F16 | DType::Bf16);
    let (held, at) = if cast { (DType::F32, "&Device::Cpu") } else { (dtype, device) };
    let parts: Vec<String> = values.iter().enumerate().map(|(n, &value)| element(held, value, n == 0)).collect();
    let made = match sizes.len() {
        0 => format!("Tensor::new({}, {at})?", parts[0]),
        1..=3 => format!("Tensor::new(&{}, {at})?", nested(&parts, sizes)),
        _ => format!("Tensor::from_vec(vec![{}], {}, {at})?", parts.join(", "), shape(sizes)),
    };
    match (cast, device == at) {
        (false, _) => made,
        (true, true) => format!("{made}.to_dtype({})?", self::dtype(dtype)),
        (true, false) => format!("{made}.to_dtype({})?.to_device({device})?", self::dtype(dtype)),
    }
}

fn nested(parts: &[String], sizes: &[usize]) -> String {
    let Some((_, inner)) = sizes.split_first().filter(|(_, inner)| !inner.is_empty()) else {
        return format!("[{}]", parts.join(", "));
    };
    let rows: Vec<String> = parts.chunks(product(inner).unwrap_or(1).max(1)).map(|row| nested(row, inner)).collect();
    format!("[{}]", rows.join(", "))
}

/// What is called on the buffer to make the view of it, as [`crate::run`] does.
pub fn view(data: &Tensor) -> String {
    let (stored, view) = (data.stored_shape(), &data.view);
    let order = view.memory_order(stored.len());
    let mut calls = String::new();
    for (place, &dim) in order.iter().enumerate() {
        if view.step(dim) != 1 {
            calls += &format!(".narrow({0}, 0, 1)?.squeeze({0})?", place + 1);
        }
        if (view.before(dim), view.after(dim)) != (0, 0) {
            calls += &format!(".narrow({place}, {}, {})?", view.before(dim), stored[dim]);
        }
    }
    let places: Vec<usize> = (0..stored.len()).filter_map(|dim| order.iter().position(|&d| d == dim)).collect();
    if places == [1, 0] {
        calls += ".t()?";
    } else if !places.iter().copied().eq(0..places.len()) {
        let list: Vec<String> = places.iter().map(ToString::to_string).collect();
        calls += &format!(".permute(vec![{}])?", list.join(", "));
    }
    if !view.broadcast.is_empty() {
        calls += &format!(".broadcast_as({})?", shape(&data.shape));
    }
    calls
}
