//! Ten lines that find the wrong gradient.

use focal_loss::focal_loss;

#[test]
fn the_focal_loss_is_right() {
    snuffer::check(
        snuffer::define("focal_loss")
            .floats("logits", "n classes")
            .labels("target", "n", "classes")
            .number("gamma", [2.0, 0.5, 0.0])
            .output("")
            .call(|args| focal_loss(args.tensor("logits")?, args.tensor("target")?, args.number("gamma"))),
    );
}
