//! What the repository keeps of candle's behaviour: regressions and scenarios, by name.

use snuffer::store::regression::{Regression, read};

use crate::place;

/// The folder of the regressions.
pub const REGRESSIONS: &str = "corpora/regressions";

/// Every regression by name.
pub fn regressions() -> Vec<(String, Regression)> {
    all(REGRESSIONS, 20)
}

/// Every scenario of the field guide by name.
pub fn scenarios() -> Vec<(String, Regression)> {
    all("corpora/scenarios", 80)
}

fn all(folder: &str, least: usize) -> Vec<(String, Regression)> {
    let all = read(&place::root().join(folder)).expect(folder);
    assert!(all.len() >= least, "{folder} has only {} cases left", all.len());
    all
}
