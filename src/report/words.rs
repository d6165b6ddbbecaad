//! Failures in plain words: what an op does wrong, and where. Lists, titles of reports, pages and comparisons all use these.

use device_record::Kind as Report;

use crate::device::Device;
use crate::oracle::{Kind, Need, Needs, OracleName, SiblingDoes, Signature, Site, Spot};
use crate::outcome::{CudaError, Phase};

/// A finding as a sentence: `tensor.gather fires a device-side assert in gather (indexing.cu)`.
pub fn sentence(signature: &Signature) -> String {
    format!("{} {}", signature.op, failure(signature))
}

/// A finding as the title of an issue, with candle's `name` of the call. It is short enough for a list of issues: of what a wrong value
/// needs, the last matters least.
pub fn title(signature: &Signature, name: &str) -> String {
    const LONGEST: usize = 120;
    let with = |signature: &Signature| format!("`{name}` {}", failure(signature));
    let mut title = with(signature);
    if let Site::Needs(needs) = &signature.site {
        let mut left = needs.iter().count();
        while title.len() > LONGEST && left > 0 {
            left -= 1;
            title = with(&Signature { site: Site::Needs(needs.first(left)), ..signature.clone() });
        }
    }
    title
}

/// What happens and where, whatever the op: `fires a device-side assert in gather (indexing.cu)`.
pub fn failure(signature: &Signature) -> String {
    let what = what(signature);
    match &signature.site {
        Site::Call
        | Site::Phase(Phase::Inputs | Phase::Forward)
        | Site::Sibling(..)
        | Site::View
        | Site::Contiguous => what,
        Site::Phase(Phase::Backward) => format!("{what} in the backward pass"),
        Site::At(spot, Phase::Backward) => format!("{what} in {} in the backward pass", short(spot)),
        Site::At(spot, _) => format!("{what} in {}", short(spot)),
        Site::Signal(name, _) => format!("{what} ({name})"),
        Site::Rule(rule) => format!("{what}: {rule}"),
        Site::LeftToTheDevice(rule) => format!("leaves it to the device to reject an invalid call: {rule}"),
        // It says nothing, or the same once more.
        Site::Variant(variant) if variant == "Msg" || signature.kind == Kind::NotSupported => what,
        Site::Variant(variant) => format!("{what} ({variant})"),
        Site::Needs(needs) => what + &phrase(needs),
        Site::SecondDerivative { of, by } => format!("{what}, of {of} by {by}"),
        Site::Empty => format!("{what} on empty tensors"),
        Site::OpOfOneDevice => format!("{what}, because it lacks the op"),
        Site::DTypeOfOneDevice => format!("{what}, because it lacks the dtype"),
        Site::Older(text) => format!("{what}: {text}"),
    }
}

/// What the op does wrong, to follow its name. The compiler asks for the words of a new kind, and of a new oracle.
pub fn what(signature: &Signature) -> String {
    let Signature { oracle, kind, site, .. } = signature;
    let words = match kind {
        Kind::Fault(error) => return faults(error),
        Kind::Report(report) => reported(*report),
        Kind::Hang if *oracle == OracleName::Fault => "never finishes on the device",
        Kind::Hang => "does not return within the deadline",
        Kind::Panic => "panics",
        Kind::Died => "kills its process",
        Kind::StackOverflow => "overflows the stack",
        Kind::OutOfMemory => "needs more memory than its process may use",
        Kind::NotRefused => "accepts an invalid call",
        Kind::RefusedValid if *site == Site::View => "rejects a valid call with a view",
        Kind::RefusedValid if *oracle == OracleName::Training => "rejects a later step of training",
        Kind::RefusedValid => "rejects a valid call",
        Kind::MissingGradient if *oracle == OracleName::Training => "loses a gradient in training",
        Kind::MissingGradient => "returns no gradient, without an error",
        Kind::RefusedGradient => "rejects a valid backward pass",
        Kind::NotSupported => "has no backward pass",
        Kind::Limitation if *site == Site::Contiguous => "rejects contiguous tensors but accepts a view",
        Kind::Limitation => "rejects a view but accepts contiguous tensors",
        Kind::Differs | Kind::OnlyOneAccepts if let Site::Sibling(name, does) = site => return beside(name, *does),
        Kind::OnlyOneAccepts => "rejects a call on one device that another accepts",
        Kind::Differs if *oracle == OracleName::Samples => {
            "returns a different result for a sample in a batch than alone"
        }
        Kind::Differs if *oracle == OracleName::Training => "comes to a different result when trained again",
        Kind::Differs => "returns a different result when run again",
        Kind::WrongValue => wrong_value(*oracle),
        Kind::WrongShape if *oracle == OracleName::Agreement => "returns different shapes on different devices",
        Kind::WrongShape => "returns a wrong shape",
        Kind::WrongDtype if *oracle == OracleName::Agreement => "returns different dtypes on different devices",
        Kind::WrongDtype => "returns a wrong dtype",
        Kind::Tracked => "returns a tensor that keeps its graph alive",
        Kind::Undocumented => "does something that its documentation does not mention",
        Kind::GrowingMemory => "keeps memory with every call",
        Kind::TooMuchMemory => "needs many times the memory of its inputs and outputs",
        Kind::TooManyCopies => "copies many times the bytes of its inputs and outputs",
        Kind::Serial => "leaves most of the GPU idle",
        Kind::TooMuchWork => "executes thousands of instructions for an element",
    };
    words.to_string()
}

/// A wrong value, by the oracle that found it.
fn wrong_value(oracle: OracleName) -> &'static str {
    match oracle {
        OracleName::Gradient => "computes a wrong gradient",
        OracleName::SecondDerivative => "computes a wrong second derivative",
        OracleName::Layout => "returns different values for a view",
        OracleName::Agreement => "returns different values on different devices",
        OracleName::Invariant => "returns an impossible value",
        OracleName::Training => "comes to a wrong loss in training",
        OracleName::Reference
        | OracleName::Contract
        | OracleName::Fault
        | OracleName::Checker
        | OracleName::Siblings
        | OracleName::Samples
        | OracleName::Determinism
        | OracleName::Documentation
        | OracleName::Cost => "returns a wrong value",
    }
}

/// How the op differs from its sibling `name`.
fn beside(name: &str, does: SiblingDoes) -> String {
    match does {
        SiblingDoes::Accepts => format!("rejects a call that {name} accepts"),
        SiblingDoes::Refuses => format!("accepts a call that {name} rejects"),
        SiblingDoes::TakesTheDType => format!("rejects a dtype that {name} accepts"),
        SiblingDoes::ReturnsOtherwise => format!("returns a different result from {name}"),
    }
}

/// How a CUDA error ends the call.
pub(super) fn faults(error: &CudaError) -> String {
    let words = match error {
        CudaError::Assert => "fires a device-side assert",
        CudaError::IllegalAddress => "accesses an illegal address",
        CudaError::MisalignedAddress => "accesses a misaligned address",
        CudaError::Hang => "never finishes on the device",
        CudaError::LaunchFailed | CudaError::Other(_) => return format!("breaks the CUDA context ({error})"),
    };
    words.to_string()
}

/// What a checker of the device reports.
fn reported(report: Report) -> &'static str {
    match report {
        Report::Assert => "fires a device-side assert",
        Report::OutOfBounds | Report::OutOfWindow => "accesses memory out of bounds",
        Report::UseAfterFree => "accesses freed memory",
        Report::UseBeforeAllocation => "accesses memory before it is allocated",
        Report::InvalidFree => "frees memory that is not allocated",
        Report::Misaligned => "accesses a misaligned address",
        Report::OutOfView => "accesses its buffer outside the view",
        Report::Trap => "executes a trap in a kernel",
        Report::Deadlock => "deadlocks",
        Report::Barrier => "has a barrier that not all threads reach",
        Report::Loop | Report::Budget => "never finishes on the device",
        Report::Uninitialized => "reads uninitialized memory",
        Report::Race => "has a data race between threads",
        Report::StreamRace => "has a data race between streams",
        Report::Leak => "leaks device memory",
        Report::Arithmetic => "has suspicious arithmetic",
        Report::NotFinite => "makes infinities or NaN of finite numbers",
        Report::Sampled => "is too large to be simulated as a whole",
        Report::Unsupported => "needs something that the simulated device lacks",
        Report::Injected => "hits an injected failure",
    }
}

/// What a wrong value needs, to follow what is wrong.
fn phrase(needs: &Needs) -> String {
    let of = needs.gradient_of.iter().map(|input| format!(" of {input}"));
    let each = |need: Need| {
        let words = match need {
            Need::View => "for a view",
            Need::ReducedPrecision => "in reduced precision",
            Need::Double => "in f64",
            Need::Integers => "for integers",
            Need::NonFinite => "for non-finite inputs",
            Need::Many => "for more than 1024 elements",
            Need::Rows => "for several rows",
            Need::Ties => "among equal elements",
            Need::Rounding => "by a rounding error",
            Need::NotFinite => "with NaN or infinity instead of a finite number",
            Need::Finite => "instead of NaN or infinity",
            Need::Gpu => "only on the GPU",
            Need::Cpu => "only on the CPU",
        };
        words.to_string()
    };
    let all: Vec<String> = needs.iter().map(each).collect();
    let separator = if all.is_empty() { "" } else { " " };
    of.collect::<String>() + separator + &all.join(", ")
}

/// A place without the folders of its file: `gather (indexing.cu)`.
fn short(spot: &Spot) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    match spot {
        Spot::Function { name, file } => format!("{name} ({})", last(file)),
        Spot::File(file) => last(file),
        Spot::Name(name) => name.clone(),
    }
}

/// The name of this program, as a link to it.
pub(super) const SNUFFER: &str = concat!("[snuffer](", env!("CARGO_PKG_REPOSITORY"), ")");

/// A device in words: `CUDA, simulated`.
pub(super) fn device(device: Device) -> String {
    match device {
        Device::Cpu => "CPU".to_string(),
        Device::Cuda(ordinal) => format!("CUDA {ordinal}"),
        Device::Sim(_) => "CUDA, simulated".to_string(),
    }
}
