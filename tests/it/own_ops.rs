//! Ops that a program defines: what a check of them finds, and what it leaves alone. This test binary is the worker.

use std::sync::atomic::{AtomicU32, Ordering};

use candle_core::{D, DType as CandleDType, Result, Tensor};
use candle_nn::ops::log_softmax;
use candle_nn::{Module, linear, loss::cross_entropy};
use snuffer::check::{Ended, Options, run};
use snuffer::define;
use snuffer::ops::{Call, Op};
use snuffer::tensor::DType;

/// How a check of `op` ends, without keeping anything.
fn ended(op: &'static Op) -> Ended {
    run(op, &Options { cases: 256, seed: 0, keep: None }).expect("the check runs")
}

/// The first line of the report on `op`.
fn failure(op: &'static Op) -> String {
    match ended(op) {
        Ended::Failed(report) => report.lines().next().unwrap_or_default().to_string(),
        Ended::Passed(line) => panic!("nothing is found: {line}"),
    }
}

fn passes(op: &'static Op) {
    if let Ended::Failed(report) = ended(op) {
        panic!("{report}");
    }
}

fn focal(call: &Call, detach: bool) -> Result<Tensor> {
    let (logits, target) = (call.tensor("logits")?, call.tensor("target")?);
    let log_p = log_softmax(logits, D::Minus1)?.gather(&target.unsqueeze(1)?.contiguous()?, 1)?.squeeze(1)?;
    let factor = log_p.exp()?.affine(-1.0, 1.0)?.sqr()?;
    let factor = if detach { factor.detach() } else { factor };
    (factor * log_p)?.neg()?.mean_all()
}

fn loss(name: &str, call: impl Fn(&Call) -> Result<Tensor> + Sync + 'static) -> &'static Op {
    define(name).floats("logits", "n classes").labels("target", "n", "classes").output("").call(call)
}

fn elementwise(name: &str, call: impl Fn(&Tensor) -> Result<Tensor> + Sync + 'static) -> &'static Op {
    define(name).floats("x", "any..").output("any..").call(move |args| call(args.tensor("x")?))
}

#[test]
fn right_ops_pass() {
    passes(loss("focal_loss", |call| focal(call, false)));
    passes(elementwise("squared", Tensor::sqr));
    passes(elementwise("clipped", |x| x.clamp(-1.0, 1.0)));
    passes(elementwise("step", |x| x.ge(0.0)?.to_dtype(x.dtype())));
    let softmax = define("softmax").floats("x", "any.. columns").output("any.. columns");
    passes(softmax.call(|args| candle_nn::ops::softmax(args.tensor("x")?, D::Minus1)));
    let attention = define("attention")
        .dtypes([DType::F32, DType::F64, DType::Bf16])
        .floats("q", "batch queries width")
        .floats("k", "batch keys width")
        .floats("v", "batch keys width")
        .output("batch queries width");
    passes(attention.call(|args| {
        let q = args.tensor("q")?;
        let scores = q.contiguous()?.matmul(&args.tensor("k")?.t()?.contiguous()?)?;
        let scores = (scores / (q.dim(2)? as f64).sqrt())?;
        candle_nn::ops::softmax(&scores, D::Minus1)?.matmul(&args.tensor("v")?.contiguous()?)
    }));
}

#[test]
fn a_wrong_gradient_is_found() {
    let op = loss("detached", |call| focal(call, true));
    assert_eq!(failure(op), "detached computes a wrong gradient of logits");
}

#[test]
fn a_parameter_of_a_module_without_a_gradient_is_found() {
    let op = define("classifier")
        .size("classes", [2, 3])
        .constants("x", "n 3")
        .labels("labels", "n", "classes")
        .floats_within("head.weight", "classes 3", -1.0, 1.0)
        .floats_within("head.bias", "classes", -1.0, 1.0)
        .floats_within("scale", "1", 0.5, 2.0)
        .output("")
        .call(|args| {
            let weights = args.weights();
            let scale = weights.get(1, "scale")?.to_dtype(CandleDType::F64)?.get(0)?.to_scalar::<f64>()?;
            let head = linear(3, args.size("classes"), weights.pp("head"))?;
            cross_entropy(&(head.forward(args.tensor("x")?)? * scale)?, args.tensor("labels")?)
        });
    assert_eq!(failure(op), "classifier returns no gradient, without an error");
}

#[test]
fn a_label_that_is_not_checked_is_found() {
    let picks = define("picks").constants("x", "n").labels("ids", "m", "n").output("m").call(|args| {
        let (x, ids) = (args.tensor("x")?, args.tensor("ids")?.to_dtype(CandleDType::U32)?.to_vec1::<u32>()?);
        let values = x.to_dtype(CandleDType::F64)?.to_vec1::<f64>()?;
        let picked: Vec<f64> = ids.iter().map(|&id| values[id as usize]).collect();
        Tensor::new(picked, x.device())?.to_dtype(x.dtype())
    });
    assert_eq!(failure(picks), "picks panics in own_ops.rs");
}

#[test]
fn an_abort_is_found_and_the_test_goes_on() {
    let op = elementwise("aborts", |x| if x.elem_count() > 3 { std::process::abort() } else { x.affine(2.0, 0.0) });
    assert_eq!(failure(op), "aborts kills its process (SIGABRT)");
}

#[test]
fn results_that_change_are_found() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    let op = elementwise("counts", |x| x.affine(1.0, f64::from(CALLS.fetch_add(1, Ordering::Relaxed))));
    assert_eq!(failure(op), "counts returns a different result when run again");
}

#[test]
fn a_result_of_one_dtype_that_is_off_is_found() {
    let op = define("halved").constants("x", "any..").output("any..").call(|args| {
        let x = args.tensor("x")?;
        x.affine(if x.dtype() == CandleDType::F32 { 0.52 } else { 0.5 }, 0.0)
    });
    assert_eq!(failure(op), "halved returns a different result from the same call in f64");
}

#[test]
fn a_result_that_is_not_the_reference_is_found() {
    let op = define("variance")
        .constants("x", "rows columns")
        .output("rows")
        .reference(|args| args.tensor("x")?.var(1))
        .call(|args| {
            let x = args.tensor("x")?;
            x.sqr()?.mean(1)? - x.mean(1)?.sqr()?
        });
    assert_eq!(failure(op), "variance returns a different result from its reference in f64");
}

#[test]
fn a_wrong_shape_is_found() {
    let op = define("rows").constants("x", "n m").output("n").call(|args| args.tensor("x")?.sum_keepdim(1));
    assert_eq!(failure(op), "rows returns a wrong shape");
}

#[test]
fn a_check_in_which_nothing_ran_does_not_pass() {
    let op = define("picky").constants("x", "n").dtypes([DType::F32]).call(|args| args.tensor("x")?.sum(7));
    let line = failure(op);
    assert!(line.starts_with("picky: none of ") && line.contains("so nothing was checked"), "{line}");
}
