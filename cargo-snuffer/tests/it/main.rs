//! `cargo snuffer` on a small program of its own: what it prints, what it writes, and how it ends.
//!
//! `cargo xtask test` sets up what this needs. `SNUFFER_TEST_WITHOUT=sim:0` leaves it out, and then it is shown as ignored.

mod command;
mod intrinsics;
mod outcomes;
mod summary;
mod support;

use libtest_mimic::{Arguments, Trial};

/// A name and what it does.
pub type Test = (&'static str, fn());

fn main() {
    let is_excused =
        std::env::var("SNUFFER_TEST_WITHOUT").is_ok_and(|names| names.split(',').any(|name| name == "sim:0"));
    let tests = [intrinsics::TESTS, outcomes::TESTS, summary::TESTS, support::TESTS].concat();
    let trial = |(name, run): Test| {
        let run = move || {
            run();
            Ok(())
        };
        Trial::test(name, run).with_ignored_flag(is_excused)
    };
    libtest_mimic::run(&Arguments::from_args(), tests.into_iter().map(trial).collect()).exit();
}
