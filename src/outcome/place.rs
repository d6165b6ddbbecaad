//! A place in code, as panics, faults and reports of devices name it.

use std::convert::Infallible;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// A place in code: a line, or a kernel or function of a CUDA library of which no line is known. Its text is
/// `candle-core/src/conv.rs:43`, with the function behind it if that is known already: `candle-core/src/conv.rs:43 in conv1d`.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Place {
    /// Nothing names it.
    #[default]
    Unknown,
    /// A line of a source file.
    Line {
        /// The file, from the folder of its crate on.
        file: String,
        /// The line.
        line: u32,
        /// The function around the line.
        function: Function,
    },
    /// A kernel, or a function of a CUDA library.
    Name(String),
}

/// The function around a line.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Function {
    /// The one that the release under test has there.
    #[default]
    AsReleased,
    /// This one, in another candle.
    Named(String),
    /// The line is outside of all functions, in another candle.
    Outside,
}

/// What stands between a line and the name of its function.
const IN: &str = " in ";

/// What stands for the name outside of all functions.
const NO_FUNCTION: &str = "no function";

impl Place {
    /// A line of a file.
    pub fn line(file: impl Into<String>, line: u32) -> Self {
        Self::Line { file: file.into(), line, function: Function::AsReleased }
    }

    /// Whether nothing names it.
    pub fn is_unknown(&self) -> bool {
        *self == Self::Unknown
    }

    /// The file and line, if they are known.
    pub fn file_and_line(&self) -> Option<(&str, u32)> {
        match self {
            Self::Line { file, line, .. } => Some((file, *line)),
            Self::Unknown | Self::Name(_) => None,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unknown => Ok(()),
            Self::Name(name) => f.write_str(name),
            Self::Line { file, line, function } => {
                write!(f, "{file}:{line}")?;
                match function {
                    Function::AsReleased => Ok(()),
                    Function::Named(name) => write!(f, "{IN}{name}"),
                    Function::Outside => write!(f, "{IN}{NO_FUNCTION}"),
                }
            }
        }
    }
}

impl From<&str> for Place {
    fn from(text: &str) -> Self {
        let (at, function) = match text.split_once(IN) {
            None => (text, Function::AsReleased),
            Some((at, NO_FUNCTION)) => (at, Function::Outside),
            Some((at, name)) => (at, Function::Named(name.to_string())),
        };
        let line = at.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse().ok()?)));
        match line {
            Some((file, line)) => Self::Line { file: file.to_string(), line, function },
            None if text.is_empty() => Self::Unknown,
            None => Self::Name(text.to_string()),
        }
    }
}

impl From<String> for Place {
    fn from(text: String) -> Self {
        Self::from(text.as_str())
    }
}

impl From<Place> for String {
    fn from(place: Place) -> Self {
        place.to_string()
    }
}

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Self, Infallible> {
        Ok(Self::from(text))
    }
}
