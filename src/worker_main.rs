//! `snuffer-worker`: runs cases for `snuffer`, one at a time, in a process that may die.

fn main() {}
