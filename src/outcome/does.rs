//! An outcome as an engineer says it, for issues.

use super::{Fault, Gradients, Outcome, Phase, Place, Returned, first_line, message_of, signal_name};
use crate::tensor::{DType, Tensor, Value};

/// The most values that are shown of a tensor.
const SHOWN: usize = 8;

impl Outcome {
    /// The outcome in one line, to follow the name of a call: `returns Ok([3], u32)`, `panics at candle-core/src/conv.rs:43: …`.
    pub fn does(&self) -> String {
        match self {
            Self::Returned(returned) => returned.does(),
            Self::Rejected(refusal) => format!("returns Err: {}", first_line(&refusal.message)),
            Self::Panicked(panic) => format!("panics{}: {}", at(&panic.place, panic.phase), first_line(&panic.message)),
            Self::Faulted(fault @ Fault { phase, kind, place, .. }) => {
                format!("fails on the device ({kind}){}: {}", at(place, *phase), message_of(fault))
            }
            Self::Died(death) => format!("kills the process{} ({})", during(death.phase), signal_name(death.signal)),
            Self::StackOverflow(phase) => format!("overflows the stack{}", during(*phase)),
            Self::TimedOut(phase) => format!("does not return{}", during(*phase)),
            Self::OutOfMemory(phase) => format!("runs out of memory{}", during(*phase)),
            Self::Unsupported(what) => format!("is not supported by the device: {what}"),
        }
    }
}

impl Returned {
    fn does(&self) -> String {
        let outputs: Vec<String> = self.outputs.iter().map(shown).collect();
        let mut text = match outputs.as_slice() {
            [] => "returns Ok".to_string(),
            [one] => format!("returns Ok({one})"),
            several => format!("returns Ok(({}))", several.join("), (")),
        };
        match &self.backward {
            Gradients::NotAsked => {}
            Gradients::Rejected(refusal) => {
                text += &format!("; `backward` returns Err: {}", first_line(&refusal.message));
            }
            Gradients::Returned(store) => {
                let each = |what: &str, (name, grad): (&String, &Tensor)| format!("; {what} {name}: {}", shown(grad));
                text.extend(store.gradients.iter().map(|one| each("gradient of", one)));
                text.extend(store.second.iter().map(|one| each("second derivative by", one)));
                text.extend(store.missing.iter().map(|name| format!("; no gradient of {name}")));
            }
        }
        text + if self.tracked { "; the result is tracked for gradients" } else { "" }
    }
}

/// A place in candle, unless nothing names it, and the backward pass, if it is in that.
fn at(place: &Place, phase: Phase) -> String {
    let place = if place.is_unknown() { String::new() } else { format!(" at {place}") };
    during(phase).to_string() + &place
}

fn during(phase: Phase) -> &'static str {
    match phase {
        Phase::Inputs | Phase::Forward => "",
        Phase::Backward => " in `backward`",
    }
}

/// Values, the shape unless it is plain from them, and the dtype.
fn shown(tensor: &Tensor) -> String {
    let (all, dtype, shape) = (tensor.expanded(), tensor.dtype, &tensor.shape);
    let values: Vec<String> = all.iter().take(SHOWN).map(|value| number(dtype, *value)).collect();
    let values = values.join(", ");
    match shape.len() {
        0 => format!("{values}, {dtype}"),
        _ if all.len() > SHOWN => format!("[{values}, …], shape {shape:?}, {dtype}"),
        1 => format!("[{values}], {dtype}"),
        _ => format!("[{values}], shape {shape:?}, {dtype}"),
    }
}

/// A number in as many digits as its dtype has.
fn number(dtype: DType, value: Value) -> String {
    match value {
        Value::Float(value) if dtype != DType::F64 => format!("{:?}", value as f32),
        value => value.to_string(),
    }
}
