//! How a test compares tensors with what is expected of their elements.

use super::rust;
use crate::oracle::Expectation;
use crate::tensor::{DType, Tensor, Value};

/// The digits after the point to which candle's own tests round.
const DIGITS: i32 = 4;

/// The most elements that a test compares one by one.
const ONE_BY_ONE: usize = 2;

/// A tolerance that is too small to matter.
const TINY: f64 = 1e-30;

/// Tolerances that differ by less than this factor become one.
const ALIKE: f64 = 100.0;

/// A tensor of a test or a list of sizes, and the expected elements.
#[derive(Debug)]
pub struct Compared {
    /// Its expression.
    of: String,
    dtype: DType,
    shape: Vec<usize>,
    /// The number of its elements, also of those with an unknown value.
    size: usize,
    /// True for a `Vec<usize>`.
    is_list: bool,
    elements: Vec<Element>,
}

/// An element with a known value.
#[derive(Debug, Clone, Copy)]
struct Element {
    /// Its place in the tensor of the test.
    place: usize,
    /// Its value today.
    got: f64,
    expected: f64,
    /// The allowed error.
    within: f64,
    /// True if it is right today.
    kept: bool,
}

impl Element {
    /// True if it is compared without a tolerance.
    fn is_exact(&self) -> bool {
        let is_plain_zero = self.expected == 0.0 && self.within <= TINY && (!self.kept || self.got == 0.0);
        self.within == 0.0 && !self.expected.is_nan() || is_plain_zero
    }

    /// Its expected value in no more digits than the dtype has: the tolerance, if there is one, grows by the others.
    fn digits(&self, typed: &str) -> String {
        let is_short = typed != "f64" && self.within > 0.0;
        rust::typed(Value::Float(self.expected), if is_short { "f32" } else { "f64" })
    }

    /// The expected value as [`Self::digits`] writes it.
    fn written(&self, typed: &str) -> f64 {
        self.digits(typed).parse().unwrap_or(self.expected)
    }

    /// True if a test with this tolerance fails today because of it, or need not.
    fn is_caught(&self, typed: &str, tolerance: f64) -> bool {
        self.kept || self.got.is_nan() || (self.got - self.written(typed)).abs() > tolerance
    }
}

impl Compared {
    /// The tensor that is `got` today, of the expression `of`. `place` gives the place there of an element of `got`.
    pub fn tensor(of: String, got: &Tensor, expected: &[&Expectation], place: impl Fn(usize) -> usize) -> Self {
        let values = got.floats();
        let element = |one: &&Expectation| Element {
            place: place(one.position),
            got: values[one.position],
            expected: one.value,
            within: one.within,
            kept: one.kept,
        };
        // Within an infinite distance lies every number.
        let known = expected.iter().filter(|one| one.within.is_finite());
        let elements = known.map(element).collect();
        Self { of, dtype: got.dtype, shape: got.shape.clone(), size: values.len(), is_list: false, elements }
    }

    /// It, if its expression is not a tensor but a `Vec<usize>`.
    #[must_use]
    pub fn into_list(self) -> Self {
        Self { is_list: true, ..self }
    }

    /// One assertion about all elements, if they are compared exactly or in the digits of candle's own tests.
    fn at_once(&self) -> Option<String> {
        let Self { of, dtype, shape, size, is_list, elements } = self;
        if elements.len() != *size || elements.iter().enumerate().any(|(nth, one)| one.place != nth) {
            return None;
        }
        let (cast, typed) = rust::readable(*dtype);
        // As many levels of brackets as candle has a method for.
        let (flat, sizes) = if shape.len() <= 3 { ("", &shape[..]) } else { (".flatten_all()?", &[*size][..]) };
        let nested = |literals: &[String]| match sizes {
            [] => literals.concat(),
            _ => rust::nested(literals, sizes),
        };
        if elements.iter().all(Element::is_exact) {
            let all = nested(&elements.iter().map(|one| literal(one.expected, typed)).collect::<Vec<_>>());
            if *is_list {
                return Some(format!("assert_eq!({of}, {all});"));
            }
            let read = if sizes.is_empty() { "to_scalar".to_string() } else { format!("to_vec{}", sizes.len()) };
            return Some(format!("assert_eq!({of}{flat}{cast}.{read}::<{typed}>()?, {all});"));
        }
        let (rank, all) = (sizes.len(), nested(&rounded(elements).filter(|_| typed == "f32")?));
        Some(format!("assert_eq!(test_utils::to_vec{rank}_round(&{of}{flat}{cast}, {DIGITS})?, {all});"))
    }

    /// The tolerance that `element` needs; 0 if none.
    fn bound(&self, element: &Element) -> f64 {
        if element.is_exact() || !element.expected.is_finite() {
            return 0.0;
        }
        let (_, typed) = rust::readable(self.dtype);
        // A tolerance far below every actual error would only distract.
        let is_near = |one: &Element| !one.kept && (one.got - one.expected).abs() < 1e10 * TINY;
        let least = if self.elements.iter().any(is_near) { 0.0 } else { TINY };
        (element.within + (element.written(typed) - element.expected).abs()).max(least)
    }

    /// Assertions about single elements. All that need a tolerance have the `shared` one, if there is one.
    fn one_by_one(&self, shared: Option<f64>) -> Vec<String> {
        let Self { of, dtype, is_list, elements, .. } = self;
        let (cast, typed) = rust::readable(*dtype);
        if *is_list {
            let line = |one: &Element| format!("assert_eq!({of}[{}], {});", one.place, literal(one.expected, typed));
            return elements.iter().map(line).collect();
        }
        let tolerance = |one: &Element| {
            let bound = self.bound(one);
            let short = in_one_digit(bound);
            match shared {
                _ if bound == 0.0 => 0.0,
                Some(shared) => shared,
                None if one.is_caught(typed, short) => short,
                None => rounded_up(bound),
            }
        };
        let number = |value| rust::number(Value::Float(value));
        let mut lines = vec![format!("let values = {of}.flatten_all()?{cast}.to_vec1::<{typed}>()?;")];
        if elements.len() <= ONE_BY_ONE || elements.iter().any(|one| !one.expected.is_finite()) {
            lines.extend(elements.iter().map(|one| {
                let value = format!("values[{}]", one.place);
                let (expected, within) = (one.expected, tolerance(one));
                if expected.is_nan() {
                    format!("assert!({value}.is_nan());")
                } else if within == 0.0 {
                    format!("assert_eq!({value}, {});", literal(expected, typed))
                } else {
                    let wide = if typed == "f64" { "" } else { " as f64" };
                    let distance = format!("({value}{wide} - {}).abs()", one.digits(typed));
                    format!("assert!({distance} <= {}, \"{{}}\", {value});", number(within))
                }
            }));
            return lines;
        }
        let tolerances: Vec<f64> = elements.iter().map(tolerance).collect();
        let one = tolerances.first().copied().filter(|first| tolerances.iter().all(|within| within == first));
        let element = |(element, within): (&Element, &f64)| {
            let within = if one.is_some() { String::new() } else { format!(", {}", number(*within)) };
            format!("({}, {}{within})", element.place, element.digits(typed))
        };
        let listed = elements.iter().zip(&tolerances).map(element).collect::<Vec<_>>().join(", ");
        let names = if one.is_some() { "place, expected" } else { "place, expected, within" };
        let value = if typed == "f64" { "values[place]" } else { "values[place] as f64" };
        let within = one.map_or_else(|| "within".to_string(), number);
        let assertion = match one {
            Some(0.0) => "assert_eq!(value, expected, \"at {place}\");".to_string(),
            _ => {
                format!("assert!((value - expected).abs() <= {within}, \"{{value}} at {{place}}, not {{expected}}\");")
            }
        };
        lines.push(format!("for ({names}) in [{listed}] {{\n    let value: f64 = {value};\n    {assertion}\n}}"));
        lines
    }
}

/// The assertions about all of these, with one tolerance if that tells right from wrong.
pub fn assertions(all: &[Compared]) -> Vec<String> {
    let known = all.iter().filter(|one| !one.elements.is_empty());
    let compared: Vec<(&Compared, Option<String>)> = known.map(|one| (one, one.at_once())).collect();
    let one_by_one: Vec<&Compared> = compared.iter().filter(|(_, line)| line.is_none()).map(|(one, _)| *one).collect();
    let shared = shared(&one_by_one);
    let lines =
        |(one, line): (&Compared, Option<String>)| line.map_or_else(|| one.one_by_one(shared), |line| vec![line]);
    compared.into_iter().flat_map(lines).collect()
}

/// The largest tolerance of all these tensors in one digit: if no other is far below it, and no value that is wrong today passes.
fn shared(tensors: &[&Compared]) -> Option<f64> {
    let all = tensors.iter().flat_map(|tensor| {
        let (_, typed) = rust::readable(tensor.dtype);
        tensor.elements.iter().map(move |one| (one, typed, tensor.bound(one)))
    });
    let inexact: Vec<(&Element, &str, f64)> = all.filter(|(.., bound)| *bound > 0.0).collect();
    let bounds = || inexact.iter().map(|(.., bound)| *bound);
    let (least, largest) = (bounds().reduce(f64::min)?, bounds().reduce(f64::max)?);
    let tolerance = in_one_digit(largest);
    let is_enough = largest < ALIKE * least && inexact.iter().all(|(one, typed, _)| one.is_caught(typed, tolerance));
    is_enough.then_some(tolerance)
}

/// A number of the type of elements `typed`.
fn literal(value: f64, typed: &str) -> String {
    match typed {
        "f32" | "f64" => rust::typed(Value::Float(value), typed),
        _ => format!("{}", value as i64),
    }
}

/// The expected values in [`DIGITS`] digits, as candle's tests compare: if all that is near enough rounds to them, and some wrong value of
/// today does not.
fn rounded(elements: &[Element]) -> Option<Vec<String>> {
    const LARGEST: f64 = 1000.0;
    let unit = 10_f64.powi(DIGITS);
    let round = |value: f64| (value * unit).round() / unit;
    let is_settled = |one: &Element| {
        let (value, within) = (one.expected, one.within.max(1e-6));
        value.abs() < LARGEST && round(value - within) == round(value) && round(value + within) == round(value)
    };
    let is_seen = |one: &Element| !one.kept && round(one.got) != round(one.expected);
    let is_enough = elements.iter().all(is_settled) && elements.iter().any(is_seen);
    // Without the sign of a zero.
    is_enough.then(|| elements.iter().map(|one| format!("{:?}", round(one.expected) as f32 + 0.0)).collect())
}

/// A tolerance in one digit, rounded up.
fn in_one_digit(bound: f64) -> f64 {
    let text = format!("{bound:.0e}");
    let read = |text: &str| text.parse().unwrap_or(bound);
    match text.split_once('e') {
        Some((digit, power)) if read(&text) < bound => {
            let next = digit.parse::<u8>().unwrap_or_default() + 1;
            read(&format!("{next}e{power}"))
        }
        _ => read(&text),
    }
}

/// A tolerance in four digits, rounded up: minimized cases are only just outside it.
fn rounded_up(bound: f64) -> f64 {
    format!("{:.3e}", bound * 1.0005).parse().unwrap_or(bound)
}
