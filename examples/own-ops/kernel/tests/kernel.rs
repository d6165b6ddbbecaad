//! The CPU knows nothing of the kernel; on the simulated device the read past the end is found.

use kernel::differences;
use snuffer::ops::Op;
use snuffer::tensor::DType;

fn differences_op() -> &'static Op {
    snuffer::define("differences")
        .constants("x", "n")
        .dtypes([DType::F32])
        .output("n")
        .call(|args| differences(args.tensor("x")?))
}

#[test]
fn differences_read_only_their_input() {
    snuffer::check(differences_op());
}

/// What a target of cargo-fuzz does with each input.
#[cfg(feature = "cuda")]
#[test]
#[should_panic(expected = "differences accesses an illegal address in differences")]
fn fuzzing_finds_it_too() {
    let op = differences_op();
    for byte in 0..=u8::MAX {
        snuffer::check::fuzz(op, &[byte; 64]);
    }
}
