//! A call that needs memory or work out of proportion to what it takes and returns. Nothing is timed: the counts are exact, and the same on
//! any machine. A simulated device counts kernels and copies, not the CUDA libraries' own work; hardware counts nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Evidence, Kind, OracleName, Site, Verdict, violation};
use crate::outcome::{Effort, Gradients, Growth, Observation, Outcome, Phase, Returned};
use crate::tensor::Tensor;

/// How many times the bytes of all inputs and outputs a call may have at once. A chain of elementwise steps needs two or three; a
/// convolution that writes out its windows needs as many times as it has taps.
const MEMORY: u64 = 16;
/// The same for a backward pass, which keeps every step of the call, each with a gradient.
const BACKWARD_MEMORY: u64 = 32;
/// How many times these bytes may be copied. One copy in and one out are enough.
const COPIES: u64 = 4;
/// How many instructions may be executed for an element of any input or output. Sorting takes two hundred, an exponential twenty.
const INSTRUCTIONS: u64 = 4096;
/// How many any call may execute: a thousand small launches, most of whose threads only find that there is nothing to do.
const ANY_WORK: u64 = 1 << 27;
/// How many for each pair of elements of the two largest inputs, as in a product of matrices or a convolution.
const PAIR_INSTRUCTIONS: u64 = 64;
/// Ops that make tensors of any size and return little: facts about them, or the last of several; and one that reads its input first.
const OF_FACTS: [&str; 5] = ["create.from_values", "random.", "relation.", "sequence", "state."];
/// The lanes of a warp, which execute an instruction together.
const LANES: u64 = 32;

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let Outcome::Returned(returned) = &seen.outcome else { return Verdict::Skip("nothing returned") };
    let Some(efforts) = &seen.efforts else { return Verdict::Pass };
    if let Some(detail) = growth(efforts.growth) {
        let found = violation(OracleName::Cost, Kind::GrowingMemory, Site::Phase(Phase::Forward), seen, detail);
        return Verdict::of(vec![found], Verdict::Pass);
    }
    if OF_FACTS.iter().any(|family| evidence.op.name.starts_with(family)) {
        return Verdict::Skip("tensors of any size between");
    }
    let pairs = pairs(&evidence.case.inputs);
    let forward = Size::of(evidence.case.inputs.values().chain(&returned.outputs));
    // The gradient is that of the buffer, whose view the call saw.
    let buffers = Size::of_buffers(evidence.case.inputs.values());
    let backward = forward.and(buffers).and(Size::of(gradients(returned)));
    // The backward pass begins at the last step.
    let phases = [
        (Phase::Forward, &efforts.forward, forward, MEMORY, steps(evidence)),
        (Phase::Backward, &efforts.backward, backward, BACKWARD_MEMORY, 1),
    ];
    let found = phases.into_iter().flat_map(|(phase, effort, size, memory, steps)| {
        let found = excesses(effort, size, memory, pairs, steps);
        found.map(move |(kind, detail)| violation(OracleName::Cost, kind, Site::Phase(phase), seen, detail))
    });
    Verdict::of(found.collect(), Verdict::Pass)
}

/// How many steps the call makes, each with all inputs: rounds of a cache, steps of a layer that is trained or of an optimizer.
fn steps(evidence: &Evidence) -> u64 {
    let counted = ["rounds", "steps"].iter().find_map(|name| evidence.case.optional_size(name));
    let gradients = evidence.case.tensor("grad").filter(|_| evidence.op.name.starts_with("optim."));
    let descended = gradients.and_then(|grad| grad.shape.first().copied());
    counted.or(descended).unwrap_or(1).max(1) as u64
}

/// The memory that repeated calls leave behind, in words.
fn growth(Growth { host, device }: Growth) -> Option<String> {
    let kept = |bytes: u64, whose: &str| (bytes > 0).then(|| format!("{bytes} bytes of the {whose}"));
    let kept: Vec<String> = [kept(host, "host"), kept(device, "device")].into_iter().flatten().collect();
    (!kept.is_empty()).then(|| format!("keeps {} with each call, beyond its outputs", kept.join(" and ")))
}

/// How many pairs there are of an element of the largest input and one of the second largest.
fn pairs(inputs: &BTreeMap<String, Tensor>) -> u64 {
    let mut sizes: Vec<u64> = inputs.values().map(|input| Size::of([input]).elements).collect();
    sizes.sort_unstable_by_key(|&size| Reverse(size));
    if let [first, second, ..] = sizes[..] { first.saturating_mul(second) } else { 0 }
}

/// The gradients of the inputs.
fn gradients(returned: &Returned) -> impl Iterator<Item = &Tensor> {
    let store = if let Gradients::Returned(store) = &returned.backward { Some(store) } else { None };
    store.into_iter().flat_map(|store| store.gradients.values().chain(store.second.values()))
}

/// How large tensors are as they are seen, unless their buffers are meant: a broadcast element counts wherever it appears in a tensor that is
/// not vast, and what a view hides does not count.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    elements: u64,
    bytes: u64,
}

impl Size {
    fn of<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Self {
        // Of a vast tensor a call reads no more than it returns.
        let seen = |tensor: &Tensor| if tensor.is_vast() { tensor.stored() } else { tensor.elements() };
        tensors.into_iter().fold(Self::default(), |sum, tensor| sum.with(seen(tensor), tensor))
    }

    fn of_buffers<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Self {
        tensors.into_iter().fold(Self::default(), |sum, tensor| sum.with(tensor.stored(), tensor))
    }

    /// The same with so many elements as those of a tensor.
    fn with(self, elements: Option<usize>, of: &Tensor) -> Self {
        let elements = elements.unwrap_or(usize::MAX) as u64;
        self.and(Self { elements, bytes: elements.saturating_mul(of.dtype.size() as u64) })
    }

    fn and(self, other: Self) -> Self {
        Self { elements: self.elements.saturating_add(other.elements), bytes: self.bytes.saturating_add(other.bytes) }
    }
}

/// Everything that is out of proportion, in numbers. Work and copies add up over all steps; memory is the peak of one step.
fn excesses(effort: &Effort, size: Size, memory: u64, pairs: u64, steps: u64) -> impl Iterator<Item = (Kind, String)> {
    let Size { elements, bytes } = size;
    let exceeds = |used: u64, times: u64, unit: u64, any: u64| used > any.saturating_add(times.saturating_mul(unit));
    let of_all = |of_one: u64| of_one.saturating_mul(steps);
    let needs = exceeds(effort.memory, memory, bytes, Effort::ANY_MEMORY)
        .then(|| (Kind::TooMuchMemory, format!("needs {} bytes at once for tensors of {bytes} bytes", effort.memory)));
    let copies = exceeds(effort.copied, of_all(COPIES), bytes, of_all(Effort::ANY_COPIES))
        .then(|| (Kind::TooManyCopies, format!("copies {} bytes for tensors of {bytes} bytes", effort.copied)));
    let serial = effort.serial.as_ref().filter(|serial| serial.longest > Effort::ANY_INSTRUCTIONS).map(|serial| {
        let one = format!("one warp of {} executes {} instructions", serial.kernel, serial.longest);
        (Kind::Serial, format!("{one} one after the other, while fewer than eight are busy"))
    });
    let executed = effort.instructions.saturating_mul(LANES);
    let any = PAIR_INSTRUCTIONS.saturating_mul(pairs).max(ANY_WORK);
    let works = exceeds(executed, of_all(INSTRUCTIONS), elements, of_all(any))
        .then(|| (Kind::TooMuchWork, format!("executes {executed} instructions of threads for {elements} elements")));
    [needs, copies, serial, works].into_iter().flatten()
}
