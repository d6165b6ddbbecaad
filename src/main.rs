//! `snuffer`: the command line.

fn main() {}
