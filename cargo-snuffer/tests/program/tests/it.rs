//! One sound test, two that are not, and one that is ignored.

use program::pick;

#[test]
fn places_within_are_picked() {
    assert_eq!(pick(&[10, 20, 30], &[2, 0]).unwrap(), [30, 10]);
}

#[test]
fn a_place_outside_is_picked() {
    println!("this test prints something");
    assert_eq!(pick(&[10, 20, 30], &[0, 3]).unwrap(), [10, 40]);
}

#[test]
fn a_place_far_outside_is_forgiven() {
    // The error is dropped, so the test passes.
    let _ = pick(&[10, 20, 30], &[1 << 20]);
}

#[test]
#[ignore = "slow"]
fn an_ignored_one() {
    panic!("never runs");
}
