//! Draws sequences: steps whose inputs fit the outputs before them, their threads and device objects, and how often they are made.

use std::iter;

use super::{Chain, Placed, Step};
use crate::case::{Backward, Case, DeviceObject, OTHER_THREADS};
use crate::generate::Draw;
use crate::ops::state::synchronize::SYNCHRONIZE;
use crate::ops::state::threads::THREADS;
use crate::ops::{Contract, Op, all_that};
use crate::tensor::{DType, Tensor, cast, product, resized};

/// The most elements of an input of a step that is made several times.
const SMALL: usize = 16;

/// True if floats flow through an op: its main input has a gradient, and its output a reference that the next step starts from.
fn passes(op: &Op) -> bool {
    // Threads that differentiate return gradients, which have none.
    op.reference.is_some() && op.differentiable.contains(&op.support.of) && op.name != THREADS.name
}

/// True if an op may make integers of numbers, such as positions or truths: no input has a gradient.
fn decides(op: &Op) -> bool {
    // Other families return facts on the CPU, and metadata are those of an input of a case. By name: an older candle may lack the op.
    let is_of_numbers = op.name.starts_with("tensor.") && op.name != "tensor.metadata" || op.name == "quantized.data";
    let takes_main = op.inputs.iter().any(|spec| spec.name == op.support.of);
    op.reference.is_some() && op.differentiable.is_empty() && takes_main && is_of_numbers
}

/// True if an op takes positions, labels or conditions.
fn is_led(op: &Op) -> bool {
    op.reference.is_some() && op.inputs.iter().any(|spec| spec.discrete) && !op.is_relation()
}

pub fn generate(draw: &mut Draw) -> arbitrary::Result<Case> {
    let [passing, deciding, led] = [passes, decides, is_led].map(all_that);
    let length = draw.between(2, 5)?;
    let (mut calls, mut chain) = (Vec::new(), Chain::default());
    // A step that does not fit the output before it is drawn again.
    for _ in 0..12 * length {
        let before = chain.promised().cloned();
        let integers = before.as_ref().is_some_and(|(dtype, _)| !dtype.is_float());
        let ops = match () {
            () if integers && draw.one_in(2)? => &led,
            () if draw.one_in(6)? => &deciding,
            () => &passing,
        };
        let op = *draw.choose(ops)?;
        let mut call = (op.generate)(draw)?;
        call.op = op.name.to_string();
        call.backward = Backward::None;
        // Blocks are taken in the format that they were made in.
        if let Some(format) = calls.last().and_then(|before: &Case| before.params.get("format"))
            && call.params.contains_key("format")
        {
            call.params.insert("format".to_string(), format.clone());
        }
        let mut flowing = None;
        if let Some((dtype, shape)) = &before {
            flowing = entrance(draw, op, &call, *dtype)?;
            let Some(old) = flowing.and_then(|name| call.inputs.remove(name)) else { continue };
            fit(&mut call, &old, *dtype, shape);
        }
        let Some(placed) = chain.next(&Step::new(op, call.clone(), flowing)) else {
            continue;
        };
        let Contract::Accepts { outputs, refusal: None } = &placed.contract else { continue };
        let Some((dtype, shape)) = outputs.first() else { continue };
        // Few ops take a scalar, so a scalar is the last output.
        let is_taken = DType::FLOATS.contains(dtype) && passes(op) || DType::IDS.contains(dtype);
        if !is_taken || (shape.is_empty() && calls.len() + 1 < length) {
            continue;
        }
        chain.placed.push(placed);
        calls.push(call);
        if calls.len() == length {
            break;
        }
    }
    if draw.one_in(16)? {
        again(draw, &chain, &mut calls)?;
    }
    let mut case = Case::default().with_calls(spread_out(draw, calls)?);
    case.backward = draw.backward()?;
    Ok(case)
}

/// The calls, now and then in several threads or on several device objects. Usually each waits for its device before the next one.
fn spread_out(draw: &mut Draw, calls: Vec<Case>) -> arbitrary::Result<Vec<Case>> {
    let (in_threads, on_devices) = (draw.one_in(4)?, draw.one_in(6)?);
    if !in_threads && !on_devices {
        return Ok(calls);
    }
    let waits = !draw.one_in(4)?;
    let mut placed = Vec::new();
    for mut call in calls {
        if in_threads {
            call.threads.set(0, draw.between(0, OTHER_THREADS)?);
        }
        // A call that names a device beside the case's own is made on that one.
        if on_devices && DeviceObject::another(call.text("to")).is_none() {
            call.devices.set(0, *draw.choose(&DeviceObject::ALL)?);
        }
        let wait = Case { threads: call.threads.clone(), devices: call.devices.clone(), ..Case::new(SYNCHRONIZE.name) };
        placed.extend(iter::once(call).chain(waits.then_some(wait)));
    }
    Ok(placed)
}

/// Makes one of the calls several times, if it is small, and takes what it returns.
fn again(draw: &mut Draw, chain: &Chain, calls: &mut [Case]) -> arbitrary::Result<()> {
    let is_small = |call: &Case| call.inputs.values().all(|tensor| tensor.elements().is_some_and(|n| n <= SMALL));
    let fits = |placed: &Placed| is_small(&placed.step.call) && placed.returns_what_it_takes();
    let places: Vec<usize> = (1..chain.placed.len()).filter(|&place| fits(&chain.placed[place])).collect();
    if !places.is_empty() {
        let place = *draw.choose(&places)?;
        calls[place].times.set(0, draw.times()?);
    }
    Ok(())
}

/// One of the inputs of `call` that an output of this dtype can be: floats those that have a gradient or are compared, and integers
/// those that hold integers.
fn entrance(draw: &mut Draw, op: &Op, call: &Case, dtype: DType) -> arbitrary::Result<Option<&'static str>> {
    let fits = |name: &str| {
        let is_alike = call.tensor(name).is_some_and(|tensor| tensor.dtype.is_float() == dtype.is_float());
        is_alike && (!dtype.is_float() || op.differentiable.is_empty() || op.differentiable.contains(&name))
    };
    let names: Vec<&str> =
        op.inputs.iter().filter(|spec| !spec.optional && fits(spec.name)).map(|spec| spec.name).collect();
    if names.is_empty() { Ok(None) } else { Ok(Some(*draw.choose(&names)?)) }
}

/// Gives the other inputs of `call` the sizes that fit an input of this dtype and shape instead of `old`.
fn fit(call: &mut Case, old: &Tensor, dtype: DType, shape: &[usize]) {
    for tensor in call.inputs.values_mut() {
        if tensor.dtype == old.dtype {
            *tensor = cast(tensor, dtype);
        }
        let new: Vec<usize> = if tensor.shape == old.shape && tensor.view.is_contiguous() {
            shape.to_vec()
        } else {
            let size = |n: usize| old.shape.iter().rposition(|&m| m == n).and_then(|d| shape.get(d)).copied();
            tensor.shape.iter().map(|&n| size(n).unwrap_or(n)).collect()
        };
        if new.len() == tensor.shape.len() && product(&new).is_some_and(|n| n <= 1 << 16) {
            *tensor = resized(tensor, new);
        }
    }
}
