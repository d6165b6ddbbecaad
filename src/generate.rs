//! Draws cases: valid ones by an op's generator, adversarial ones by labelled violations, neighbours by edits.

mod draw;
mod edits;
mod limits;
mod sample;
mod sharing;
mod violations;

pub use draw::Draw;
pub use edits::{EDITS, spliced, with_sizes};
pub use limits::{integers, magnitudes};
pub use sample::{Drawn, Generate, Mode, drawn, random, sample};
pub use violations::{Mutation, VIOLATIONS};
