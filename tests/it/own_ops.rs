//! Ops that a program defines: what a check of them finds, and what it leaves alone. This test binary is the worker.

use std::sync::atomic::{AtomicU32, Ordering};

use candle_core::{D, DType as CandleDType, Result, Tensor};
use candle_nn::ops::{log_softmax, softmax};
use candle_nn::{Module, linear, loss::cross_entropy};
use snuffer::case::Case;
use snuffer::check::{Ended, Options, run};
use snuffer::define;
use snuffer::device::Device;
use snuffer::ops::{Call, Op};
use snuffer::oracle::{Evidence, judge};
use snuffer::outcome::{Observation, Outcome, Returned, Training};
use snuffer::report::sentence;
use snuffer::tensor::{DType, Tensor as Data, Value};

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

fn exp(call: &Call) -> Result<Tensor> {
    call.tensor("x")?.exp()
}

#[test]
fn right_ops_pass() {
    passes(loss("focal_loss", |call| focal(call, false)));
    passes(elementwise("squared", Tensor::sqr));
    passes(elementwise("clipped", |x| x.clamp(-1.0, 1.0)));
    passes(elementwise("step", |x| x.ge(0.0)?.to_dtype(x.dtype())));
    let rows = define("softmax").floats("x", "any.. columns").output("any.. columns");
    passes(rows.call(|args| softmax(args.tensor("x")?, D::Minus1)));
    // The call sees a size that only a shape has.
    let pairs = define("pairs").floats("x", "rows columns*2").output("rows columns 2");
    passes(pairs.call(|args| args.tensor("x")?.reshape((args.size("rows"), args.size("columns"), 2))));
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
        softmax(&scores, D::Minus1)?.matmul(&args.tensor("v")?.contiguous()?)
    }));
}

#[test]
fn an_exponential_that_overflows_is_found() {
    let rows = define("log_sum_exp").floats("x", "rows columns").output("rows");
    let failure = failure(rows.call(|args| args.tensor("x")?.exp()?.sum(D::Minus1)?.log()));
    assert!(failure.ends_with("with NaN or infinity instead of a finite number"), "{failure}");
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

/// A batch of rows.
fn batch(name: &str, call: impl Fn(&Tensor) -> Result<Tensor> + Sync + 'static) -> &'static Op {
    let rows = define(name).floats("x", "n columns").output("n columns").batch("n");
    rows.call(move |args| call(args.tensor("x")?))
}

#[test]
fn samples_that_do_not_depend_on_each_other_pass() {
    passes(batch("of_each", |x| softmax(x, 1)));
    let pairs = define("pairs").size("n", [1, 2, 5]).floats("x", "n*2 columns").output("n columns").batch("n");
    passes(pairs.call(|args| args.tensor("x")?.reshape((args.size("n"), 2, ()))?.sum(1)));
}

#[test]
fn a_sample_that_depends_on_its_batch_is_found() {
    let op = batch("across", |x| softmax(x, 0));
    assert_eq!(failure(op), "across returns a different result for a sample in a batch than alone");
}

#[test]
fn a_number_that_is_not_finite_and_reaches_another_sample_is_found() {
    // A number times 0 is 0, but NaN is not.
    let op = batch("masked", |x| x.broadcast_add(&(x.sum_keepdim(0)? * 0.0)?));
    assert_eq!(failure(op), "masked returns a different result for a sample in a batch than alone");
}

/// A loss that is weighted by what `precision` makes of a parameter: a factor and a summand.
fn weighted(name: &str, precision: fn(&Tensor) -> Result<(Tensor, Tensor)>) -> &'static Op {
    let op =
        define(name).floats_within("x", "n", -0.5, 0.5).floats_within("s", "1", 0.1, 2.0).output("").trains(4, 0.5);
    op.call(move |args| {
        let (factor, summand) = precision(&args.tensor("s")?.get(0)?)?;
        (args.tensor("x")?.sqr()?.mean_all()? * factor)? + summand
    })
}

#[test]
fn a_loss_that_leaves_the_numbers_in_training_is_found() {
    passes(weighted("of_a_logarithm", |s| Ok((s.affine(-2.0, 0.0)?.exp()?, s.clone()))));
    let op = weighted("of_a_deviation", |s| Ok((s.sqr()?.recip()?, s.log()?)));
    let line = "of_a_deviation comes to a wrong loss in training with NaN or infinity instead of a finite number";
    assert_eq!(failure(op), line);
}

#[test]
fn a_step_of_training_that_is_refused_is_found() {
    let op = weighted("strict", |s| {
        if s.to_dtype(CandleDType::F64)?.to_scalar::<f64>()? < 0.0 {
            candle_core::bail!("a deviation is positive");
        }
        Ok((s.sqr()?.recip()?, s.log()?))
    });
    assert_eq!(failure(op), "strict rejects a later step of training");
}

/// The failures if the CPU and a GPU train so, by the values of one parameter before each step.
fn trained(name: &str, on_cpu: [f64; 3], on_gpu: [f64; 3], gradients: [i64; 3]) -> Vec<String> {
    let op = define(name).floats("s", "1").output("").trains(3, 0.1).call(|args| args.tensor("s")?.sum_all());
    let floats = |dtype, shape, values: &[f64]| {
        Data::new(dtype, shape, values.iter().map(|value| Value::Float(*value)).collect())
    };
    let case = Case::new(op.name).input("s", floats(DType::F32, vec![1], &on_cpu[..1]));
    let seen = |device, path: [f64; 3]| {
        let has_gradient = Data::new(DType::U8, vec![3, 1], gradients.map(Value::Int).to_vec());
        let path = [floats(DType::F64, vec![3], &path), has_gradient, floats(DType::F32, vec![3, 1], &path)];
        let outcome = Outcome::Returned(Returned { outputs: path.to_vec(), ..Returned::default() });
        let first = Returned { outputs: vec![floats(DType::F32, vec![], &on_cpu[..1])], ..Returned::default() };
        let training = Some(Training { outcome, again: None });
        Observation { training, ..Observation::new(device, Outcome::Returned(first)) }
    };
    let seen = [seen(Device::Cpu, on_cpu), seen(Device::Sim(0), on_gpu)];
    judge(&Evidence::new(op, &case, &seen)).violations().iter().map(|it| sentence(&it.signature("it"))).collect()
}

#[test]
fn devices_that_part_in_training_are_found() {
    let path = [2.0, 1.0, 0.5];
    assert_eq!(trained("alike", path, [2.0, 1.0, 0.501], [1; 3]), [""; 0]);
    assert_eq!(
        trained("apart", path, [2.0, 1.0, 0.6], [1; 3]),
        ["it comes to a wrong loss in training only on the GPU"]
    );
    // One backward pass is judged by itself, and longer and longer steps make any rounding grow.
    assert_eq!(trained("at_once", path, [2.0, 1.1, 0.6], [1; 3]), [""; 0]);
    assert_eq!(trained("diverging", [2.0, 1.0, -9.0], [2.0, 1.0, -8.0], [1; 3]), [""; 0]);
}

#[test]
fn a_gradient_that_is_lost_in_training_is_found() {
    let path = [2.0, 1.0, 0.5];
    assert_eq!(trained("lost", path, path, [1, 1, 0]), ["it loses a gradient in training"]);
    assert_eq!(trained("never_there", path, path, [0; 3]), [""; 0]);
}

#[test]
fn a_promise_that_the_shapes_contradict_is_rejected() {
    type Definition = fn() -> &'static Op;
    fn batch(x: &str, y: &str) -> &'static Op {
        define("b").floats("x", x).output(y).batch("n").call(exp)
    }
    fn trained(y: &str, steps: usize) -> &'static Op {
        define("t").floats("x", "n").output(y).trains(steps, 0.1).call(exp)
    }
    let counts = "b: a size that counts samples stands once in a shape, first in its product; `n` does not";
    let definitions: [(&str, Definition); 6] = [
        (counts, || batch("n n", "n")),
        (counts, || batch("m*n", "n")),
        ("b: no input or no output has `n` samples", || batch("n", "m")),
        ("b: labels below `n` name other samples", || {
            define("b").floats("x", "n").labels("ids", "n", "n").output("n").batch("n").call(exp)
        }),
        ("t: what is trained has one output, a scalar: `.output(\"\")`", || trained("n", 2)),
        ("t: one step of training is no more than a gradient", || trained("", 1)),
    ];
    for (expected, definition) in definitions {
        let panic = std::thread::spawn(definition).join().expect_err(expected);
        let message = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        assert_eq!(message, Some(expected));
    }
}

#[test]
fn a_wrong_shape_is_found() {
    let op = define("rows").constants("x", "n m").output("n").call(|args| args.tensor("x")?.sum_keepdim(1));
    assert_eq!(failure(op), "rows returns a wrong shape");
}

#[test]
fn a_batch_of_a_wrong_shape_is_found() {
    assert_eq!(failure(batch("all", Tensor::sum_all)), "all returns a wrong shape");
}

#[test]
fn a_check_in_which_nothing_ran_does_not_pass() {
    let op = define("picky").constants("x", "n").dtypes([DType::F32]).call(|args| args.tensor("x")?.sum(7));
    let line = failure(op);
    assert!(line.starts_with("picky: none of ") && line.contains("so nothing was checked"), "{line}");
}
