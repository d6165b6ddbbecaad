//! Verdicts on observations that no device made: what counts as a refusal, and what as a hang.

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::ops;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{Observation, Outcome, Phase, Refusal, Returned};
use snuffer::tensor::{DType, Tensor, Value};

fn zeros(shape: &[usize]) -> Tensor {
    Tensor::new(DType::F32, shape.to_vec(), vec![Value::Float(0.0); shape.iter().product()])
}

fn product(left: &[usize], right: &[usize]) -> Case {
    Case::new("tensor.matmul").input("x", zeros(left)).input("rhs", zeros(right))
}

/// The signature of the failure, or why there is none.
fn verdict(case: &Case, outcomes: &[(Device, Outcome)]) -> String {
    let op = ops::find(&case.op).expect("an op");
    op.check(case).expect("an accepted case");
    let seen: Vec<Observation> =
        outcomes.iter().map(|(device, outcome)| Observation::new(*device, outcome.clone())).collect();
    match judge(&Evidence::new(op, case, &seen)) {
        Verdict::Pass => "pass".to_string(),
        Verdict::Partly(why) => format!("partly: {why}"),
        Verdict::Skip(why) => format!("skip: {why}"),
        Verdict::Fail(violations) => format!("{}: {}", violations[0].kind, violations[0].site),
    }
}

fn refused(variant: &str, message: &str) -> Outcome {
    Outcome::Rejected(Refusal { variant: variant.into(), message: message.into() })
}

fn returned(shape: &[usize]) -> Outcome {
    Outcome::Returned(Returned { outputs: vec![zeros(shape)], ..Returned::default() })
}

const CPU: Device = Device::Cpu;
const SIM: Device = Device::Sim(0);

#[test]
fn an_error_of_a_cuda_library_is_no_refusal_of_an_invalid_call() {
    let invalid = product(&[2, 3], &[4, 2]);
    for (variant, message, expected) in [
        ("ShapeMismatchBinaryOp", "shape mismatch in matmul", "pass"),
        ("Msg", "expected a DriverError(…) in a message", "pass"),
        ("Cuda", "internal error 'no such thing'", "pass"),
        ("Cuda", "DriverError(CUDA_ERROR_NOT_FOUND, \"named symbol not found\") when loading unary", "pass"),
        ("Cuda", "DriverError(CUDA_ERROR_NOT_FOUND, \"named symbol not found\")", "pass"),
        ("Cuda", "DriverError(CUDA_ERROR_OUT_OF_MEMORY, \"out of memory\")", "pass"),
        ("Cuda", "DriverError(CUDA_ERROR_INVALID_VALUE, \"invalid argument\")", NOT_REFUSED),
        ("Cuda", "CublasError(CUBLAS_STATUS_INVALID_VALUE)", NOT_REFUSED),
        ("Cuda", "CurandError(CURAND_STATUS_LENGTH_NOT_MULTIPLE)", NOT_REFUSED),
        ("Cuda", "CreationError(NvrtcError(NVRTC_ERROR_INVALID_INPUT))", NOT_REFUSED),
    ] {
        assert_eq!(verdict(&invalid, &[(SIM, refused(variant, message))]), expected, "{message}");
    }
    const NOT_REFUSED: &str = "invalid not refused: shapes do not match, left to the device";
    let empty_launch = refused("Cuda", "DriverError(CUDA_ERROR_INVALID_VALUE, \"invalid argument\")");
    assert_eq!(verdict(&product(&[0, 3], &[4, 2]), &[(SIM, empty_launch)]), "pass", "it says nothing of the shapes");
}

#[test]
fn an_error_of_a_cuda_library_refuses_a_valid_call() {
    let valid = product(&[2, 3], &[3, 2]);
    let seen = [(SIM, refused("Cuda", "CublasError(CUBLAS_STATUS_INVALID_VALUE)"))];
    assert_eq!(verdict(&valid, &seen), "refused valid: Cuda");
}

#[test]
fn an_output_that_is_tracked_without_a_variable_is_a_violation() {
    let valid = product(&[2, 3], &[3, 2]);
    let seen = |tracked| Outcome::Returned(Returned { outputs: vec![zeros(&[2, 2])], tracked, ..Returned::default() });
    assert_eq!(verdict(&valid, &[(SIM, seen(false))]), "pass");
    assert_eq!(verdict(&valid, &[(SIM, seen(true))]), "tracked: ");
}

#[test]
fn a_refusal_that_is_allowed_is_no_disagreement_of_devices() {
    let mut view = product(&[3, 2], &[3, 2]);
    let x = view.inputs.get_mut("x").expect("an input");
    (x.shape, x.view.order) = (vec![2, 3], vec![1, 0]);
    let outcomes = [(CPU, returned(&[2, 2])), (SIM, refused("RequiresContiguous", "matmul needs contiguous tensors"))];
    assert_eq!(verdict(&view, &outcomes), "pass");
    let [first, second] = outcomes;
    assert_eq!(verdict(&view, &[(CPU, second.1), (SIM, first.1)]), "pass");
}

#[test]
fn a_kernel_that_one_device_lacks_is_a_disagreement() {
    let of = |dtype: &str, ids: bool| {
        let text = format!("dtype = \"{dtype}\"\nshape = [2]\nvalues = {{ list = [0, 1] }}");
        let tensor: Tensor = toml::from_str(&text).expect("a tensor");
        if ids { tensor } else { Tensor { shape: vec![2], ..zeros(&[2]) } }
    };
    let ids = Case::new("tensor.gather").input("x", of("f32", false)).input("ids", of("i32", true));
    let lacks = || refused("UnexpectedDType", "gather wants other ids");
    assert_eq!(verdict(&ids, &[(CPU, returned(&[2])), (SIM, lacks())]), "only one accepts: UnexpectedDType");
    assert_eq!(verdict(&ids, &[(CPU, lacks()), (SIM, lacks())]), "pass");
}

#[test]
fn only_a_small_case_that_is_late_hangs() {
    let late = || Outcome::TimedOut(Phase::Forward);
    let ones = |rows: i64| Case::new("create.ones").param("rows", rows).param("columns", 64i64).param("dtype", "f32");
    assert_eq!(verdict(&ones(64), &[(CPU, late())]), "hang: forward");
    assert_eq!(verdict(&ones(256), &[(CPU, late())]), "hang: forward");
    assert_eq!(verdict(&ones(257), &[(CPU, late())]), "skip: slower than the deadline, and large");
    // Whether an invalid call is refused does not depend on its size.
    let invalid = product(&[64, 512], &[1024, 64]);
    assert_eq!(verdict(&invalid, &[(CPU, late())]), "invalid not refused: shapes do not match");
}
