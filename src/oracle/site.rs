//! Where a promise broke, as part of a signature: structurally, so that the next release of candle, another machine and another case
//! show the same site. Never a line, a value, a seed, a shape, a message or the name of a device.

use std::cmp::Ordering;
use std::fmt;

use serde::{Serialize, Serializer};

use super::functions::Functions;
use super::needs::Needs;
use super::{Kind, OracleName};
use crate::ops::Rule;
use crate::outcome::{Function, Phase, Place};

/// The site of a violation. Its text is kept in stores and regressions, and [`Site::parse`] is its inverse.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub enum Site {
    /// The whole call.
    #[default]
    Call,
    /// A phase of the call.
    Phase(Phase),
    /// A place in code.
    At(Spot, Phase),
    /// The signal that ended the process.
    Signal(String, Phase),
    /// A rule that the call or its result breaks.
    Rule(&'static Rule),
    /// A rule that candle does not check, so that a CUDA library has to refuse the call.
    LeftToTheDevice(&'static Rule),
    /// The variant of candle's error.
    Variant(String),
    /// What a wrong value needs.
    Needs(Needs),
    /// A second derivative: of the gradient of one input by another.
    SecondDerivative {
        /// The one whose gradient it is.
        of: String,
        /// The other.
        by: String,
    },
    /// Another call of candle for the same thing, and how it differs.
    Sibling(String, SiblingDoes),
    /// Inputs with a view, where contiguous ones are accepted.
    View,
    /// Contiguous inputs, where views are accepted.
    Contiguous,
    /// Empty inputs.
    Empty,
    /// Only one of the devices has the op.
    OpOfOneDevice,
    /// Only one of the devices supports the dtype.
    DTypeOfOneDevice,
    /// A site that this version does not give: an older one kept it.
    Older(String),
}

/// What is left of a place in a site: its function, its file, or its name.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Spot {
    /// A function of a file.
    Function {
        /// Its name, with its type's.
        name: String,
        /// The file, from the folder of its crate on.
        file: String,
    },
    /// A file, outside of all functions that are known.
    File(String),
    /// A kernel, or a function of a CUDA library.
    Name(String),
}

/// How a sibling differs from the call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SiblingDoes {
    /// It accepts what the call refuses.
    Accepts,
    /// It refuses what the call accepts.
    Refuses,
    /// It accepts the dtype, which the call refuses.
    TakesTheDType,
    /// It returns something else.
    ReturnsOtherwise,
}

const VIEW: &str = "in a view";
const CONTIGUOUS: &str = "in contiguous tensors";
const EMPTY: &str = "of nothing";
const OP_OF_ONE_DEVICE: &str = "an op of one device";
const DTYPE_OF_ONE_DEVICE: &str = "a dtype of one device";
const LEFT_TO_THE_DEVICE: &str = ", left to the device";
const BY: &str = " by ";

impl Site {
    /// The site of a failure at `place`.
    pub fn at(place: &Place, phase: Phase) -> Self {
        Spot::of(place).map_or(Self::Phase(phase), |spot| Self::At(spot, phase))
    }

    /// The site of the function, file or kernel, if the site is one.
    pub fn spot(&self) -> Option<&Spot> {
        match self {
            Self::At(spot, _) => Some(spot),
            _ => None,
        }
    }

    /// The site with this text in signatures of `oracle` and `kind`: the same identifier is an error's variant in one and a kernel in
    /// another. The text of the result is always `text`.
    pub fn parse(oracle: OracleName, kind: &Kind, text: &str) -> Self {
        let site = Self::known(oracle, kind, text).filter(|site| site.to_string() == text);
        site.unwrap_or_else(|| if text.is_empty() { Self::Call } else { Self::Older(text.to_string()) })
    }

    /// The site as a store reads it back. A fresh violation equals a kept one then, whatever a device calls its kernels.
    #[must_use]
    pub(super) fn into_kept(self, oracle: OracleName, kind: &Kind) -> Self {
        Self::parse(oracle, kind, &self.to_string())
    }

    fn known(oracle: OracleName, kind: &Kind, text: &str) -> Option<Self> {
        let variant = || (!text.is_empty()).then(|| Self::Variant(text.to_string()));
        match (oracle, kind) {
            (OracleName::Reference | OracleName::Gradient | OracleName::Training, Kind::WrongValue) => {
                Some(Self::Needs(Needs::parse(text)))
            }
            (OracleName::SecondDerivative, Kind::WrongValue) => {
                let (of, by) = text.split_once(BY)?;
                Some(Self::SecondDerivative { of: of.to_string(), by: by.to_string() })
            }
            (OracleName::Contract, Kind::NotRefused) if let Some(rule) = text.strip_suffix(LEFT_TO_THE_DEVICE) => {
                Rule::find(rule).map(Self::LeftToTheDevice)
            }
            (OracleName::Contract, Kind::NotRefused) | (OracleName::Invariant | OracleName::Documentation, _) => {
                Rule::find(text).map(Self::Rule)
            }
            (OracleName::Contract, Kind::RefusedValid) if text == VIEW => Some(Self::View),
            (OracleName::Contract | OracleName::Agreement, Kind::RefusedValid | Kind::OnlyOneAccepts)
                if text == EMPTY =>
            {
                Some(Self::Empty)
            }
            (OracleName::Agreement, Kind::OnlyOneAccepts) if text == OP_OF_ONE_DEVICE => Some(Self::OpOfOneDevice),
            (OracleName::Agreement, Kind::OnlyOneAccepts) if text == DTYPE_OF_ONE_DEVICE => {
                Some(Self::DTypeOfOneDevice)
            }
            (OracleName::Contract | OracleName::Training, Kind::RefusedValid)
            | (OracleName::Agreement, Kind::OnlyOneAccepts)
            | (OracleName::Gradient, Kind::RefusedGradient | Kind::NotSupported) => variant(),
            (OracleName::Contract | OracleName::Layout, Kind::Limitation) => match text {
                VIEW => Some(Self::View),
                CONTIGUOUS => Some(Self::Contiguous),
                _ => None,
            },
            (OracleName::Siblings, Kind::OnlyOneAccepts) => {
                let does = [SiblingDoes::Accepts, SiblingDoes::Refuses, SiblingDoes::TakesTheDType];
                does.into_iter()
                    .find_map(|does| Some(Self::Sibling(text.strip_suffix(does.suffix())?.to_string(), does)))
            }
            (OracleName::Siblings, Kind::Differs) => {
                Some(Self::Sibling(text.to_string(), SiblingDoes::ReturnsOtherwise))
            }
            (OracleName::Contract, Kind::Died) => {
                let (name, phase) = with_phase(text);
                Some(Self::Signal(name.to_string(), phase))
            }
            (OracleName::Contract, Kind::Panic) | (OracleName::Fault | OracleName::Checker, _)
                if !text.is_empty() && Phase::ALL.iter().all(|phase| phase.name() != text) =>
            {
                let (spot, phase) = with_phase(text);
                Some(Self::At(Spot::parse(spot), phase))
            }
            (OracleName::Contract | OracleName::Fault | OracleName::Cost, _) => {
                let named = Phase::ALL.into_iter().find(|phase| phase.name() == text).map(Self::Phase);
                let (spot, phase) = with_phase(text);
                let function = || Some(Spot::parse(spot)).filter(|spot| matches!(spot, Spot::Function { .. }));
                named.or_else(|| Some(Self::At(function()?, phase)))
            }
            _ => None,
        }
    }
}

/// A text without the phase at its end, and that phase.
fn with_phase(text: &str) -> (&str, Phase) {
    let named = |phase: Phase| Some((text.strip_suffix(phase.name())?.strip_suffix(" in ")?, phase));
    [Phase::Inputs, Phase::Backward].into_iter().find_map(named).unwrap_or((text, Phase::Forward))
}

impl Spot {
    /// What a site keeps of a place; `None` if nothing names it.
    pub fn of(place: &Place) -> Option<Self> {
        match place {
            Place::Unknown => None,
            Place::Name(name) => Some(Self::Name(name.clone())),
            Place::Line { file, line, function } => {
                let name = match function {
                    Function::AsReleased => Functions::tested(file, *line),
                    Function::Named(name) => Some(name.as_str()),
                    Function::Outside => None,
                };
                Some(match name {
                    Some(name) => Self::Function { name: name.to_string(), file: file.clone() },
                    None => Self::parse(file),
                })
            }
        }
    }

    fn parse(text: &str) -> Self {
        let function = text.strip_suffix(')').and_then(|rest| rest.rsplit_once(" ("));
        match function {
            Some((name, file)) if file.contains('/') => {
                Self::Function { name: name.to_string(), file: file.to_string() }
            }
            _ if is_file(text) => Self::File(text.to_string()),
            _ => Self::Name(text.to_string()),
        }
    }

    /// The function, or else the file or the name.
    pub fn name(&self) -> &str {
        match self {
            Self::Function { name: text, .. } | Self::File(text) | Self::Name(text) => text,
        }
    }

    /// Whether it is a function that fails itself: one of a header is inlined in every kernel.
    pub fn is_to_blame(&self) -> bool {
        let is_source = |file: &str| [".rs", ".cu"].iter().any(|end| file.ends_with(end));
        matches!(self, Self::Function { file, .. } if is_source(file))
    }
}

/// Whether a text names a file of sources. Names of kernels have no extension.
fn is_file(text: &str) -> bool {
    [".rs", ".cu", ".cuh", ".h", ".hpp"].iter().any(|extension| text.ends_with(extension))
}

impl SiblingDoes {
    /// What follows the sibling's name in the text.
    fn suffix(self) -> &'static str {
        match self {
            Self::Accepts => " accepts",
            Self::Refuses => " refuses",
            Self::TakesTheDType => " takes the dtype",
            Self::ReturnsOtherwise => "",
        }
    }
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let phased = |f: &mut fmt::Formatter<'_>, at: &dyn fmt::Display, phase: Phase| match phase {
            Phase::Forward => write!(f, "{at}"),
            phase => write!(f, "{at} in {}", phase.name()),
        };
        match self {
            Self::Call => Ok(()),
            Self::Phase(phase) => f.write_str(phase.name()),
            Self::At(spot, phase) => phased(f, spot, *phase),
            Self::Signal(name, phase) => phased(f, name, *phase),
            Self::Rule(rule) => f.write_str(rule.id),
            Self::LeftToTheDevice(rule) => write!(f, "{}{LEFT_TO_THE_DEVICE}", rule.id),
            Self::Variant(text) | Self::Older(text) => f.write_str(text),
            Self::Needs(needs) => write!(f, "{needs}"),
            Self::SecondDerivative { of, by } => write!(f, "{of}{BY}{by}"),
            Self::Sibling(name, does) => write!(f, "{name}{}", does.suffix()),
            Self::View => f.write_str(VIEW),
            Self::Contiguous => f.write_str(CONTIGUOUS),
            Self::Empty => f.write_str(EMPTY),
            Self::OpOfOneDevice => f.write_str(OP_OF_ONE_DEVICE),
            Self::DTypeOfOneDevice => f.write_str(DTYPE_OF_ONE_DEVICE),
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Function { name, file } => write!(f, "{name} ({file})"),
            Self::File(text) | Self::Name(text) => f.write_str(text),
        }
    }
}

impl Serialize for Site {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

// Ordered by text, for people who read lists.
impl Ord for Site {
    fn cmp(&self, other: &Self) -> Ordering {
        self.to_string().cmp(&other.to_string())
    }
}

impl PartialOrd for Site {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
