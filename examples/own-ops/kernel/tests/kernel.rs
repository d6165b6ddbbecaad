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

/// The body of a cargo-fuzz target, run on some inputs.
#[cfg(feature = "cuda")]
#[test]
fn fuzzing_finds_it_too() {
    let op = differences_op();
    let fuzz = |byte: u8| std::panic::catch_unwind(|| snuffer::check::fuzz(op, &[byte; 64]));
    let failure = (0..=u8::MAX).find_map(|byte| fuzz(byte).err()).expect("an input reaches the kernel");
    let said = failure.downcast_ref::<String>().expect("a report");
    assert!(said.starts_with("differences accesses an illegal address in differences"), "{said}");
}
