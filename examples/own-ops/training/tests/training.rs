//! Every parameter must get a gradient, and the right one.

use training::Classifier;

#[test]
fn every_parameter_gets_its_gradient() {
    snuffer::check(
        snuffer::define("training_step")
            .size("width", [2, 1, 4])
            .size("classes", [2, 3])
            .constants("x", "n 3")
            .labels("labels", "n", "classes")
            .floats_within("hidden.weight", "width 3", -1.0, 1.0)
            .floats_within("hidden.bias", "width", -1.0, 1.0)
            .floats_within("scale", "1", 0.5, 2.0)
            .floats_within("head.weight", "classes width", -1.0, 1.0)
            .floats_within("head.bias", "classes", -1.0, 1.0)
            .output("")
            .call(|args| {
                let model = Classifier::new(args.size("width"), args.size("classes"), args.weights())?;
                model.loss(args.tensor("x")?, args.tensor("labels")?)
            }),
    );
}
