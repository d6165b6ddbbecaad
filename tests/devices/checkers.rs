//! The simulated device's checkers on candle's kernels and on planted faults, and jitter.

use snuffer::case::{Case, DeviceObject};
use snuffer::device::Device;
use snuffer::exec::{DeviceBehaviour, Worker, WorkerSpec};
use snuffer::ops::canary::Fault;
use snuffer::ops::{self, canary};
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{Observation, Outcome};
use snuffer::tensor::{DType, Tensor, Value};

use crate::kept::regressions;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Simulated:
    a_report_does_not_end_the_case_and_is_a_violation_at_its_kernel,
    a_division_by_zero_is_a_fact_that_no_oracle_judges,
    steps_in_two_threads_are_ordered_only_if_the_first_waits,
    steps_on_two_device_objects_are_ordered_only_if_they_have_one_stream,
    an_access_outside_the_view_is_reported_unless_a_wrong_value_shows_it,
    jitter_changes_an_approximation_within_its_tolerance
];

/// The observation and the verdict of a case on the simulated device that behaves this way.
fn seen(case: &Case, device: Device, behaviour: DeviceBehaviour) -> (Observation, Verdict) {
    let mut worker =
        Worker::start(device, &WorkerSpec { behaviour, ..WorkerSpec::default() }).expect("a worker starts");
    let observation = worker.run(case).expect("the harness survives").on(device);
    let op = ops::find(&case.op).unwrap_or(&canary::CANARY);
    let verdict = judge(&Evidence::new(op, case, std::slice::from_ref(&observation)));
    (observation, verdict)
}

fn oracle(verdict: &Verdict) -> &'static str {
    verdict.violations().first().map_or("", |violation| violation.oracle.name())
}

fn a_report_does_not_end_the_case_and_is_a_violation_at_its_kernel(device: Device) {
    for Fault { name: kernel, kind } in canary::CHECKED_FAULTS {
        let (seen, verdict) = seen(&canary::case(kernel), device, DeviceBehaviour::default());
        assert!(matches!(seen.outcome, Outcome::Returned(_)), "{kernel}: {:?}", seen.outcome);
        let [report] = &seen.device_reports.reports[..] else { panic!("{kernel}: {:?}", seen.device_reports) };
        assert_eq!((report.kind.name(), report.place.to_string().as_str()), (kind, kernel));
        assert_eq!(oracle(&verdict), "checker");
    }
}

fn a_division_by_zero_is_a_fact_that_no_oracle_judges(device: Device) {
    let text = "op = \"tensor.div\"\n[inputs.lhs]\ndtype = \"u32\"\nshape = [1]\nvalues = { list = [7] }\n\
                [inputs.rhs]\ndtype = \"u32\"\nshape = [1]\nvalues = { list = [0] }\n";
    let case = Case::parse(text).expect("a case");
    let (seen, verdict) = seen(&case, device, DeviceBehaviour::default());
    let [fact] = &seen.device_reports.facts[..] else { panic!("{:?}", seen.device_reports) };
    assert!(
        fact.starts_with("division of an integer by zero at bdiv_u32() in candle-kernels/src/binary.cu:"),
        "{fact}"
    );
    assert_ne!(oracle(&verdict), "checker");
}

fn steps_in_two_threads_are_ordered_only_if_the_first_waits(device: Device) {
    let table: &[(&[&str], &[usize], &str)] = &[
        (&["tensor.neg", "tensor.neg"], &[], ""),
        (&["tensor.neg", "tensor.neg"], &[0, 1], "checker"),
        (&["tensor.neg", "tensor.neg"], &[1, 1], "checker"),
        (&["tensor.neg", "state.synchronize"], &[1, 1], ""),
        (&["tensor.neg", "state.synchronize"], &[1, 0], "checker"),
        (&["tensor.neg", "state.synchronize", "tensor.neg", "state.synchronize"], &[1, 1, 2, 2], ""),
        (&["tensor.neg", "state.synchronize", "tensor.neg", "state.synchronize"], &[1, 1, 2, 3], "checker"),
    ];
    for (steps, threads, expected) in table {
        let x = Tensor::new(DType::F32, vec![2], vec![Value::Float(1.0), Value::Float(2.0)]);
        let sequence = Case { threads: threads.to_vec().into(), ..Case::new("sequence") }.input("1.x", x);
        let case = Case { steps: steps.iter().map(ToString::to_string).collect(), ..sequence };
        let (_, verdict) = seen(&case, device, DeviceBehaviour::default());
        assert_eq!(oracle(&verdict), *expected, "{steps:?} in {threads:?}: {verdict:?}");
    }
}

fn steps_on_two_device_objects_are_ordered_only_if_they_have_one_stream(device: Device) {
    use DeviceObject::{Again, Own, OwnStream, Second};
    let table: &[(&[DeviceObject], &str)] = &[
        (&[], ""),
        (&[Again], ""),
        (&[Own, Again], ""),
        (&[Again, Own, Again], ""),
        (&[OwnStream; 3], ""),
        (&[Second; 3], ""),
        // candle copies from one stream to another without an order.
        (&[OwnStream], "checker"),
        (&[Own, OwnStream], "checker"),
        (&[Second], "checker"),
        (&[Own, Second], "checker"),
    ];
    for (devices, expected) in table {
        let x = Tensor::new(DType::F32, vec![2], vec![Value::Float(1.0), Value::Float(2.0)]);
        let sequence = Case { devices: devices.to_vec().into(), ..Case::new("sequence") }.input("1.x", x);
        let case = Case { steps: vec!["tensor.neg".to_string(); 3], ..sequence };
        let (_, verdict) = seen(&case, device, DeviceBehaviour::default());
        assert_eq!(oracle(&verdict), *expected, "{devices:?}: {verdict:?}");
    }
}

fn an_access_outside_the_view_is_reported_unless_a_wrong_value_shows_it(device: Device) {
    let regressions = regressions();
    let (_, regression) = regressions
        .iter()
        .find(|(name, _)| name == "tensor.conv1d/strided-kernel-wrong-values")
        .expect("a convolution that reads outside a view");
    let (_, verdict) = seen(&regression.case, device, DeviceBehaviour::default());
    assert_eq!(oracle(&verdict), "reference");
    // Zero times any element of the kernel is zero.
    let mut case = regression.case.clone();
    let x = case.inputs.get_mut("x").expect("an input");
    *x = Tensor::new(x.dtype, x.shape.clone(), vec![Value::Float(0.0); 2]);
    let (seen, verdict) = seen(&case, device, DeviceBehaviour::default());
    assert_eq!(oracle(&verdict), "checker");
    let report = &seen.device_reports.reports[0];
    assert_eq!((report.kind.name(), report.place.to_string().as_str()), ("out of view", "cublasGemmStridedBatchedEx"));
}

fn jitter_changes_an_approximation_within_its_tolerance(device: Device) {
    let values: Vec<String> = (1..40).map(|n| format!("{}.375", n % 7)).collect();
    let text = format!(
        "op = \"tensor.exp\"\n[inputs.x]\ndtype = \"f32\"\nshape = [39]\nvalues = {{ list = [{}] }}\n",
        values.join(", ")
    );
    let case = Case::parse(&text).expect("a case");
    let (without_jitter, verdict) = seen(&case, device, DeviceBehaviour::default());
    assert_eq!(verdict, Verdict::Pass);
    let mut changed = 0;
    for seed in 1..5 {
        let behaviour = DeviceBehaviour { jitter: Some(seed), ..DeviceBehaviour::default() };
        let (seen, verdict) = seen(&case, device, behaviour);
        assert_eq!(verdict, Verdict::Pass, "seed {seed}");
        changed += u32::from(seen.outcome != without_jitter.outcome);
    }
    assert!(changed > 0, "no seed changes anything");
}
