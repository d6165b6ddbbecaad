//! The CPU knows nothing of the kernel; on the simulated device the read past the end is found.

use kernel::differences;
use snuffer::tensor::DType;

#[test]
fn differences_read_only_their_input() {
    snuffer::check(
        snuffer::define("differences")
            .constants("x", "n")
            .dtypes([DType::F32])
            .output("n")
            .call(|args| differences(args.tensor("x")?)),
    );
}
