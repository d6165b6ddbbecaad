//! Every violation of a case is kept, on each device, and a wrong value says what it needs.

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::{Executor, WorkerSpec};
use snuffer::ops::{self, canary};
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{
    DeviceReport, DeviceReports, Gradients, Observation, Outcome, Panic, Phase, Returned, Store as Gradient,
};
use snuffer::settle::{Settings, settle};
use snuffer::tensor::{DType, Tensor, Value, Values};

const CPU: Device = Device::Cpu;
const SIM: Device = Device::Sim(0);

/// The mean squared error of `n` numbers and their halves in `dtype`, and what it must return.
fn mse(dtype: DType, n: usize) -> (Case, Returned) {
    let numbers = |factor: f64| {
        let values = (1..=n).map(|number| Value::Float(number as f64 * factor)).collect();
        Tensor::new(dtype, vec![n], values)
    };
    let text = "op = \"loss.mse\"\nbackward = \"sum\"\n";
    let case = Case::parse(text).expect("a case").input("inp", numbers(1.0)).input("target", numbers(0.5));
    let squares: f64 = (1..=n).map(|number| (number * number) as f64 / 4.0).sum();
    let slopes = |sign: f64| {
        let values = (1..=n).map(|number| Value::Float(sign * number as f64 / n as f64)).collect();
        Tensor::new(dtype, vec![n], values)
    };
    let gradients = [("inp".to_string(), slopes(1.0)), ("target".to_string(), slopes(-1.0))].into();
    let backward = Gradients::Returned(Gradient { gradients, ..Gradient::default() });
    let value = Value::Float(squares / n as f64);
    (case, Returned { outputs: vec![Tensor::new(dtype, vec![], vec![value])], backward, ..Returned::default() })
}

fn returned(returned: &Returned) -> Outcome {
    Outcome::Returned(returned.clone())
}

/// `right` with its output times `factor`.
fn off_by(right: &Returned, factor: f64) -> Outcome {
    let mut wrong = right.clone();
    let value = wrong.outputs[0].floats()[0] * factor;
    wrong.outputs[0].values = Values::List(vec![Value::Float(value)]);
    Outcome::Returned(wrong)
}

fn panicked() -> Outcome {
    let place = "candle-nn/src/loss.rs:1".into();
    Outcome::Panicked(Panic { phase: Phase::Forward, place, message: "a panic".into() })
}

fn verdict(case: &Case, seen: &[Observation]) -> Verdict {
    judge(&Evidence::new(ops::find(&case.op).expect("an op"), case, seen))
}

/// Each violation: the oracle, the kind, the site and the devices.
fn shown(case: &Case, seen: &[Observation]) -> Vec<String> {
    let verdict = verdict(case, seen);
    let one = |it: &snuffer::oracle::Violation| {
        let devices: Vec<String> = it.devices().map(|device| device.to_string()).collect();
        format!("{}: {}, {:?} on {}", it.oracle, it.kind, it.site.to_string(), devices.join(" and "))
    };
    verdict.violations().iter().map(one).collect()
}

fn on(device: Device, outcome: Outcome) -> Observation {
    Observation::new(device, outcome)
}

#[test]
fn a_right_result_on_both_devices_passes() {
    let (case, right) = mse(DType::F32, 2);
    assert_eq!(verdict(&case, &[on(CPU, returned(&right)), on(SIM, returned(&right))]), Verdict::Pass);
}

#[test]
fn a_panic_on_one_device_does_not_hide_a_wrong_value_on_the_other() {
    let (case, right) = mse(DType::F32, 2);
    let seen = [on(CPU, panicked()), on(SIM, off_by(&right, 2.0))];
    let panic = "contract: panic, \"candle-nn/src/loss.rs\" on cpu";
    assert_eq!(shown(&case, &seen), [panic, "reference: wrong value, \"\" on sim:0"]);
}

#[test]
fn a_wrong_output_a_wrong_gradient_and_a_report_are_all_kept() {
    let (case, right) = mse(DType::F32, 2);
    let mut wrong = right.clone();
    let Gradients::Returned(store) = &mut wrong.backward else { panic!("gradients") };
    for gradient in store.gradients.values_mut() {
        gradient.values = Values::List(vec![Value::Float(9.0), Value::Float(7.0)]);
    }
    let report = DeviceReport { kind: device_record::Kind::Race, place: "a_kernel".into(), message: "a race".into() };
    let device_reports = DeviceReports { reports: vec![report.clone(), report], facts: Vec::new() };
    let seen = Observation { device_reports, ..on(SIM, off_by(&wrong, 2.0)) };
    let expected = [
        "checker: race, \"a_kernel\" on sim:0",
        "reference: wrong value, \"\" on sim:0",
        "gradient: wrong value, \"gradient of inp\" on sim:0",
        "gradient: wrong value, \"gradient of target\" on sim:0",
    ];
    assert_eq!(shown(&case, &[seen]), expected);
}

#[test]
fn a_wrong_output_and_a_missing_gradient_are_both_kept() {
    let (case, mut right) = mse(DType::F32, 2);
    right.backward = Gradients::Returned(Gradient { missing: vec!["inp".into()], ..Gradient::default() });
    let expected = ["reference: wrong value, \"\" on cpu", "gradient: missing, \"\" on cpu"];
    assert_eq!(shown(&case, &[on(CPU, off_by(&right, 2.0))]), expected);
}

#[test]
fn a_consequence_of_another_violation_is_left_out() {
    let (case, right) = mse(DType::F32, 2);
    let mut longer = right.clone();
    longer.outputs[0] = Tensor::new(DType::F32, vec![1], vec![Value::Float(9.0)]);
    assert_eq!(shown(&case, &[on(CPU, returned(&longer))]), ["contract: wrong shape, \"\" on cpu"]);

    // A wrong value that is another one in the second run.
    let again = Some(off_by(&right, 3.0));
    let seen = Observation { again, ..on(CPU, off_by(&right, 2.0)) };
    assert_eq!(shown(&case, &[seen]), ["reference: wrong value, \"\" on cpu"]);

    // An invalid call that one device does not refuse: no matter that the other one does.
    let canary = Case::new("canary");
    let refusal = snuffer::outcome::Refusal { variant: "Msg".into(), message: "no".into() };
    let seen = [on(CPU, returned(&right)), on(SIM, Outcome::Rejected(refusal))];
    let verdict = judge(&Evidence::new(&canary::CANARY, &canary, &seen));
    let kinds: Vec<_> = verdict.violations().iter().map(|it| it.kind.to_string()).collect();
    assert_eq!(kinds, ["invalid not refused"]);
}

#[test]
fn the_same_failure_on_two_devices_is_one_violation() {
    let (case, right) = mse(DType::F32, 2);
    let seen = [on(CPU, off_by(&right, 2.0)), on(SIM, off_by(&right, 3.0))];
    assert_eq!(shown(&case, &seen), ["reference: wrong value, \"\" on cpu and sim:0"]);
}

#[test]
fn a_wrong_value_says_what_it_needs() {
    for (dtype, n, factor, site) in [
        (DType::F32, 2, 2.0, "on the GPU alone"),
        (DType::F64, 2, 2.0, "in f64, on the GPU alone"),
        (DType::Bf16, 2, 2.0, "in reduced precision, on the GPU alone"),
        (DType::F32, 2048, 2.0, "of more than 1024 elements, on the GPU alone"),
        // Roundings differ from device to device anyway.
        (DType::F32, 2, 1.0001, "by a rounding"),
        (DType::F32, 2, f64::NAN, "that is not finite, on the GPU alone"),
    ] {
        let (case, right) = mse(dtype, n);
        let case = Case { backward: snuffer::case::Backward::None, ..case };
        let right = Returned { backward: Gradients::NotAsked, ..right };
        let seen = [on(CPU, returned(&right)), on(SIM, off_by(&right, factor))];
        assert_eq!(shown(&case, &seen), [format!("reference: wrong value, {site:?} on sim:0")]);
    }
}

#[test]
fn the_minimizer_drops_what_a_failure_does_not_need() {
    let mut executor = Executor::start(&[CPU], &WorkerSpec::default()).expect("a worker starts");
    let values = (0..2048).map(|number| Value::Float(f64::from(number))).collect();
    let case = canary::case("wrong value").input("x", Tensor::new(DType::F32, vec![4, 512], values));
    let observations = executor.run(&case).map(|outcome| vec![on(CPU, outcome)]).expect("the harness survives");
    let signature = verdict(&case, &observations).signatures("canary").remove(0);
    assert_eq!(signature.site.to_string(), "of more than 1024 elements, in several rows");
    let settled = settle(&mut executor, case, &signature, Settings::default());
    let settled = settled.expect("the harness survives");
    let finding = settled.finding.expect("it happens again");
    assert_eq!(finding.signature.site.to_string(), "");
    assert!(settled.other_failures.is_empty(), "{:?}", settled.other_failures);
}
