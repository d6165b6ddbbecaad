//! `snuffer` finds, reproduces and minimizes the inputs that put candle out.
//!
//! ARCHITECTURE.md has the picture and the rules; the modules below are listed from the lowest layer to the highest.

/// The release of candle under test, as Cargo.toml has it.
pub const CANDLE: &str = "0.11.1";

pub mod device;
pub mod tensor;

pub mod case;
pub mod coverage;
pub mod number;
pub mod outcome;

pub mod generate;
pub mod minimize;
pub mod mutate;

pub mod ops;

pub mod oracle;
pub mod run;
pub mod sample;

pub mod exec;

pub mod findings;
pub mod history;
pub mod regression;
pub mod report;

pub mod campaign;
pub mod console;
pub mod fuzz;
pub mod matrix;
pub mod score;

pub mod cli;
pub mod exit_code;
