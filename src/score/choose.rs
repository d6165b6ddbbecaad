//! Chooses the mutants: a few of each kernel, and as many of each kind of change.

use std::collections::BTreeMap;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::Chosen;
use super::trace::{Change, Changes};

/// Chooses up to `count` mutants by `seed`. Takes kernels in turn, and each time the kind of change that is chosen least so far.
/// Leaves out changes that are known to make no difference.
pub fn choose(changes: &Changes, count: usize, seed: u64) -> Vec<Chosen> {
    let possible = |of: &[Change]| -> Vec<usize> { (0..of.len()).filter(|number| !of[*number].equivalent).collect() };
    let mut left: Vec<(&String, &[Change], Vec<usize>)> =
        changes.iter().map(|(kernel, of)| (kernel, of.as_slice(), possible(of))).collect();
    left.sort_by_cached_key(|(kernel, ..)| mixed(seed, kernel, 0));
    let mut chosen_by_kind: BTreeMap<&str, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    while chosen.len() < count && left.iter().any(|(.., possible)| !possible.is_empty()) {
        for (kernel, of, possible) in left.iter_mut().filter(|(.., possible)| !possible.is_empty()) {
            let rank = |number: &usize| {
                (chosen_by_kind.get(of[*number].what.as_str()).copied().unwrap_or(0), mixed(seed, kernel, *number))
            };
            let best = (0..possible.len()).min_by_key(|&place| rank(&possible[place])).expect("some are left");
            let number = possible.swap_remove(best);
            *chosen_by_kind.entry(&of[number].what).or_default() += 1;
            chosen.push(Chosen { kernel: (*kernel).clone(), number });
        }
    }
    chosen.truncate(count);
    chosen
}

/// A hash of seed, kernel and number, used as a random rank.
fn mixed(seed: u64, kernel: &str, number: usize) -> u64 {
    // Unlike the standard library's hash, this one never changes: a seed always gives the same mutants.
    let mut hasher = SipHasher13::new_with_keys(seed, number as u64);
    hasher.write(kernel.as_bytes());
    hasher.finish()
}
