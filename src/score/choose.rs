//! Which mutants are made: a few of each kernel, and of all kinds of change alike.

use std::collections::BTreeMap;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::Chosen;
use super::trace::{Change, Changes};

/// Up to `count` mutants, decided by `seed`: kernels in turn, each time the kind of change of which there are fewest so far.
/// What is known to make no difference is none.
pub fn choose(changes: &Changes, count: usize, seed: u64) -> Vec<Chosen> {
    let possible = |of: &[Change]| -> Vec<usize> { (0..of.len()).filter(|number| !of[*number].equivalent).collect() };
    let mut left: Vec<(&String, &[Change], Vec<usize>)> =
        changes.iter().map(|(kernel, of)| (kernel, of.as_slice(), possible(of))).collect();
    left.sort_by_cached_key(|(kernel, ..)| mixed(seed, kernel, 0));
    let mut made: BTreeMap<&str, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    while chosen.len() < count && left.iter().any(|(.., possible)| !possible.is_empty()) {
        for (kernel, of, possible) in left.iter_mut().filter(|(.., possible)| !possible.is_empty()) {
            let rank = |number: &usize| {
                (made.get(of[*number].what.as_str()).copied().unwrap_or(0), mixed(seed, kernel, *number))
            };
            let best = (0..possible.len()).min_by_key(|&place| rank(&possible[place])).expect("some are left");
            let number = possible.swap_remove(best);
            *made.entry(&of[number].what).or_default() += 1;
            chosen.push(Chosen { kernel: (*kernel).clone(), number });
        }
    }
    chosen.truncate(count);
    chosen
}

/// A number without a pattern for each seed, kernel and number.
fn mixed(seed: u64, kernel: &str, number: usize) -> u64 {
    // A hash that no release of Rust changes: a seed gives the same mutants again.
    let mut hasher = SipHasher13::new_with_keys(seed, number as u64);
    hasher.write(kernel.as_bytes());
    hasher.finish()
}
