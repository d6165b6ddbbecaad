//! The kinds of what a device reports, each with all that is said of a kind.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::Severity;

/// All that is said of a kind.
struct About {
    /// The kind as in a signature.
    name: &'static str,
    /// How grave it is, unless who finds it knows better.
    severity: Severity,
    /// How the first line begins, if that alone tells the kind. The words are those of `compute-sanitizer`, if it has the check.
    title: Option<&'static str>,
    /// How an address is wrong, after `Access to 0x…`, if the kind concerns one.
    address: Option<&'static str>,
    /// What it means for the reader.
    help: &'static str,
}

/// Declares the kinds.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident { $($about:tt)* })*) => {
        /// The kind of a fault or report.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$(Self::$kind),*];

            fn about(self) -> &'static About {
                match self {
                    $(Self::$kind => &About { $($about)* },)*
                }
            }
        }
    };
}

kinds! {
    /// A device-side assertion failed.
    Assert {
        name: "assert",
        severity: Severity::Fault,
        title: None,
        address: None,
        help: "this means the kernel rejected its input: on hardware, too, every later call of the process fails",
    }
    /// An access outside every live allocation.
    OutOfBounds {
        name: "out of bounds",
        severity: Severity::Fault,
        title: None,
        address: Some("is out of bounds"),
        help: "this means the kernel accesses memory outside its tensor: hardware may return or overwrite what is there",
    }
    /// An access to an allocation that was freed.
    UseAfterFree {
        name: "use after free",
        severity: Severity::Fault,
        title: None,
        address: Some("is in memory that was freed"),
        help: "this means the memory was freed too early: on hardware it may already hold another tensor",
    }
    /// An access to an allocation before it is made, in the order of the stream. Only `compute-sanitizer` reports it.
    UseBeforeAllocation {
        name: "use before allocation",
        severity: Severity::Fault,
        title: None,
        address: Some("is in memory that is not allocated yet"),
        help: "this means nothing makes the kernel wait for the allocation: order their streams with an event",
    }
    /// A free of an address where no live allocation begins.
    InvalidFree {
        name: "invalid free",
        severity: Severity::Fault,
        title: None,
        address: Some("is not where a live allocation begins"),
        help: "this means the address was never allocated, or is already free: free each allocation's address once",
    }
    /// An address that is not a multiple of the access's size.
    Misaligned {
        name: "misaligned",
        severity: Severity::Fault,
        title: None,
        address: Some("is misaligned"),
        help: "this means the address is not a multiple of the size of the access: hardware stops the kernel",
    }
    /// An access outside the arrays of shared or local memory, or the parameters.
    OutOfWindow {
        name: "out of window",
        severity: Severity::Fault,
        title: None,
        address: Some("is out of bounds"),
        help: "this means the kernel leaves one of its own arrays, its parameters or its stack: hardware may silently use a neighbour",
    }
    /// An access to bytes of a buffer outside the tensor's view.
    OutOfView {
        name: "out of view",
        severity: Severity::Report,
        title: Some("Outside the view"),
        address: Some("is outside the view"),
        help: "this means the kernel accesses elements of the tensor's buffer outside its view: hardware never notices",
    }
    /// The kernel executed `trap`.
    Trap {
        name: "trap",
        severity: Severity::Fault,
        title: None,
        address: None,
        help: "this means the kernel stopped on purpose, often in code that its author thought unreachable",
    }
    /// No thread of a block can go on.
    Deadlock {
        name: "deadlock",
        severity: Severity::Fault,
        title: None,
        address: None,
        help: "this means the threads wait for each other: hardware hangs",
    }
    /// Threads of a warp that wait at different barriers, or lanes that are not in the member mask they pass.
    Barrier {
        name: "barrier",
        severity: Severity::Report,
        title: Some("Barrier error"),
        address: None,
        help: "this means not all threads reach a common point: hardware may continue with wrong values, or hang",
    }
    /// A loop that cannot end: its state repeats.
    Loop {
        name: "infinite loop",
        severity: Severity::Fault,
        title: None,
        address: None,
        help: "this means the kernel never ends: hardware hangs, or a watchdog stops it",
    }
    /// The launch used up its budget of instructions.
    Budget {
        name: "budget",
        severity: Severity::Fault,
        title: None,
        address: None,
        help: "this means the launch is endless or too much work for a simulation: raise `SNUFFER_SIM_BUDGET` to find out which",
    }
    /// A value that was never written decides something.
    Uninitialized {
        name: "uninitialized read",
        severity: Severity::Report,
        title: Some("Uninitialized"),
        address: Some("is of memory that was never written"),
        help: "this means the result depends on old contents of the memory: on hardware it may vary between runs",
    }
    /// Two unordered accesses, one of them a write.
    Race {
        name: "race",
        severity: Severity::Report,
        title: Some("Race reported"),
        address: Some("is not ordered"),
        help: "this means the result depends on which access comes first: on hardware it may vary between runs",
    }
    /// Unordered work of two streams on the same memory.
    StreamRace {
        name: "stream race",
        severity: Severity::Report,
        title: Some("Stream order"),
        address: Some("is not ordered"),
        help: "this means hardware may run the two in any order: order them with an event, or wait for the first",
    }
    /// Memory that the program never freed.
    Leak {
        name: "leak",
        severity: Severity::Report,
        title: None,
        address: None,
        help: "this means the program ended without freeing the memory, which matters only in a longer program",
    }
    /// Arithmetic whose result is probably not intended.
    Arithmetic {
        name: "arithmetic",
        severity: Severity::Fact,
        title: None,
        address: None,
        help: "this means the result is rarely intended; it may be harmless if the kernel does not use it",
    }
    /// An infinity or NaN that is made of finite numbers.
    NotFinite {
        name: "not finite",
        severity: Severity::Fact,
        title: None,
        address: None,
        help: "this means a number became too large for its type, or has no value; what is computed from it is rarely right",
    }
    /// Blocks of a launch were left out.
    Sampled {
        name: "sampled",
        severity: Severity::Fact,
        title: None,
        address: None,
        help: "this means the launch is too large to simulate as a whole: a mistake in the other blocks goes unseen",
    }
    /// The simulator cannot execute this; the kernel may be right.
    Unsupported {
        name: "unsupported",
        severity: Severity::Unsupported,
        title: None,
        address: None,
        help: "this means the simulated device lacks something: your program may be right, and may run on hardware",
    }
    /// A call that was asked to fail.
    Injected {
        name: "injected",
        severity: Severity::Injected,
        title: None,
        address: None,
        help: "this means `SNUFFER_SIM_FAIL` made the call fail: your program should report it, and not ignore it",
    }
}

impl Kind {
    /// The kind in few words, as in a signature.
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// How grave it is, unless who finds it knows better: a barrier error may also end a kernel.
    pub fn severity(self) -> Severity {
        self.about().severity
    }

    /// What it means for the reader: `this means …`.
    pub fn help(self) -> &'static str {
        self.about().help
    }

    /// How an address is wrong, after `Access to 0x…`, if the kind concerns one.
    pub(crate) fn address(self) -> Option<&'static str> {
        self.about().address
    }

    /// The kind of a printed report, if its first line alone tells that. `racecheck` begins it with how bad it is.
    pub fn of_title(line: &str) -> Option<Self> {
        let said = line.strip_prefix("Error: ").unwrap_or(line);
        let begins = |kind: &Self| kind.about().title.is_some_and(|title| said.starts_with(title));
        Self::ALL.iter().copied().find(begins)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A text that names no kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownKind(String);

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known: Vec<&str> = Kind::ALL.iter().map(|kind| kind.name()).collect();
        write!(f, "`{}` is not a kind of report; the kinds are {}", self.0, known.join(", "))
    }
}

impl std::error::Error for UnknownKind {}

impl FromStr for Kind {
    type Err = UnknownKind;

    fn from_str(name: &str) -> Result<Self, UnknownKind> {
        let found = Self::ALL.iter().find(|kind| kind.name() == name);
        found.copied().ok_or_else(|| UnknownKind(name.to_string()))
    }
}

impl TryFrom<String> for Kind {
    type Error = UnknownKind;

    fn try_from(name: String) -> Result<Self, UnknownKind> {
        name.parse()
    }
}

impl From<Kind> for String {
    fn from(kind: Kind) -> Self {
        kind.name().to_string()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::Kind;

    #[test]
    fn a_name_is_the_exact_inverse_of_its_kind() {
        for &kind in Kind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        let refused = "Race".parse::<Kind>().expect_err("another spelling").to_string();
        assert!(refused.starts_with("`Race` is not a kind of report; the kinds are assert, "), "{refused}");
    }

    #[test]
    fn every_kind_says_in_one_line_what_it_means() {
        let mut seen = BTreeSet::new();
        for &kind in Kind::ALL {
            let help = kind.help();
            assert!(help.starts_with("this means ") && !help.ends_with('.') && !help.contains('\n'), "{kind}: {help}");
            assert!(seen.insert(help), "{kind} says what another kind does");
        }
    }

    #[test]
    fn a_title_tells_one_kind() {
        let titles = || Kind::ALL.iter().filter_map(|kind| Some((kind, kind.about().title?)));
        for (kind, title) in titles() {
            assert_eq!(Kind::of_title(&format!("{title} …")), Some(*kind));
            assert_eq!(titles().filter(|(_, other)| title.starts_with(other)).count(), 1, "{title}");
        }
        assert_eq!(Kind::of_title("Error: Race reported between Write access"), Some(Kind::Race));
        assert_eq!(Kind::of_title("Invalid __global__ read of size 4 bytes"), None);
    }
}
