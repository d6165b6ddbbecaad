//! Chooses the mutants: a few of each kernel or function, and as many of each kind of change.

use std::collections::BTreeMap;
use std::hash::Hasher;

use siphasher::sip::SipHasher13;

use super::Chosen;
use super::trace::{Change, Changes};

/// Chooses up to `count` mutants by `seed`. Takes kernels or functions in turn, and each time the kind of change that is chosen least so
/// far. Leaves out changes that are known to make no difference, and those that no thread executes.
pub fn choose(changes: &Changes, count: usize, seed: u64) -> Vec<Chosen> {
    let possible = |theirs: &[Change]| -> Vec<usize> {
        let can_matter = |change: &Change| !change.equivalent && !change.further_round;
        (0..theirs.len()).filter(|&number| can_matter(&theirs[number])).collect()
    };
    let mut left: Vec<(&String, &[Change], Vec<usize>)> =
        changes.iter().map(|(of, theirs)| (of, theirs.as_slice(), possible(theirs))).collect();
    left.sort_by_cached_key(|(of, ..)| rank_hash(seed, of, 0));
    let mut chosen_by_kind: BTreeMap<&str, usize> = BTreeMap::new();
    let mut chosen = Vec::new();
    while chosen.len() < count && left.iter().any(|(.., possible)| !possible.is_empty()) {
        for (of, theirs, possible) in left.iter_mut().filter(|(.., possible)| !possible.is_empty()) {
            let rank = |number: &usize| {
                (chosen_by_kind.get(theirs[*number].what.as_str()).copied().unwrap_or(0), rank_hash(seed, of, *number))
            };
            let best = (0..possible.len()).min_by_key(|&index| rank(&possible[index])).expect("some are left");
            let number = possible.swap_remove(best);
            *chosen_by_kind.entry(&theirs[number].what).or_default() += 1;
            chosen.push(Chosen { of: (*of).clone(), number });
        }
    }
    chosen.truncate(count);
    chosen
}

/// A hash of seed, name and number, used as a random rank.
fn rank_hash(seed: u64, name: &str, number: usize) -> u64 {
    // Unlike the standard library's hash, this one never changes: a seed always gives the same mutants.
    let mut hasher = SipHasher13::new_with_keys(seed, number as u64);
    hasher.write(name.as_bytes());
    hasher.finish()
}
