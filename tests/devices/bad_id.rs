//! An id outside of its dimension is found without running the call, and varies together with that dimension.

use std::time::Duration;

use snuffer::case::Case;
use snuffer::causes::KnownFailures;
use snuffer::device::Device;
use snuffer::examine::BadId;
use snuffer::exec::{Deadline, Executor, Limits};
use snuffer::investigate::ablation;
use snuffer::ops::{self, Contract, rule};
use snuffer::oracle::{Evidence, judge};
use snuffer::report::{self, Answer};
use snuffer::store::Finding;
use snuffer::tensor::{DType, Tensor, Value};

use crate::finding::finding;
use crate::kept::regressions;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: the_first_bad_label_is_found_with_its_number_of_classes, a_bad_id_of_every_regression_stays_bad_with_other_sizes_of_its_dimension;
    Simulated: an_assert_on_a_label_leads_with_it_and_happens_with_any_number_of_classes
];

/// Scores of 4 rows and 10 classes, with a label that is no class.
fn labelled(dtype: DType, label: i64) -> Case {
    let labels = [0, 3, label, 1].map(Value::Int).to_vec();
    Case::new("loss.cross_entropy")
        .input("inp", Tensor::new(DType::F32, vec![4, 10], vec![Value::Float(0.0); 40]))
        .input("target", Tensor::new(dtype, vec![4], labels))
}

fn the_first_bad_label_is_found_with_its_number_of_classes() {
    let op = ops::find("loss.cross_entropy").expect("registered");
    for (dtype, label, words) in [
        (DType::U32, 10, "label 10 of 10 classes"),
        (DType::I64, -100, "label -100 of 10 classes"),
        (DType::U8, 255, "label 255 of 10 classes"),
    ] {
        let bad = BadId::find(op, &labelled(dtype, label)).expect("a bad label");
        assert_eq!((bad.to_string().as_str(), bad.place().as_str()), (words, "at [2] of target"));
        assert_eq!((bad.of.as_str(), bad.dim, bad.size), ("inp", 1, 10));
        assert_eq!(bad.is_largest, label == 255);
    }
    assert_eq!(BadId::find(op, &labelled(DType::U32, 9)), None, "9 is a class");
}

fn a_bad_id_of_every_regression_stays_bad_with_other_sizes_of_its_dimension() {
    let (mut found, mut varied) = (0, 0);
    for (name, regression) in regressions() {
        let (op, case) = (ops::find(&regression.case.op).expect(&name), &regression.case);
        let own = op.contract(case);
        if !matches!(own, Contract::Rejects(rule) if [&rule::ID, &rule::LABEL].contains(&rule)) {
            assert_eq!(BadId::find(op, case), None, "{name}");
            continue;
        }
        let Some(bad) = BadId::find(op, case) else {
            // Their ids are of experts, of tokens, and of rows of quantized blocks: of no dimension of an input.
            let has_other_ids = ["op.moe_gemm", "quantized."].iter().any(|family| name.starts_with(family));
            assert!(has_other_ids, "{name} has a bad id");
            continue;
        };
        found += 1;
        for variant in [2, 3, 7].into_iter().filter_map(|size| bad.with_size(case, size)).chain(bad.further(case, 7)) {
            varied += 1;
            variant.check().unwrap_or_else(|problem| panic!("{name}: {problem}"));
            assert_eq!(op.contract(&variant), own, "{name}: {}", variant.to_text());
        }
    }
    assert!(found >= 10 && varied >= 3 * found, "{found} bad ids, {varied} variants");
}

fn an_assert_on_a_label_leads_with_it_and_happens_with_any_number_of_classes(device: Device) {
    let limits = Limits { deadline: Duration::from_secs(10), ..Limits::default() };
    let case = labelled(DType::U32, 10);
    let op = ops::find(&case.op).expect("registered");
    let mut executor = Executor::start(&[device], &limits.into()).expect("a worker starts");
    let observations = executor.observe(&case, Deadline::Full).expect("the harness survives");
    let evidence = Evidence::new(op, &case, &observations);
    let verdict = judge(&evidence);
    let known = KnownFailures::new(regressions()).expect("causes");
    let shown = report::replay(&evidence, &verdict, &Answer::new(&evidence, &verdict, &known));
    let lead = format!(
        "answer    your call is invalid: label 10 of 10 classes, at [2] of target\n          \
         on {device}, candle fires a device-side assert; every later CUDA call of the process then fails\n"
    );
    assert!(shown.starts_with(&lead), "{shown}");
    assert_eq!(shown.matches("Assertion `").count(), 1, "{shown}");
    let Some(violation) = verdict.violations().first().cloned() else { panic!("{shown}") };
    let signature = violation.signature(op.name);
    let finding = Finding { signature, violation, case: case.clone(), observations, ..finding("") };
    let lines = ablation(&finding, limits, Duration::from_secs(600), &|_| ()).expect("the harness survives");
    let expected = "any number of classes fails with label = number of classes (tried 2, 3, 7, 33, 257)";
    assert!(lines.iter().any(|line| line == expected), "{lines:#?}");
    assert!(!lines.iter().any(|line| line.contains("only this")), "{lines:#?}");
}
