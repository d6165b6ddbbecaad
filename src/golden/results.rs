//! Results as text: a line for each tensor, with its values as hexadecimal bits.

use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use crate::fidelity::{bits, hex, parts, value};
use crate::outcome::Returned;
use crate::tensor::{DType, Tensor};

/// A tensor with more elements than this is written as its first elements and a hash of all.
const MOST: usize = 64;
/// How many elements of a longer tensor are written.
const FIRST: usize = 8;

/// The lines of a result.
pub fn lines(returned: &Returned) -> Vec<String> {
    parts(returned).iter().map(|(name, tensor)| line(name, tensor)).collect()
}

fn line(name: &str, tensor: &Tensor) -> String {
    let words = words(tensor);
    let shown = if words.len() <= MOST {
        words.join(" ")
    } else {
        let mut hasher = SipHasher13::new();
        for word in &words {
            hasher.write(word.as_bytes());
        }
        format!("{} … hash {:016x}", words[..FIRST].join(" "), hasher.finish())
    };
    format!("{name}: {} {:?}: {shown}", tensor.dtype, tensor.shape)
}

fn words(tensor: &Tensor) -> Vec<String> {
    tensor.expanded().into_iter().map(|value| hex(tensor.dtype.size(), bits(tensor.dtype, value))).collect()
}

/// The first place at which a result differs from the recorded lines, in words; `None` if it does not.
pub fn first_difference(recorded: &[String], returned: &Returned) -> Option<String> {
    let now = lines(returned);
    if recorded.len() != now.len() {
        return Some(format!("{} tensors instead of {}", now.len(), recorded.len()));
    }
    let (recorded, now) = recorded.iter().zip(&now).find(|(recorded, now)| recorded != now)?;
    let (then, words) =
        split(recorded).zip(split(now)).filter(|((a, _), (b, _))| a == b).map(|((a, b), (_, c))| (a, (b, c)))?;
    let at = words.0.iter().zip(&words.1).position(|(a, b)| a != b);
    Some(at.map_or_else(
        || format!("{then}: an element after those that were recorded"),
        |at| format!("{then}: element {at} is {}, but was {} on hardware", words.1[at], words.0[at]),
    ))
}

/// Name, dtype and shape of a line, and its words.
fn split(line: &str) -> Option<(&str, Vec<&str>)> {
    let (head, words) = line.rsplit_once(": ")?;
    Some((head, words.split(' ').filter(|word| !word.is_empty()).collect()))
}

/// `returned` with the values of the recorded lines, as far as they are written; `None` if its tensors are others.
pub fn recorded(recorded: &[String], returned: &Returned) -> Option<Returned> {
    let mut lines = recorded.iter();
    let mut then = returned.clone();
    then.outputs =
        take(&mut lines, then.outputs.iter().enumerate().map(|(at, tensor)| (format!("output {at}"), tensor)))?;
    if let crate::outcome::Gradients::Returned(store) = &mut then.backward {
        let gradients = store.gradients.iter().map(|(name, tensor)| (format!("gradient of {name}"), tensor));
        let new = take(&mut lines, gradients)?;
        store.gradients.values_mut().zip(new).for_each(|(old, new)| *old = new);
        let second = store.second.iter().map(|(name, tensor)| (format!("second derivative by {name}"), tensor));
        let new = take(&mut lines, second)?;
        store.second.values_mut().zip(new).for_each(|(old, new)| *old = new);
    }
    lines.next().is_none().then_some(then)
}

fn take<'a>(
    lines: &mut std::slice::Iter<String>,
    tensors: impl Iterator<Item = (String, &'a Tensor)>,
) -> Option<Vec<Tensor>> {
    tensors.map(|(name, tensor)| parsed(lines.next()?, &name, tensor)).collect()
}

/// `tensor` with the values of a line.
fn parsed(line: &str, name: &str, tensor: &Tensor) -> Option<Tensor> {
    let (head, words) = split(line)?;
    if head != format!("{name}: {} {:?}", tensor.dtype, tensor.shape) {
        return None;
    }
    let mut values = tensor.expanded();
    for (to, word) in values.iter_mut().zip(words.iter().take_while(|word| **word != "…")) {
        *to = parse(tensor.dtype, word)?;
    }
    Some(Tensor::new(tensor.dtype, tensor.shape.clone(), values))
}

fn parse(dtype: DType, word: &str) -> Option<crate::tensor::Value> {
    Some(value(dtype, u64::from_str_radix(word, 16).ok()?))
}
