//! A report has what a maintainer needs, and a program that differs from its case is detected.

use std::path::Path;

use snuffer::case::{Backward, Case};
use snuffer::causes::{Edit, Fix, KnownFailures, OnMetal, RootCause, Sighting};
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, Limits, Ran, WorkerSpec};
use snuffer::investigate::telling;
use snuffer::ops;
use snuffer::oracle::{Evidence, OracleName, Signature, judge};
use snuffer::outcome::{CudaError, Fault, Observation, Outcome, Panic, Phase, Place, Refusal, Returned};
use snuffer::program::{Agreement, ProgramOptions, agreement, agrees, outputs, program, test};
use snuffer::report::{Answer, Part, Report, Why, replay, theme};
use snuffer::store::{Finding, Store};
use snuffer::tensor::{DType, Tensor, Value};

use crate::causes::causes;
use crate::cli::{code, snuffer, text};
use crate::finding::finding;
use crate::kept::regressions;

fn labels_out_of_range() -> Case {
    let inp = Tensor::new(DType::F32, vec![1, 1], vec![Value::Float(0.0)]);
    let target = Tensor::new(DType::U8, vec![1], vec![Value::Int(255)]);
    Case::new("loss.nll").input("inp", inp).input("target", target)
}

fn returned(value: f64) -> Outcome {
    let output = Tensor::new(DType::F32, Vec::new(), vec![Value::Float(value)]);
    Outcome::Returned(Returned { outputs: vec![output], ..Returned::default() })
}

fn ran(code: i32, stdout: &str, stderr: &str) -> Ran {
    Ran { ended: true, code: Some(code), stdout: stdout.into(), stderr: stderr.into() }
}

/// A label out of range that the CPU accepts with a loss of 0, and CUDA with this one.
fn accepted(on_cuda: f64) -> Finding {
    let case = labels_out_of_range();
    let signature = Signature::new(&case.op, OracleName::Contract, "invalid not refused", "label out of range");
    let observations = [(Device::Cpu, 0.0), (Device::Sim(0), on_cuda)];
    Finding {
        signature,
        promise: ops::find(&case.op).expect("an op").promise.into(),
        observations: observations.map(|(device, loss)| Observation::new(device, returned(loss))).to_vec(),
        case,
        ..finding("")
    }
}

#[test]
fn the_results_of_other_devices_are_a_table_only_if_they_differ() {
    for (on_cuda, has_table) in [(0.0, false), (1.0, true)] {
        let finding = accepted(on_cuda);
        let op = ops::find(&finding.case.op).expect("an op");
        let evidence = Evidence::new(op, &finding.case, &finding.observations);
        let (known, done) = (KnownFailures::default(), ran(0, "0.0\n", ""));
        let report = Report { program: Ok(("", &done)), ..Report::new(&finding, &evidence, &known) };
        let said = report.markdown();
        let line = "\nThe same on CUDA (kernels run in an emulator of PTX; no GPU was used).\n";
        assert_eq!(said.contains("| CUDA, simulated | Ok("), has_table, "{said}");
        assert_eq!(said.contains(line), !has_table, "{said}");
    }
}

#[test]
fn a_report_is_an_issue_that_can_be_filed() {
    let (finding, outcome) = (accepted(0.0), returned(0.0));
    let case = &finding.case;
    let op = ops::find(&case.op).expect("an op");
    let options = ProgramOptions { device: Device::Cpu, comments: &[], outputs: &outputs(&outcome) };
    let text = program(op, case, &options).expect("short enough");
    let done = ran(0, "0.0\n", "");
    let evidence = Evidence::new(op, case, &finding.observations);
    let (known, causes) = (KnownFailures::default(), KnownFailures::new(Vec::new()).expect("causes").causes);
    let report = Report {
        program: Ok((&text, &done)),
        ablation: &["any dtype (f32, f16)".to_string()],
        since: Some("fails since 0.9.2; 0.9.1 does something else"),
        elsewhere: Some("candle 0.11.1 of candle (digest 47284ae875d2f2fe): fails in the same way"),
        ..Report::new(&finding, &evidence, &known)
    };
    insta::with_settings!({snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!("report", report.markdown());
    });
    let without = Report { program: Err("too many numbers"), ..report };
    let said = without.markdown();
    for part in ["fn main() -> Result<()> {", "## To reproduce\n\nNot run here (too many numbers):\n\n```rust\n"] {
        assert!(said.contains(part), "the program, although nobody ran it: {part} is not in\n{said}");
    }
    let cause = causes.iter().find(|cause| cause.is_proven()).expect("a proven cause");
    let change = Some("-old\n+new\n");
    let about = Report { cause: Some(Why { cause, places: &[], change, is_asked: true }), ..without };
    let said = about.markdown();
    assert!(said.starts_with(&format!("# {}\n", cause.title)), "{said}");
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(words(&said).contains(&words(&cause.explanation)), "{said}");
    let place = cause.at[0].split(' ').next_back().expect("a place");
    for part in [place, "```diff\n-old\n+new\n```", " from fail to pass and "] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    let shown = Report { cause: Some(Why { cause, places: &[], change: None, is_asked: false }), ..about };
    assert!(!shown.title().contains(&cause.title) && !shown.markdown().contains("```diff"), "the finding's own title");
}

#[test]
fn the_examples_contain_the_tests_of_their_cases() {
    let mut executor = Executor::start(&[Device::Cpu], &WorkerSpec::default()).expect("a worker starts");
    let known = KnownFailures::new(regressions()).expect("causes");
    let mut missing = Vec::new();
    for (name, regression) in regressions() {
        let cause = Sighting::kept(&regression).and_then(|failure| known.cause_of(&failure));
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples").join(&name);
        let Ok(text) = std::fs::read_to_string(folder.join("report.md")) else { continue };
        // The kept case, with natural sizes.
        let case = std::fs::read_to_string(folder.join("case.toml")).expect("the case of the report");
        let (op, case) = (ops::find(&regression.case.op).expect(&name), &Case::parse(&case).expect(&name));
        let signature = regression.signature.expect("an open regression");
        let mut seen = executor.observe(case, Deadline::Full).expect("the harness survives").remove(0);
        if signature.oracle == OracleName::Fault {
            seen.device = Device::Sim(0);
            let place = Place::from(signature.site.to_string());
            let (kind, message) = (signature.kind.to_string().into(), String::new());
            seen.outcome = Outcome::Faulted(Fault { phase: Phase::Forward, kind, place, message });
        }
        let evidence = Evidence::new(op, case, std::slice::from_ref(&seen));
        let test = test(&evidence, &seen, signature.oracle).expect(&name);
        let test = match cause {
            Some(cause) => cause.own_test(test),
            None => test,
        };
        // The file that a test belongs to has some of its imports.
        let test = test.text().split_inclusive('\n').filter(|line| !line.starts_with("use ")).collect::<String>();
        if !text.contains(test.trim_start()) {
            missing.push(format!("== {name}\n{test}"));
        }
    }
    assert!(missing.is_empty(), "docs/examples lack\n{}", missing.join("\n"));
}

#[test]
fn a_result_reads_as_an_engineer_says_it() {
    let tensor = |dtype, shape: &[usize], values: &[f64]| {
        Tensor::new(dtype, shape.to_vec(), values.iter().map(|value| Value::of(dtype, *value)).collect())
    };
    let ok = |outputs| Outcome::Returned(Returned { outputs, ..Returned::default() });
    let (place, message) = (Place::line("candle-core/src/conv.rs", 43), "overflow\nand more".to_string());
    let panic = |phase| Outcome::Panicked(Panic { phase, place: place.clone(), message: message.clone() });
    for (outcome, said) in [
        (ok(vec![tensor(DType::U32, &[1], &[3.0])]), "returns Ok([3], u32)"),
        (ok(vec![tensor(DType::F32, &[], &[0.1])]), "returns Ok(0.1, f32)"),
        (ok(vec![tensor(DType::F32, &[2, 1], &[0.5, 1.0])]), "returns Ok([0.5, 1.0], shape [2, 1], f32)"),
        (
            ok(vec![tensor(DType::U8, &[9], &[0.0; 9]), tensor(DType::U8, &[0], &[])]),
            "returns Ok(([0, 0, 0, 0, 0, 0, 0, 0, …], shape [9], u8), ([], u8))",
        ),
        (panic(Phase::Forward), "panics at candle-core/src/conv.rs:43: overflow"),
        (panic(Phase::Backward), "panics in `backward` at candle-core/src/conv.rs:43: overflow"),
        (Outcome::TimedOut(Phase::Forward), "does not return"),
    ] {
        assert_eq!(outcome.does(), said);
    }
}

#[test]
fn a_test_skips_metal_where_a_fix_leaves_it_as_it_is() {
    // Labels that are floats: an `Err` on each device.
    let target = Tensor::new(DType::F32, vec![1], vec![Value::Float(0.0)]);
    let (case, seen) = (labels_out_of_range().input("target", target), [Observation::new(Device::Cpu, returned(0.0))]);
    let evidence = Evidence::new(ops::find(&case.op).expect("an op"), &case, &seen);
    let test = test(&evidence, &seen[0], OracleName::Contract).expect("a test");
    assert!(!test.text().contains("is_metal"), "{}", test.text());
    let skips = test.without_metal().text();
    assert!(skips.contains("-> Result<()> {\n    // Skip on metal for now\n    if device.is_metal() {\n"), "{skips}");
}

#[test]
fn the_code_that_a_fix_changes_says_how_it_relates_to_metal() {
    type Place = (&'static str, &'static str, &'static str);
    let edit = |(file, function, with): Place| Edit {
        file: file.to_string(),
        function: Some(function.to_string()),
        lines: 1,
        hash: String::new(),
        with: with.to_string(),
    };
    let shared = ("candle-core/src/backprop.rs", "Tensor::backward", "new\n");
    let kernel = ("candle-kernels/src/unary.cu", "usilu", "new\n");
    // Another method stands before this one.
    let before = ("candle-nn/src/ops.rs", "SoftmaxLastDim::cpu_fwd", "    fn bwd() {}\n\n{0}\n");
    let rows: [(&[Place], OnMetal); 7] = [
        (&[shared], OnMetal::Shared),
        (&[shared, before], OnMetal::Shared),
        (&[shared, kernel], OnMetal::Partly),
        (&[kernel], OnMetal::Untouched),
        (&[("candle-nn/src/ops.rs", "SoftmaxLastDim::cpu_fwd", "new\n")], OnMetal::Untouched),
        (&[("candle-core/src/sort.rs", "Tensor::arg_sort_last_dim", "if self.is_cuda() {\n")], OnMetal::Untouched),
        (&[shared, kernel, ("candle-nn/src/ops.rs", "SoftmaxLastDim::metal_fwd", "new\n")], OnMetal::Own),
    ];
    for (edits, expected) in rows {
        let fix = Fix { edit: edits.iter().copied().map(edit).collect() };
        assert_eq!(fix.on_metal(), expected, "{edits:?}");
    }
}

#[test]
fn a_test_has_one_tolerance_of_one_digit() {
    let floats = |values: [f64; 3]| Tensor::new(DType::F64, vec![3], values.map(Value::Float).to_vec());
    let case = Case::new("tensor.exp").input("x", floats([1.0, 2.0, 3.0]));
    let outputs = vec![floats([3.0, 2_f64.exp(), 3_f64.exp()])];
    let outcome = Outcome::Returned(Returned { outputs, ..Returned::default() });
    let seen = [Observation::new(Device::Cpu, outcome)];
    let evidence = Evidence::new(ops::find(&case.op).expect("an op"), &case, &seen);
    let text = test(&evidence, &seen[0], OracleName::Reference).expect("a test").text();
    let tolerance = text.split("<= ").nth(1).and_then(|rest| rest.split(',').next()).unwrap_or_default();
    assert!(text.contains("for (place, expected) in ["), "{text}");
    assert!(tolerance.starts_with(|first: char| first.is_ascii_digit()) && tolerance[1..].starts_with("e-"), "{text}");
}

#[test]
fn a_test_compares_a_list_of_sizes_as_it_is() {
    let (_, kept) =
        regressions().into_iter().find(|(name, _)| name.starts_with("cache.rotating_positions/")).expect("kept");
    let positions = |values: &[i64]| {
        Tensor::new(DType::U32, vec![values.len()], values.iter().map(|&value| Value::Int(value)).collect())
    };
    let outcome =
        Outcome::Returned(Returned { outputs: vec![positions(&[0]), positions(&[2, 1])], ..Returned::default() });
    let seen = [Observation::new(Device::Cpu, outcome)];
    let evidence = Evidence::new(ops::find(&kept.case.op).expect("an op"), &kept.case, &seen);
    let text = test(&evidence, &seen[0], OracleName::Reference).expect("a test").text();
    for part in ["outputs.push(cache.positions(2));", "assert_eq!(outputs[0], [0]);", "assert_eq!(outputs[1], [1, 2]);"]
    {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
}

#[test]
fn a_test_prints_nothing_and_waits_only_for_late_errors() {
    let (phase, place) = (Phase::Forward, Place::Unknown);
    let panic = Outcome::Panicked(Panic { phase, place: place.clone(), message: String::new() });
    let fault = Outcome::Faulted(Fault { phase, kind: CudaError::IllegalAddress, place, message: String::new() });
    let case = Case::new("random.init");
    for (outcome, waits) in [(panic, false), (fault, true)] {
        let seen = [Observation::new(Device::Sim(0), outcome)];
        let evidence = Evidence::new(ops::find(&case.op).expect("an op"), &case, &seen);
        let text = test(&evidence, &seen[0], OracleName::Contract).expect("a test").text();
        assert!(!text.contains("println!") && !text.contains("let var"), "{text}");
        assert_eq!(text.contains("device.synchronize()?;"), waits, "{text}");
    }
}

#[test]
fn a_test_about_ids_on_cuda_accepts_an_assert_and_has_a_file_of_its_own() {
    let (case, seen) =
        (labels_out_of_range(), [Device::Cpu, Device::Sim(0)].map(|device| Observation::new(device, returned(0.0))));
    let evidence = Evidence::new(ops::find(&case.op).expect("an op"), &case, &seen);
    let [cpu, cuda] = [0, 1].map(|place| test(&evidence, &seen[place], OracleName::Contract).expect("a test"));
    assert!(!cpu.text().contains("test_device"), "{}", cpu.text());
    assert_eq!(cpu.place(), "the end of candle-nn/tests/loss.rs");
    assert!(cuda.text().contains("called.and_then(|_| device.synchronize());"), "{}", cuda.text());
    assert_eq!(cuda.place(), "a new file candle-nn/tests/nll_rejects_label_out_of_range.rs");
}

#[test]
fn a_program_that_differs_from_its_case_is_detected() {
    let case = labels_out_of_range();
    let refused = Outcome::Rejected(Refusal { variant: "Msg".into(), message: "no such label".into() });
    let panicked =
        Outcome::Panicked(Panic { phase: Phase::Forward, place: Place::Unknown, message: "overflow".into() });
    let late = Outcome::TimedOut(Phase::Forward);
    let hangs = Ran { ended: false, code: None, ..ran(0, "", "") };
    let (error, panic) = (ran(1, "", "Error: no such label\n"), ran(101, "", "panicked at x.rs:1:\noverflow\n"));
    let dead = Ran { code: None, ..ran(0, "", "") };
    let does = [
        (returned(0.5), ran(0, "0.5\n", "")),
        (refused, error),
        (panicked, panic),
        (late, hangs),
        (Outcome::StackOverflow(Phase::Forward), dead),
    ];
    for (row, (outcome, _)) in does.iter().enumerate() {
        for (column, (_, ran)) in does.iter().enumerate() {
            assert_eq!(agrees(&case, outcome, ran), row == column, "{outcome:?} and {ran:?}");
        }
    }
    assert!(!agrees(&case, &returned(0.5), &ran(0, "0.25\n", "")), "another value");
    assert!(!agrees(&case, &returned(0.5), &ran(0, "0.5 0.5\n", "")), "more values");
}

#[test]
fn a_program_whose_wrong_elements_have_other_wrong_values_shows_the_finding() {
    let x = Tensor::new(DType::F32, vec![2], vec![Value::Float(0.0), Value::Float(1.0)]);
    let case = Case::new("tensor.exp").input("x", x);
    let op = ops::find("tensor.exp").expect("an op");
    let evidence = Evidence::new(op, &case, &[]);
    // exp is 1 and 2.7182817: the first element is wrong.
    let output = Tensor::new(DType::F32, vec![2], vec![Value::Float(7.0), Value::Float(f64::from(1f32.exp()))]);
    let seen = Outcome::Returned(Returned { outputs: vec![output], ..Returned::default() });
    for (printed, expected) in [
        ("[7.0, 2.7182817]\n", Agreement::Same),
        ("[9.0, 2.7182817]\n", Agreement::OtherValues),
        ("[1.0, 2.7182817]\n", Agreement::Different),
        ("[9.0, 3.0]\n", Agreement::Different),
        ("[9.0]\n", Agreement::Different),
    ] {
        assert_eq!(agreement(&evidence, &seen, &ran(0, printed, "")), expected, "{printed}");
    }
    assert_eq!(agreement(&evidence, &seen, &ran(1, "[9.0, 2.7182817]\n", "")), Agreement::Different, "it fails");
}

#[test]
fn upstream_links_come_from_a_finding_with_the_same_cause() {
    let known = KnownFailures::new(regressions()).expect("causes");
    let signature = |op: &str, oracle: OracleName, kind: &str, site: &str| Signature::new(op, oracle, kind, site);
    let (reference, gather) = (OracleName::Reference, "gather (candle-kernels/src/indexing.cu)");
    let rows = [
        // Its own regression has a link, as its cause has.
        (signature("tensor.chunk", OracleName::Contract, "invalid not refused", "no chunks"), None, Some("3778")),
        // A layer fails as the tensor's method of the same name does.
        (
            signature("layer.conv1d", OracleName::Gradient, "wrong value", "gradient of kernel"),
            Some("conv1d"),
            Some("3836"),
        ),
        // Its cause has links.
        (signature("loss.cross_entropy", OracleName::Fault, "assert", gather), None, Some("3161")),
        (signature("loss.cross_entropy", OracleName::Fault, "assert", gather), None, Some("3095")),
        // A view alone is no cause.
        (signature("tensor.add", reference, "wrong value", "in a view"), None, None),
        (signature("tensor.gather", reference, "wrong value", ""), Some("gather"), Some("2567")),
    ];
    for (signature, alike, number) in rows {
        let case = Case::new(&signature.op);
        // A fault is one of a CUDA device.
        let device = if signature.oracle == OracleName::Fault { Device::Sim(0) } else { Device::Cpu };
        let failure = Sighting { signature: &signature, case: &case, devices: vec![device], candle: None };
        let found = known.upstream(&failure);
        let Some(number) = number else {
            assert_eq!(found, None, "{signature}");
            continue;
        };
        let found = found.unwrap_or_else(|| panic!("{signature} has no link"));
        assert!(found.urls().any(|url| url.ends_with(&format!("/{number}"))), "{signature}: {found:?}");
        let title = found.same_cause_as.unwrap_or_default();
        assert!(
            title.contains(alike.unwrap_or_default()) && title.is_empty() == alike.is_none(),
            "{signature}: {title}"
        );
    }
}

#[test]
fn a_replay_leads_with_the_answer_and_names_what_lies_outside_a_view() {
    let mut executor = Executor::start(&[Device::Cpu], &WorkerSpec::default()).expect("a worker starts");
    let failures = KnownFailures::new(regressions()).expect("causes");
    for (name, answer) in [
        (
            "tensor.roll/empty-dimension-panics",
            "candle is wrong: it panics: attempt to calculate the remainder with a divisor of zero (candle-core/",
        ),
        ("op.softmax_last_dim/gradient-missing", "candle is wrong: no gradient of x\n"),
        (
            "loss.nll/max-label-accepted",
            "your call is invalid: label 4294967295 of 1 class, at [0] of target\n          on cpu, candle accepts it without an error\n",
        ),
        ("tensor.add_scalar/negative-scalar-ignored-for-u32", "candle is wrong: the value is 1; expected 0\n"),
        (
            "tensor.matmul/five-dimensions-refused",
            "candle is wrong: a valid call is rejected: MatMulUnexpectedStriding",
        ),
        (
            "tensor.conv1d/strided-kernel-wrong-values",
            "candle is wrong: element [0, 0, 0] is 80.0, from memory outside the view; expected 0.0\n",
        ),
        (
            "tensor.unfold/backward-shape-mismatch-with-gaps",
            "candle is wrong: the backward pass is rejected: Shape mismatch",
        ),
    ] {
        let (_, regression) = failures.regressions.iter().find(|(own, _)| own == name).expect(name);
        let (op, case) = (ops::find(&regression.case.op).expect(name), &regression.case);
        let observations = executor.observe(case, Deadline::Full).expect("the harness survives");
        let evidence = Evidence::new(op, case, &observations);
        let verdict = judge(&evidence);
        let shown = replay(&evidence, &verdict, &Answer::new(&evidence, &verdict, &failures));
        assert!(shown.starts_with(&format!("answer    {answer}")), "{name}: {shown}");
        let is_around = shown.contains("80.0 comes from memory outside the view");
        assert_eq!(is_around, name.starts_with("tensor.conv1d"), "{name}: {shown}");
    }
}

#[test]
fn the_answer_says_what_a_gpu_may_do_where_only_the_simulated_device_notices() {
    let failures = KnownFailures::new(regressions()).expect("causes");
    let (_, regression) = failures
        .regressions
        .iter()
        .find(|(name, _)| name.contains("broadcast-ids-read"))
        .expect("a read of other memory");
    let op = ops::find(&regression.case.op).expect("registered");
    for (device, is_said) in [(Device::Sim(0), true), (Device::Cuda(0), false)] {
        let (kind, place, message) = (CudaError::IllegalAddress, Place::from("is_u32_f32"), "Invalid read".to_string());
        let fault = Outcome::Faulted(Fault { phase: Phase::Forward, kind, place, message });
        let observations = [Observation::new(device, fault)];
        let evidence = Evidence::new(op, &regression.case, &observations);
        let verdict = judge(&evidence);
        let shown = replay(&evidence, &verdict, &Answer::new(&evidence, &verdict, &failures));
        assert_eq!(shown.contains("a GPU does not check each access"), is_said, "{shown}");
    }
}

#[test]
fn a_report_has_a_program_of_plain_candle_that_ran_and_whose_crate_needs_candle_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let (case, store) = (folder.path().join("case.toml"), folder.path().join("findings"));
    let text = "op = \"op.softmax_last_dim\"\nbackward = \"sum\"\n\
        [inputs.x]\ndtype = \"f32\"\nshape = [1, 2]\nvalues = { list = [0.5, 1.0] }\n";
    std::fs::write(&case, text).expect("writable");
    let imported = snuffer(&store, &["import", &case.to_string_lossy(), "--device", "cpu"]);
    assert_eq!(imported.status.code(), Some(2), "{}", text_of(&imported.stderr));
    let reports = folder.path().join("reports");
    let made = snuffer(&store, &["report", "softmax_last_dim", "--into", &reports.to_string_lossy()]);
    let report = text_of(&made.stdout);
    assert!(made.status.success(), "{report}{}", text_of(&made.stderr));
    assert!(
        report.contains("\n\nprints\n\n```\n[0.26894143") && report.contains("]\nno gradient of x\n```"),
        "{report}"
    );
    let kept = std::fs::read_dir(&reports).expect("reports").next().expect("one").expect("readable").path();
    let manifest: toml::Table = std::fs::read_to_string(kept.join("Cargo.toml")).expect("kept").parse().expect("TOML");
    let needed: Vec<&String> = manifest["dependencies"].as_table().expect("dependencies").keys().collect();
    assert_eq!(needed, ["candle-core", "candle-nn"]);
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn the_case_of_a_report_has_natural_sizes_and_a_loss_that_shows_the_gradient() {
    let folder = tempfile::tempdir().expect("a folder");
    // It is minimal: the gradient of the sum of softmax([0.]) is 0 in any case.
    let kept = "corpora/regressions/op.softmax_last_dim/gradient-missing/case.toml";
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(kept);
    let imported = snuffer(folder.path(), &["import", kept.to_str().expect("a path"), "--device", "cpu"]);
    assert_eq!(code(&imported), 2, "{}", text(&imported.stderr));
    let (_, finding) = Store::open(folder.path()).expect("a store").readable().expect("findings").remove(0);
    let shown = telling(&finding, &[], Limits::default()).expect("a worker starts");
    assert_eq!(shown.signature, finding.signature);
    let x = &shown.case.inputs["x"];
    assert_eq!((&x.shape, x.floats(), shown.case.backward), (&vec![2], vec![1.0, 2.0], Backward::Weighted));
    assert_eq!(shown.observations.len(), 1, "what the device did with this case");
}

#[test]
fn the_case_of_a_report_does_not_grow_into_another_bug() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = "corpora/regressions/tensor.conv_transpose1d/f16-channels-rounded-on-cpu/case.toml";
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(kept);
    let imported = snuffer(folder.path(), &["import", kept.to_str().expect("a path"), "--device", "cpu"]);
    assert_eq!(code(&imported), 2, "{}", text(&imported.stderr));
    let (_, finding) = Store::open(folder.path()).expect("a store").readable().expect("findings").remove(0);
    // A batch of two is multiplied wrongly on the CPU in every dtype, and the failure has the same name.
    for (causes, batch) in [(causes(), 1), (Vec::new(), 2)] {
        let shown = telling(&finding, &causes, Limits::default()).expect("a worker starts");
        assert_eq!(shown.case.inputs["x"].shape[0], batch, "{}", shown.case.to_text());
    }
}

#[test]
fn the_report_of_a_theme_counts_tests_and_tells_the_proofs_of_its_changes() {
    let (causes, mut others, themes) = (causes(), causes(), RootCause::themes().expect("themes"));
    let place = causes.iter().position(RootCause::is_proven).expect("a proven cause");
    others[place].proof = None;
    let (proven, unproven) = (&causes[place], &others[place]);
    let with = |cause| Part { cause, places: cause.places(), test: None, change: Some("-old\n+new\n".to_string()) };
    let (_, about) = themes.iter().next().expect("a theme");
    let said = theme(about, &[with(proven), with(unproven)], |_| None);
    for part in ["\nTwo commits, in this order, without tests.\n", "| below, not tried"] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert_eq!(said.matches(" from fail to pass and ").count(), 1, "{said}");
    let alone = theme(about, &[with(unproven)], |_| None);
    assert!(alone.contains("\nOne commit, without tests.\n"), "{alone}");
    assert_eq!(alone.matches("- Metal: not tried").count(), 1, "{alone}");
}
