//! Faults: the kernels of `tests/fail/`. Each file says what it shows, and after `//|` the diagnosis, to the letter; its
//! kernel `twin` does the same without the mistake.

use simulator::{Fault, Kind};

use crate::machine::{Shape, device, launch, upload};
use crate::passes::files;

/// The texts of all kernels that fail.
pub fn texts() -> impl Iterator<Item = String> {
    files("fail").into_iter().map(|(_, text)| text)
}

/// Launches a kernel of 64 threads with two pointers: to 256 bytes, and to 64 bytes that were freed.
fn outcome(text: &str, kernel: &str) -> Result<(), Fault> {
    let mut device = device();
    let live = upload(&mut device, &[1; 256]);
    let freed = upload(&mut device, &[1; 64]);
    device.free(freed).expect("allocated");
    let params = [live.to_le_bytes(), freed.to_le_bytes()].concat();
    launch(&mut device, text, kernel, Shape::line(2, 64), params)
}

#[test]
fn every_fault_is_diagnosed_to_the_letter() {
    let files = files("fail");
    for (file, text) in &files {
        let wanted: Vec<&str> = text.lines().filter_map(|line| line.strip_prefix("//|")).map(str::trim).collect();
        let fault = outcome(text, "k").expect_err(file);
        let got = fault.to_string();
        let got: Vec<&str> = got.lines().map(str::trim).collect();
        assert_eq!(got, wanted, "{file}");
    }
    assert!(files.len() >= 15, "only {} faults", files.len());
}

#[test]
fn the_twin_of_every_fault_reports_nothing() {
    for (file, text) in files("fail") {
        assert_eq!(outcome(&text, "twin"), Ok(()), "{file}");
    }
}

#[test]
fn every_kind_of_fault_has_a_kernel() {
    let kinds: Vec<Kind> = files("fail").iter().filter_map(|(_, text)| Some(outcome(text, "k").err()?.kind)).collect();
    for kind in [
        Kind::Assert,
        Kind::OutOfBounds,
        Kind::UseAfterFree,
        Kind::Misaligned,
        Kind::OutOfWindow,
        Kind::Trap,
        Kind::Deadlock,
        Kind::Budget,
        Kind::Unsupported,
    ] {
        assert!(kinds.contains(&kind), "{}", kind.name());
    }
}
