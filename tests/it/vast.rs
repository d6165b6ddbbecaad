//! Tensors of more elements than anything can list: they are stored as a broadcast, and nobody writes them out.

use std::convert::Infallible;

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::generate::Mode;
use snuffer::hunt::Sample;
use snuffer::ops::{self, Contract, why};
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::outcome::{Observation, Outcome, Returned};
use snuffer::program::{ProgramOptions, program};
use snuffer::settle::minimize::minimize;
use snuffer::tensor::{DType, MAX_ELEMENTS, Tensor, View, viewed};

use crate::cli::{code, command, text};

/// `tensor` with `size` copies of its first entry along `dim`; `None` if no tensor has so many elements.
fn repeated(tensor: &Tensor, dim: usize, size: usize) -> Option<Tensor> {
    let mut broadcast = tensor.view.broadcast.clone();
    if !broadcast.contains(&dim) {
        broadcast.push(dim);
    }
    let mut vast = viewed(tensor, View { broadcast, of: None, offset: 0, ..tensor.view.clone() }.normalized());
    vast.shape[dim] = size;
    vast.check().is_ok().then_some(vast)
}

/// Drawn cases, each with one input that is vast.
fn cases() -> impl Iterator<Item = Case> {
    let drawn = (0..3000).map(|index| Sample::nth(ops::ALL, &Mode::ALL, 3, index).drawn.case);
    drawn.flat_map(|case| {
        let places = case.inputs.iter().flat_map(|(name, tensor)| (0..tensor.shape.len()).map(move |dim| (name, dim)));
        let vast = places.flat_map(|(name, dim)| [1 << 25, 1 << 33, 1 << 62].map(|size| (name, dim, size)));
        let made = vast.filter_map(|(name, dim, size)| {
            let tensor = repeated(&case.inputs[name], dim, size)?;
            let case = case.clone().input(name, tensor);
            (case.inputs[name].is_vast() && case.check().is_ok()).then_some(case)
        });
        made.collect::<Vec<_>>()
    })
}

#[test]
fn a_call_on_it_is_judged_by_its_few_outputs_or_not_run() {
    let (mut refused, mut run) = (0, 0);
    for case in cases() {
        let op = ops::find(&case.op).expect("an op");
        match op.contract(&case) {
            Contract::Unspecified(reason) => assert_eq!(reason, why::TOO_LARGE, "{}", case.to_text()),
            Contract::Rejects(_) => refused += 1,
            Contract::Accepts { outputs, .. } => {
                run += 1;
                let few = |shape: &[usize]| shape.iter().product::<usize>() <= MAX_ELEMENTS;
                assert!(outputs.iter().all(|(_, shape)| few(shape)), "{}", case.to_text());
                let nothing = Outcome::Returned(Returned::default());
                let seen = Observation { contiguous: Some(nothing.clone()), ..Observation::new(Device::Cpu, nothing) };
                assert!(matches!(judge(&Evidence::new(op, &case, &[seen])), Verdict::Fail(_)), "nothing is not right");
            }
        }
    }
    assert!(refused > 50 && run > 20, "{refused} refused, {run} run");
}

#[test]
fn a_tensor_of_a_program_is_guarded_whatever_its_size() {
    let zeros = |dtype: &str, shape: &str| -> Tensor {
        let zero = if dtype == "f32" { "0.0" } else { "0" };
        let text = format!("dtype = \"{dtype}\"\nshape = {shape}\nvalues = {{ fill = {{ constant = {zero} }} }}");
        toml::from_str(&text).expect("a tensor")
    };
    let case = Case::new("loss.cross_entropy").input("inp", zeros("f32", "[4, 16777216]"));
    let op = ops::find(&case.op).expect("an op");
    assert!(matches!(op.contract(&case.clone().input("target", zeros("u32", "[4]"))), Contract::Accepts { .. }));
    assert!(matches!(op.contract(&case.input("target", zeros("u32", "[5]"))), Contract::Rejects(_)));
}

#[test]
fn its_case_becomes_text_a_program_and_a_smaller_case() {
    for case in cases().step_by(997) {
        assert_eq!(Case::parse(&case.to_text()).expect("a case"), case);
        let plain = case.contiguous();
        assert!(plain.inputs.values().all(|tensor| tensor.view.is_whole_buffer()) && plain.check().is_ok());
        let op = ops::find(&case.op).expect("an op");
        let options = ProgramOptions { device: Device::Cpu, comments: &[], outputs: &[] };
        if let Ok(program) = program(op, &case, &options) {
            assert!(program.len() < 1 << 20, "{}", case.to_text());
        }
        let vast = |case: &Case| case.inputs.values().any(Tensor::is_vast);
        let small = minimize(case, |candidate| Ok::<_, Infallible>(Some(vast(candidate)))).expect("never fails").case;
        let shapes: Vec<_> = small.inputs.values().map(|tensor| tensor.shape.clone()).collect();
        assert!(small.inputs.len() == 1 && vast(&small), "{shapes:?}");
    }
}

#[test]
fn what_cannot_be_stored_or_counted_is_a_mistake_in_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("case.toml");
    for (shape, broadcast, problem) in [
        (vec![MAX_ELEMENTS + 1], vec![], "more than 16777216 elements"),
        (vec![MAX_ELEMENTS + 1, 2], vec![1], "each of a broadcast dimension counted once"),
        (vec![1 << 62, 2], vec![0, 1], "too large"),
        (vec![i64::MAX as usize, 0, 2], vec![0], "too large"),
        (vec![1 << 32, 1 << 32], vec![0, 1], "too large"),
    ] {
        let written = format!(
            "op = \"tensor.narrow\"\n[inputs.x]\ndtype = \"f32\"\nshape = {shape:?}\nview = {{ broadcast = {broadcast:?} }}\n\
             values = {{ fill = {{ constant = 1.0 }} }}\n"
        );
        std::fs::write(&path, written).expect("written");
        let output = command(folder.path(), &["replay", &path.display().to_string()]).output().expect("snuffer starts");
        let said = text(&output.stderr);
        assert!(code(&output) == 1 && said.lines().count() == 1, "{shape:?}: {said}");
        assert!(said.contains(problem), "{shape:?}: {said}");
    }
    // TOML has no such integer.
    let huge = Tensor::new(DType::F32, vec![usize::MAX, 0], Vec::new());
    let said = huge.check().expect_err("too large");
    assert!(said.lines().count() == 1 && said.contains("too large"), "{said}");
}
