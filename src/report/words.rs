//! Findings in plain words: what an op does wrong, and where.

use crate::oracle::{Kind, OracleName, Signature};

/// A finding as a sentence: `tensor.gather fires a device-side assert in gather (indexing.cu)`.
pub fn sentence(signature: &Signature) -> String {
    format!("{} {}", signature.op, failure(signature))
}

/// What happens and where, whatever the op: `fires a device-side assert in gather (indexing.cu)`.
pub fn failure(signature: &Signature) -> String {
    let (what, place) = (what(signature), short(&signature.site));
    let is_file = [".rs", ".cu", ".hpp"].iter().any(|extension| place.contains(extension));
    let is_phrase = ["in ", "of ", "by ", "on ", "that "].iter().any(|word| place.starts_with(word));
    match (signature.oracle, &signature.kind) {
        // The variant of an error without one of its own says nothing.
        _ if ["", "Msg"].contains(&place.as_str()) => what,
        (OracleName::Siblings, _) | (_, Kind::NotSupported | Kind::Limitation) => what,
        _ if is_file => format!("{what} in {place}"),
        _ if is_phrase => format!("{what} {place}"),
        (OracleName::Gradient, Kind::WrongValue) => format!("computes a wrong {place}"),
        (_, Kind::NotRefused) => format!("does not refuse: {place}"),
        _ => format!("{what}: {place}"),
    }
}

/// What the op does wrong, to follow its name.
pub fn what(signature: &Signature) -> String {
    let words = match (signature.oracle, &signature.kind) {
        (OracleName::Fault, Kind::Assert) => "fires a device-side assert",
        (OracleName::Fault, Kind::Hang) => "never ends on the device",
        (OracleName::Fault | OracleName::Checker, kind) => return diagnosed(kind),
        (_, Kind::Panic) => "panics",
        (_, Kind::Died) => "kills its process",
        (_, Kind::Hang) => "does not return within the deadline",
        (_, Kind::StackOverflow) => "overflows the stack",
        (_, Kind::OutOfMemory) => "needs more memory than its process may use",
        (_, Kind::NotRefused) => "does not refuse an invalid call",
        (_, Kind::RefusedValid) => "refuses a valid call",
        (OracleName::Gradient, Kind::MissingGradient) => "leaves out a gradient",
        (OracleName::Gradient, Kind::RefusedGradient) => "refuses a valid backward pass",
        (OracleName::Gradient, Kind::NotSupported) => "has no backward pass",
        (OracleName::Gradient, Kind::WrongValue) => "computes a wrong gradient",
        (OracleName::SecondDerivative, Kind::WrongValue) => "computes a wrong second derivative",
        (OracleName::Layout, Kind::Limitation) => "accepts only one of two layouts",
        (_, Kind::Limitation) => "refuses what it accepts in contiguous tensors",
        (OracleName::Layout, Kind::WrongValue) => "returns other values for a view",
        (OracleName::Agreement, Kind::WrongValue) => "returns different values on different devices",
        (OracleName::Agreement, Kind::OnlyOneAccepts) => "refuses a call that another device accepts",
        (OracleName::Agreement, Kind::WrongShape | Kind::WrongDtype) => "returns other shapes on different devices",
        (OracleName::Siblings, _) => return beside_a_sibling(&signature.site),
        (OracleName::Invariant, _) => "returns an impossible value",
        (OracleName::Determinism, _) => "returns something else when run again",
        (_, Kind::WrongValue) => "returns a wrong value",
        (_, Kind::WrongShape) => "returns a wrong shape",
        (_, Kind::WrongDtype) => "returns a wrong dtype",
        (_, Kind::Tracked) => "returns a tensor that keeps its graph alive",
        (_, Kind::Undocumented) => "does what its documentation does not say",
        (oracle, kind) => return format!("breaks a promise ({oracle}: {kind})"),
    };
    words.to_string()
}

/// What the op does otherwise than its sibling, which the site names.
fn beside_a_sibling(site: &str) -> String {
    match [" accepts", " refuses", " takes the dtype"].map(|does| site.strip_suffix(does)) {
        [Some(name), ..] => format!("refuses what {name} accepts"),
        [_, Some(name), _] => format!("accepts what {name} refuses"),
        [.., Some(name)] => format!("refuses a dtype that {name} takes"),
        _ => format!("returns something else than {site}"),
    }
}

/// What the device diagnosed.
fn diagnosed(kind: &Kind) -> String {
    let words = match kind.name() {
        "illegal address" => "uses an illegal address",
        "out of bounds" | "out of window" => "uses memory out of bounds",
        "use after free" => "uses memory that was freed",
        "misaligned address" | "misaligned" => "uses a misaligned address",
        "uninitialized read" => "reads memory that was never written",
        "race" => "has threads that race for memory",
        "stream race" => "has streams that race for memory",
        "barrier" => "has a barrier that not all threads reach",
        "out of view" => "uses a buffer outside of a view",
        other => return format!("breaks the CUDA context ({other})"),
    };
    words.to_string()
}

/// A site without the folders of its file: `gather (indexing.cu)`.
fn short(site: &str) -> String {
    let word = |word: &str| match word.rsplit_once('/') {
        // A rule may name a quotient, which has no extension.
        Some((folder, file)) if file.contains('.') => {
            format!("{}{file}", if folder.starts_with('(') { "(" } else { "" })
        }
        _ => word.to_string(),
    };
    site.split(' ').map(word).collect::<Vec<_>>().join(" ")
}
