//! Sets of fixes that tell many fixes apart by few builds of candle: all are in equally many sets, and no two in the same ones.

use crate::candles::fixed::Fixes;

/// The sets for `fixes`: 9 for 126 of them, and one with nothing else in it for a single one. What passes in the sets of a fix, and
/// nowhere else, passes because of it. What needs two fixes passes in fewer sets than one fix has, and is taken for no other's.
pub fn sets(fixes: &Fixes) -> Vec<Fixes> {
    let builds =
        (1..u32::BITS).find(|&builds| codes(builds).count() >= fixes.len()).expect("there are as many codes as needed");
    let mut sets = vec![Fixes::new(); builds as usize];
    for ((name, fix), code) in fixes.iter().zip(codes(builds)) {
        for (number, set) in sets.iter_mut().enumerate() {
            if code >> number & 1 == 1 {
                set.insert(name.clone(), fix.clone());
            }
        }
    }
    sets.retain(|set| !set.is_empty());
    sets
}

/// A number for each fix: bit `n` says whether the `n`-th set has the fix. Half of the `builds` bits are set, rounded up.
fn codes(builds: u32) -> impl Iterator<Item = u32> {
    (0..1 << builds).filter(move |code: &u32| code.count_ones() == builds.div_ceil(2))
}
