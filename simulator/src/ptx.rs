//! The front end: finds what a PTX module declares, and parses the body of one function on demand.

mod declaration;
mod expression;
mod index;
mod lexer;
mod operand;
mod parser;
mod scan;
mod text;

use std::collections::BTreeSet;

pub use declaration::{Parameter, Registers};
pub use index::{Function, Module, Pointer, Variable, index};
pub use operand::Operand;
pub use parser::{Source, Statement, body};
pub use text::Text;

/// Why parsing failed, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line in the module, from 1.
    pub line: u32,
    /// What was expected, or found.
    pub message: String,
}

impl std::fmt::Display for SyntaxError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "line {}: {}", self.line, self.message)
    }
}

/// The names of the kernels that a module has; none if it is no PTX.
pub fn kernels(text: &str) -> BTreeSet<String> {
    let functions = index(text).map(|module| module.functions).unwrap_or_default();
    functions.into_values().filter(|function| function.entry).map(|function| function.name).collect()
}
