//! The tests of a user: of an op that is right, of one that is not, and of the guard.

use candle_core::{Device, Result, Tensor};
use snuffer::check::{Ended, Options, run};
use snuffer::{Call, Definition, define, guard};

/// A loss of integer labels.
fn loss(name: &str) -> Definition {
    define(name).floats("logits", "n classes").labels("target", "n", "classes").output("")
}

fn cross_entropy(args: &Call) -> Result<Tensor> {
    candle_nn::loss::cross_entropy(args.tensor("logits")?, args.tensor("target")?)
}

#[test]
fn a_loss_that_is_right_passes() {
    snuffer::check(loss("right").call(cross_entropy));
}

#[test]
fn a_loss_without_its_gradient_fails() {
    let op = loss("wrong").call(|args| Ok(cross_entropy(args)?.detach()));
    let options = Options { cases: 256, seed: 0, keep: None };
    let Ended::Failed(report) = run(op, &options).expect("the check runs") else { panic!("nothing is found") };
    assert!(report.starts_with("wrong "), "{report}");
}

#[test]
fn a_label_out_of_range_is_refused() -> Result<()> {
    let target = Tensor::new(&[0u32, 7, 194, 195], &Device::Cpu)?;
    let refused = guard::labels("target", &target, 195, None).expect_err("195 is out of range");
    assert_eq!(refused.to_string(), "target: 195 at [3] is not a label of 195 classes (0 to 194)");
    guard::labels("target", &target, 196, None)?;
    Ok(())
}
