//! Shapes from files: their product may overflow, or hold a 0 beside huge sizes. Every reader answers, and none panics.

use std::io::Write;
use std::path::Path;

use proptest::prelude::*;
use snuffer::case::{Case, CaseError, Param};
use snuffer::device::Device;
use snuffer::guard::{self, File};
use snuffer::ops;
use snuffer::oracle::{Evidence, judge};
use snuffer::outcome::{self, Gradients, Observation, Outcome, Returned};
use snuffer::store::regression::Regression;
use snuffer::store::{Finding, Store};
use snuffer::tensor::{DType, Tensor, Value, elements};

use crate::cli::{code, command, text};
use crate::finding::finding;

/// Sizes that overflow alone, in pairs, or not at all.
fn shapes() -> impl Strategy<Value = Vec<usize>> {
    let size = prop_oneof![Just(0), 1..4_usize, Just(1 << 31), Just(1 << 62), Just(i64::MAX as usize)];
    prop::collection::vec(size, 0..6)
}

fn tensor(shape: &[usize]) -> Tensor {
    Tensor::new(DType::F32, shape.to_vec(), Vec::new())
}

/// A case as a file has it, whether it is valid or not.
fn unchecked(shape: &[usize]) -> Case {
    Case::new("tensor.exp").input("x", tensor(shape))
}

/// A safetensors file with a tensor of this shape and without data.
fn safetensors(folder: &Path, shape: &[usize]) -> std::path::PathBuf {
    let header = format!(r#"{{"x":{{"dtype":"I64","shape":{shape:?},"data_offsets":[0,0]}}}}"#);
    let path = folder.join("x.safetensors");
    let mut file = std::fs::File::create(&path).expect("made");
    file.write_all(&(header.len() as u64).to_le_bytes())
        .and_then(|()| file.write_all(header.as_bytes()))
        .expect("written");
    path
}

/// What the suite does with a case that it has read.
fn judged(case: &Case, outcome: Outcome) {
    let seen = [Observation::new(Device::Cpu, outcome)];
    let op = ops::find(&case.op).expect("an op");
    judge(&Evidence::new(op, case, &seen));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_elements_of_a_shape_are_counted_or_too_many(shape in shapes()) {
        let positive = shape.iter().filter(|&&size| size > 0).try_fold(1_u128, |product, &size| product.checked_mul(size as u128));
        match elements(&shape) {
            Ok(count) => {
                let product: u128 = shape.iter().map(|&size| size as u128).product();
                prop_assert_eq!(count as u128, product);
            }
            Err(problem) => {
                prop_assert!(positive.is_none_or(|product| product >= 1 << 63));
                prop_assert!(problem.to_string().lines().count() == 1);
            }
        }
    }

    #[test]
    fn a_case_is_judged_or_refused(shape in shapes()) {
        let case = unchecked(&shape);
        match Case::parse(&case.to_text()) {
            Ok(case) => judged(&case, Outcome::Returned(Returned { outputs: vec![tensor(&shape)], ..Returned::default() })),
            Err(CaseError::Tensor { problem, .. }) => prop_assert!(problem.contains("elements"), "{}", problem),
            Err(other) => prop_assert!(false, "{}", other),
        }
    }

    #[test]
    fn a_finding_is_read_whole_or_named(shape in shapes(), output in shapes()) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(folder.path()).expect("a store");
        let returned = Returned { outputs: vec![tensor(&output)], ..Returned::default() };
        let observations = vec![Observation::new(Device::Cpu, Outcome::Returned(returned.clone()))];
        let whole = Finding { case: unchecked(&shape), observations, ..finding("here") };
        let name = whole.signature.slug();
        let path = folder.path().join(&name).join("finding.toml");
        std::fs::create_dir(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, toml::to_string(&whole).expect("TOML")).expect("written");
        match store.get(&name) {
            Ok(read) => judged(&read.expect("there").case, Outcome::Returned(returned)),
            Err(problem) => {
                let expected = format!("{} is damaged", path.display());
                assert!(format!("{problem:#}").contains(&expected), "{problem:#}");
            }
        }
    }

    #[test]
    fn a_regression_is_read_or_refused(shape in shapes()) {
        let regression = Regression { case: unchecked(&shape), ..Regression::of(&finding("here")) };
        if let Ok(read) = Regression::parse(&regression.to_text()) {
            judged(&read.case, Outcome::Returned(Returned { outputs: vec![tensor(&shape)], ..Returned::default() }));
        }
    }

    #[test]
    fn a_safetensors_file_is_guarded_or_refused(shape in shapes()) {
        let folder = tempfile::tempdir().expect("a folder");
        let Ok(file) = File::open(&safetensors(folder.path(), &shape)) else { return Ok(()) };
        file.list();
        let Ok(Some(x)) = file.tensor("x") else { return Ok(()) };
        let _ = (guard::labels("x", &x, 3, None), guard::ids("x", &x, 3), guard::finite("x", &x));
        for (op, input) in [("tensor.exp", "x"), ("loss.cross_entropy", "target"), ("layer.embedding", "ids")] {
            let _ = guard::Call::new(op).input(input, &x).check();
        }
        let _ = guard::Call::new("tensor.sum").input("x", &x).param("form", Param::from("all")).check();
    }
}

#[test]
fn a_file_with_a_0_beside_huge_sizes_is_a_mistake_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let shape = [0, i64::MAX as usize, i64::MAX as usize];
    let case = folder.path().join("case.toml");
    std::fs::write(&case, unchecked(&shape).to_text()).expect("written");
    let (case, file) = (case.display().to_string(), safetensors(folder.path(), &shape).display().to_string());
    for args in [
        &["replay", &case][..],
        &["minimize", &case],
        &["guard", &file, "--labels", "x", "--classes", "3"],
        &["guard", &file, "--finite", "x"],
        &["guard", &file, "--op", "tensor.exp", "--input", "x=x"],
    ] {
        let output = command(folder.path(), args).output().expect("snuffer starts");
        let said = text(&output.stderr);
        assert!(code(&output) == 1 && said.lines().count() == 1 && said.contains("too large"), "{args:?}: {said}");
    }
}

#[test]
fn what_candle_returned_is_read_whatever_its_size_and_value() {
    // Nothing with a 0 is too large to be returned, and a conversion may saturate where ours does not.
    let saturated = Tensor::new(DType::F8e4m3, vec![1], vec![Value::Float(-448.0)]);
    let returned = Returned { outputs: vec![tensor(&[usize::MAX, 0]), saturated], ..Returned::default() };
    let observations = vec![Observation::new(Device::Cpu, Outcome::Returned(returned))];
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    let name = store.insert(&Finding { observations, ..finding("here") }).expect("stored").expect("new");
    assert!(store.get(&name).expect("readable").is_some());
}

#[test]
fn a_finding_with_a_gradient_of_no_input_is_damaged() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(folder.path()).expect("a store");
    let gradients = [("gone".to_string(), tensor(&[0]))].into();
    let backward = Gradients::Returned(outcome::Store { gradients, ..outcome::Store::default() });
    let returned = Returned { backward, ..Returned::default() };
    let observations = vec![Observation::new(Device::Cpu, Outcome::Returned(returned))];
    let name = store.insert(&Finding { observations, ..finding("here") }).expect("stored").expect("new");
    let problem = format!("{:#}", store.get(&name).expect_err("it does not fit"));
    assert!(problem.contains("it has a gradient of `gone`, which is no input of the case"), "{problem}");
}

#[test]
fn nothing_is_expected_of_a_gradient_of_a_call_that_is_rejected() {
    let x = Tensor::new(DType::F32, vec![1, 1, 2, 2], vec![Value::Float(1.0); 4]);
    let case = Case::new("tensor.max_pool2d").input("x", x.clone()).param("kh", 1_i64).param("kw", 1_i64 << 31);
    let evidence = Evidence::new(ops::find(&case.op).expect("an op"), &case, &[]);
    assert!(
        evidence.gradient_expectations("x", &x).is_empty() && evidence.gradient_expectations("gone", &x).is_empty()
    );
}
