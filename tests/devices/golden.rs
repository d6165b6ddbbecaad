//! Golden vectors: what is recorded is reproduced, a changed kernel is named, and nothing recorded is not a pass.

use std::path::Path;
use std::process::{Command, Output};

use snuffer::device::Device;
use snuffer::exec::WorkerSpec;
use snuffer::exec::environment::{JITTER, MUTATE};
use snuffer::golden::{Recording, check, files, forms};

use crate::json::valid;
use crate::machine::stand_in;
use crate::output::{code, text};
use crate::place;
use crate::plan::{RECORDINGS, Test, tests};

pub const TESTS: &[Test] = tests![
    Once: every_form_to_record_has_operands_of_its_own_that_never_change;
    Simulated: a_recording_is_reproduced_to_the_bit_and_a_changed_kernel_is_named,
    a_wrong_bit_of_a_form_is_found_unless_its_document_allows_it,
    without_recordings_a_check_is_not_run_and_never_passes,
    a_simulated_device_is_never_recorded_as_hardware;
    Recorded: the_recordings_of_hardware_hold_on_the_simulated_device
];

fn snuffer(args: &[&str]) -> Output {
    let mut command = Command::new(place::snuffer());
    command.args(args).envs(stand_in()).env_remove("SNUFFER_DEVICES");
    command.output().expect("snuffer starts")
}

fn record(folder: &Path) {
    let into = folder.to_str().expect("utf-8");
    let drawn = ["--ops", "tensor.sub,tensor.exp,tensor.sum", "--cases", "150", "--jobs", "2"];
    let output = snuffer(&[&["lab", "golden", "record", "--stand-in", "--into", into][..], &drawn].concat());
    assert_eq!(code(&output), 0, "{}{}", text(&output.stdout), text(&output.stderr));
}

fn a_recording_is_reproduced_to_the_bit_and_a_changed_kernel_is_named(sim: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path());
    let shown = snuffer(&["lab", "golden", "check", "--json", folder.path().to_str().expect("utf-8")]);
    assert_eq!(code(&shown), 0, "{}{}", text(&shown.stdout), text(&shown.stderr));
    let checked = valid("golden", &text(&shown.stdout)).remove(0);
    assert_eq!((&checked["exact"], &checked["stand_in"]), (&checked["vectors"], &true.into()), "{checked:#}");
    assert!(checked["vectors"].as_u64() > Some(1_000), "{checked:#}");
    let bytes: u64 =
        files(folder.path()).expect("listed").iter().map(|path| path.metadata().expect("there").len()).sum();
    assert!(bytes < 1 << 20, "{bytes} bytes");
    let with = |variable, value: &str| {
        let spec = WorkerSpec::default().with([(variable, value.into())]);
        check(sim, &spec, folder.path(), &|_| {}).expect("the harness survives").expect("recorded")
    };
    let jittered = with(JITTER, "3");
    assert!(jittered.failures.is_empty() && jittered.latitude > 10, "{jittered:#?}");
    let changed = with(MUTATE, "bsub_f32:#5").failures;
    assert!(!changed.is_empty());
    for failure in changed {
        assert!(failure.name == "tensor.sub" && failure.kernels.contains(&"bsub_f32".to_string()), "{failure:?}");
        assert!(!failure.difference.is_empty());
    }
}

fn a_wrong_bit_of_a_form_is_found_unless_its_document_allows_it(sim: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    record(folder.path());
    let change = |family: &str, form: &str, row: usize, by: u64| {
        let path = folder.path().join(format!("forms-{family}.toml"));
        let mut recording = Recording::read(&path).expect("recorded");
        let line = recording.forms.get_mut(form).expect("the form");
        let mut words: Vec<String> = line.split(' ').map(str::to_string).collect();
        let word = u64::from_str_radix(&words[row + 1], 16).expect("bits");
        words[row + 1] = format!("{:x}", word ^ by);
        *line = words.join(" ");
        recording.keep(&path).expect("written");
    };
    // A random row, so that the result is an ordinary number.
    change("approximate", "ex2.approx.f32", 30, 1);
    change("approximate", "rcp.approx.ftz.f32", 30, 0x40);
    change("float", "add.f32", 30, 1);
    let checked = check(sim, &WorkerSpec::default(), folder.path(), &|_| {}).expect("survives").expect("recorded");
    let mut wrong: Vec<&str> = checked.failures.iter().map(|failure| failure.name.as_str()).collect();
    wrong.sort_unstable();
    assert_eq!((wrong, checked.latitude), (vec!["add.f32", "rcp.approx.ftz.f32"], 1));
    assert!(checked.failures[0].difference.contains("result 0 of row 30 is "), "{:?}", checked.failures);
}

fn without_recordings_a_check_is_not_run_and_never_passes(_: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    let output = snuffer(&["lab", "golden", "check", folder.path().to_str().expect("utf-8")]);
    let shown = text(&output.stderr);
    assert!(code(&output) == 1 && shown.contains("not run: no golden vectors are recorded in "), "{shown}");
}

fn a_simulated_device_is_never_recorded_as_hardware(_: Device) {
    let folder = tempfile::tempdir().expect("a folder");
    let into = folder.path().to_str().expect("utf-8");
    let output = snuffer(&["lab", "golden", "record", "--into", into, "--ops", "tensor.neg", "--cases", "2"]);
    let shown = text(&output.stderr);
    assert!(code(&output) == 5 && shown.contains("so it is not hardware"), "{shown}");
    assert!(files(folder.path()).expect("listed").is_empty());
}

fn the_recordings_of_hardware_hold_on_the_simulated_device(sim: Device) {
    let checked =
        check(sim, &WorkerSpec::default(), &place::root().join(RECORDINGS), &|_| {}).expect("the harness survives");
    let checked = checked.expect("recordings");
    assert!(!checked.stand_in, "a stand-in's vectors are kept as hardware's");
    assert!(checked.failures.is_empty() && checked.vectors > 0, "{:#?}", checked.failures);
}

fn every_form_to_record_has_operands_of_its_own_that_never_change() {
    let forms = forms();
    assert!(forms.len() > 1_000, "{}", forms.len());
    let hashes: std::collections::BTreeSet<u64> = forms.iter().map(snuffer::golden::FormSpec::hash).collect();
    assert_eq!(hashes.len(), forms.len());
    let exp2 = forms.iter().find(|form| form.name == "ex2.approx.f32").expect("a form");
    let operands = exp2.case().inputs["x"].ints();
    assert_eq!((operands.len(), operands[0], operands[10]), (32, 0, 0x3f80_0000));
}
