//! The PyTorch scripts in reports: writes all of them where `tests/torch/check.py` runs them.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::{Value as Json, json};
use snuffer::case::Case;
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Contract, Op};
use snuffer::oracle::{Evidence, Expectation};
use snuffer::outcome::Returned;
use snuffer::program::torch;
use snuffer::tensor::{DType, Tensor, Value};

use crate::kept::regressions;

/// How many valid cases of each op.
const CASES: u64 = 12;

#[test]
fn every_op_in_pytorch_has_a_script_for_every_case() {
    let mut scripts = BTreeMap::new();
    for op in ops::ALL.iter().filter(|op| !op.torch.is_empty() || op.name == "sequence") {
        for number in 0..CASES {
            let case = Sample::nth(&[*op], &[Mode::Valid], 1, number).drawn.case;
            match torch(op, &case) {
                Ok(script) => drop(scripts.insert(format!("{}_{number}", op.name), (script, expected(op, &case)))),
                Err(why) if why.contains("too many") || why.starts_with("PyTorch lacks") => {}
                Err(_) if !case.steps.is_empty() => {}
                Err(why) => panic!("{}: {why}\n{}", op.name, case.to_text()),
            }
        }
        let some = (0..CASES).any(|number| scripts.contains_key(&format!("{}_{number}", op.name)));
        assert!(some, "{}: no case of it has a script", op.name);
    }
    for (name, regression) in regressions() {
        let op = ops::find(&regression.case.op).expect(&name);
        if let Ok(script) = torch(op, &regression.case) {
            scripts.insert(format!("regression--{name}"), (script, expected(op, &regression.case)));
        }
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("torch");
    std::fs::create_dir_all(&folder).expect("writable");
    std::fs::write(folder.join("scripts.json"), json!(scripts).to_string()).expect("writable");
}

/// The expected elements of outputs and of gradients by variable, each with its tolerance.
fn expected(op: &'static Op, case: &Case) -> Json {
    let Contract::Accepts { outputs, .. } = op.contract(case) else { return Json::Null };
    let evidence = Evidence::new(op, case, &[]);
    // Expectations use only the shape and the dtype of the result.
    let got = |dtype: DType, shape: &[usize]| {
        let elements = shape.iter().product();
        Tensor::new(dtype, shape.to_vec(), vec![Value::of(dtype, 0.0); elements])
    };
    let returned =
        Returned { outputs: outputs.iter().map(|(dtype, shape)| got(*dtype, shape)).collect(), ..Returned::default() };
    let element = |element: &Expectation| json!([element.position, element.value.to_string(), element.within]);
    let elements = |expected: Vec<Expectation>| expected.iter().map(element).collect::<Vec<_>>();
    let finite = |data: &Tensor| data.floats().iter().all(|value| value.is_finite());
    let mut gradients = BTreeMap::new();
    let asked = !case.backward.is_none() && outputs.iter().all(|(dtype, _)| dtype.is_float());
    if asked && evidence.expected().is_some() && case.inputs.values().all(finite) {
        for (name, data) in &case.inputs {
            // The gradient of a buffer behind a view has other positions.
            if op.has_gradient(case, name) && data.view.is_contiguous() {
                let leaf = name.split_once('.').map_or(name.clone(), |(step, name)| format!("{name}_leaf{step}"));
                gradients.insert(leaf, elements(evidence.gradient_expectations(name, &got(data.dtype, &data.shape))));
            }
        }
    }
    json!({ "outputs": evidence.expectations(&returned).into_iter().map(elements).collect::<Vec<_>>(), "gradients": gradients })
}
