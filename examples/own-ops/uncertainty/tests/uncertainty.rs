//! One backward pass is right; a few steps of training are not.

use uncertainty::uncertain_loss;

#[test]
fn the_loss_stays_finite_in_training() {
    snuffer::check(
        snuffer::define("uncertain_loss")
            .floats_within("errors", "n", -0.5, 0.5)
            .floats_within("sigma", "1", 0.1, 2.0)
            .output("")
            .trains(4, 0.5)
            .call(|args| uncertain_loss(args.tensor("errors")?, args.tensor("sigma")?)),
    );
}
