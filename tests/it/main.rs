//! The integration tests: one binary, each file a group of facts about how `snuffer` behaves.

mod case_text;
mod checkers;
mod cli;
mod coverage;
mod fleet;
mod fuzz;
mod guard;
mod history;
mod inventory;
mod lifecycle;
mod matrix;
mod minimizer;
mod ops;
mod programs;
mod regressions;
mod report;
mod scenarios;
mod schema;
mod score;
mod sequences;
mod simulated;
mod site;
mod store;
mod tidy;
mod torch;
mod worker;
