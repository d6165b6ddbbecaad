//! Each sequence of a batch is pooled for itself: one line says so.

use pooling::pool;

#[test]
fn a_sequence_does_not_depend_on_the_others() {
    snuffer::check(
        snuffer::define("pool")
            .floats_within("x", "n tokens width", -2.0, 2.0)
            .floats_within("query", "width", -1.0, 1.0)
            .output("n width")
            .batch("n")
            .call(|args| pool(args.tensor("x")?, args.tensor("query")?)),
    );
}
