//! How good the detectors of the simulated device are: the errors that they find, miss and invent in labelled programs.

pub mod label;
mod measure;
mod measured;
mod text;

pub use measure::Measurement;
pub use measured::{Judged, Measured, Precision, Row, Wrong};
pub use text::markdown;
