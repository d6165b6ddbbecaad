//! What to avoid: the known bugs of an op, a model, a device, a dtype or a symptom, and the order of causes.

use serde_json::Value;
use snuffer::causes::{Hit, RootCause};
use snuffer::tensor::DType;

use crate::causes::causes;
use crate::cli::{code, snuffer, text};

/// The names of the bugs that `snuffer avoid` lists.
fn avoided(args: &[&str]) -> Vec<String> {
    let store = tempfile::tempdir().expect("a folder");
    let output = snuffer(store.path(), &[&["avoid", "--json"], args].concat());
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let lines = text(&output.stdout);
    let name = |line: &str| {
        let bug: Value = serde_json::from_str(line).expect("JSON");
        bug["name"].as_str().expect("a name").to_string()
    };
    lines.lines().map(name).collect()
}

const CONV1D: &str = "conv1d-multiplies-a-strided-kernel-as-if-it-were";
const SUMS: &str = "sums-of-f16-on-cuda-add-up-in-f16";
const UPSAMPLING: &str = "upsampling-an-empty-tensor-panics";

#[test]
fn bugs_are_chosen_by_op_model_device_dtype_and_symptom() {
    let rows: [(&[&str], &str, bool); 12] = [
        (&["--ops", "tensor.conv1d"], CONV1D, true),
        (&["--ops", "tensor.conv1d"], SUMS, false),
        (&["--model", "whisper"], CONV1D, true),
        (&["--model", "vit"], CONV1D, false),
        (&["--device", "cpu"], CONV1D, true),
        (&["--device", "cpu"], SUMS, false),
        (&["--device", "cuda", "--dtype", "f16"], SUMS, true),
        (&["--dtype", "bf16"], SUMS, false),
        (&["--symptom", "wrong-gradient"], CONV1D, true),
        (&["--symptom", "panic"], CONV1D, false),
        (&[], UPSAMPLING, false),
        (&["--all"], UPSAMPLING, true),
    ];
    for (args, name, is_listed) in rows {
        assert_eq!(avoided(args).iter().any(|own| own == name), is_listed, "{name} of {args:?}");
    }
}

#[test]
fn an_op_or_a_model_without_bugs_is_one_line_of_advice() {
    let store = tempfile::tempdir().expect("a folder");
    for (args, advice) in [
        (["avoid", "--ops", "no.such"], "no op matches `no.such`; `snuffer ops` lists them"),
        (["avoid", "--model", "gpt9"], "models are named as in candle-transformers/src/models, such as `llama`"),
    ] {
        let output = snuffer(store.path(), &args);
        let said = text(&output.stderr);
        assert!(code(&output) == 1 && said.contains(advice) && said.lines().count() == 1, "{said}");
    }
}

#[test]
fn a_bug_has_its_symptom_its_models_and_what_to_do() {
    let store = tempfile::tempdir().expect("a folder");
    let output = snuffer(store.path(), &["avoid", "--ops", "tensor.conv1d", "--symptom", "wrong-gradient"]);
    let said = text(&output.stdout);
    for part in [
        "memory  conv1d",
        "seen as    wrong gradient, on cpu and cuda; by ordinary calls",
        "called by  ",
        "instead    ",
    ] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
}

#[test]
fn those_that_hit_most_people_come_first_and_empty_tensors_last() {
    let causes = causes();
    let order = RootCause::by_impact(&causes);
    let place = |name: &str| order.iter().position(|cause| cause.name == name).expect(name);
    assert!(place(SUMS) < place("sorting-nan-leaves-the-rest-out-of-order"), "every sum before a row with NaN");
    let bugs: Vec<&&RootCause> = order.iter().filter(|cause| cause.note.is_none()).collect();
    let first_empty = bugs.iter().position(|cause| cause.hit == Hit::Empty).expect("some are of empty tensors");
    assert!(bugs[first_empty..].iter().all(|cause| cause.hit == Hit::Empty));
    assert!(order[bugs.len()..].iter().all(|cause| cause.note.is_some()), "notes are last");
}

#[test]
fn every_cause_belongs_to_a_theme_of_several_and_names_dtypes_that_there_are() {
    let (causes, themes) = (causes(), RootCause::themes().expect("themes"));
    assert!(themes.len() <= 25, "{} themes", themes.len());
    for key in themes.keys() {
        assert!(causes.iter().filter(|cause| cause.theme == *key).count() > 1, "{key} has one cause");
    }
    for cause in &causes {
        for dtype in &cause.dtypes {
            let is_float = DType::ALL.iter().any(|own| own.name() == dtype);
            assert!(is_float || dtype.starts_with('q'), "{}: {dtype}", cause.name);
        }
    }
    let with_models = causes.iter().filter(|cause| !cause.models.is_empty()).count();
    assert!(with_models > 100, "only {with_models} causes are in what a model calls");
}
