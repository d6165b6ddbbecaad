//! Hunts with another candle: it is built and run, and its findings are told from those of the release under test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

use snuffer::candles::{prepare, released};
use snuffer::causes::{Proof, RootCause};
use snuffer::device::Device;
use snuffer::exec::{WorkerSpec, from_here};
use snuffer::fixes::{Kept, Subject, observe};
use snuffer::store::regression::Regression;
use snuffer::store::{Record, Store};

use crate::kept::regressions;
use crate::output::{code, text};
use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: a_patch_is_found_and_the_release_does_not_show_it, with_all_fixes_what_they_fix_passes_on_the_cpu;
    Simulated: with_cudnn_convolutions_fail_in_ways_of_their_own
];

fn snuffer(store: &Path, args: &str) -> Output {
    let mut command = Command::new(place::snuffer());
    command.args(args.split(' ')).arg("--store").arg(store).env_remove("SNUFFER_DEVICES");
    command.output().expect("snuffer starts")
}

/// A patch of candle-nn by which `mse` is the mean of absolute differences, `binary_cross_entropy_with_logit` needs much more memory,
/// and `huber` much more time. It breaks nothing else.
fn patch() -> String {
    let source = fs::read_to_string(released("candle-nn").expect("fetched").join("src/loss.rs")).expect("readable");
    let lines: Vec<&str> = source.lines().collect();
    let hunk = |part: &str, change: fn(&str) -> String| {
        let at = lines.iter().position(|line| line.contains(part)).expect("the line is there");
        let new = change(lines[at]);
        let count = new.lines().count();
        format!("@@ -{line} +{line},{count} @@\n-{}\n+{}\n", lines[at], new.replace('\n', "\n+"), line = at + 1)
    };
    let wrong = hunk("(inp - target)?.sqr()?", |line| line.replace(".sqr()?", ".abs()?"));
    let hungry = hunk("let inp = crate::ops::sigmoid(inp)?", |line| {
        format!("    drop(std::hint::black_box(vec![1u8; 64 << 20]));\n{line}")
    });
    let slow = hunk("let diff = (inp - target)?", |line| {
        format!("    (0..60_000_000u64).for_each(|number| drop(std::hint::black_box(number)));\n{line}")
    });
    let file = "candle-nn/src/loss.rs";
    format!("--- a/{file}\n+++ b/{file}\n{wrong}{hungry}{slow}")
}

/// The folder of that patch, at a place that stays: Cargo builds less there the next time.
pub fn patched() -> PathBuf {
    let patches = Path::new(env!("CARGO_TARGET_TMPDIR")).join("candles-test");
    fs::create_dir_all(&patches).expect("writable");
    fs::write(patches.join("losses.patch"), patch()).expect("writable");
    patches
}

fn a_patch_is_found_and_the_release_does_not_show_it() {
    let patches = patched();
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("findings");
    let candle = format!("--candle {} --device cpu", patches.display());

    let hunted = snuffer(&store, &format!("hunt --ops loss.mse,loss.nll --cases 60 --seed 1 {candle}"));
    let (said, shown) = (text(&hunted.stderr), text(&hunted.stdout));
    assert_eq!(code(&hunted), 2, "{said}{shown}");
    assert!(said.contains("testing   candle ") && shown.contains("loss.mse returns a wrong value"), "{said}{shown}");
    let own = fs::read_dir(&store).expect("a store").next().expect("a folder").expect("readable").path();
    assert_eq!(fs::read_dir(&store).expect("a store").count(), 1, "findings of the release are elsewhere");
    let record =
        Record::latest(&Store::existing(&own).expect("a store").campaigns()).expect("readable").expect("one").1;
    assert_eq!(record.candle.expect("said which").named, patches.display().to_string());
    let typed = from_here(&patches.display().to_string());
    let replay = format!("--candle {typed} --store {}", own.display());
    assert!(shown.contains(&format!("replay ID {replay}")), "{shown}");

    let all = Store::existing(&own).expect("a store").all().expect("readable");
    let (name, _) = all.iter().find(|(name, _)| name.starts_with("loss.mse")).expect("the patch");
    let finding = own.join(name);
    let finding = finding.display();
    let patched = snuffer(&store, &format!("replay {finding} {candle}"));
    assert_eq!((code(&patched), text(&patched.stderr).contains("note:")), (2, false), "{}", text(&patched.stdout));
    let released = snuffer(&store, &format!("replay {finding} --device cpu"));
    assert_eq!(code(&released), 0, "{}", text(&released.stdout));
    assert!(text(&released.stderr).contains("note: the finding is of candle"), "{}", text(&released.stderr));
    let shown = text(&snuffer(&own, &format!("findings show {name}")).stdout);
    assert!(shown.contains(&format!("--candle {typed}")) && shown.contains("\ncandle    candle "), "{shown}");
    let report = snuffer(&store, &format!("report {finding}"));
    assert_eq!((code(&report), text(&report.stderr).contains("reports are only for candle")), (1, true));

    // A campaign goes on with the same candle only, and regressions are those of the patched one.
    let other = snuffer(&own, "hunt --resume --cases 2 --device cpu");
    assert!(code(&other) == 1 && text(&other.stderr).contains("start a new one"), "{}", text(&other.stderr));
    let kept = snuffer(&store, &format!("regressions loss.nll {candle}"));
    assert_eq!(code(&kept), 0, "{}{}", text(&kept.stdout), text(&kept.stderr));
}

fn with_all_fixes_what_they_fix_passes_on_the_cpu() {
    let device = Device::Cpu;
    let candle = prepare("fixes", &[device], None).expect("candle with all fixes is built");
    let subject = |(_, kept): (String, Regression)| {
        let name = kept.signature.as_ref()?.slug();
        Some(Subject { name, kept, causes: BTreeMap::new() })
    };
    let subjects: Vec<Subject> = regressions().into_iter().filter_map(subject).collect();
    let spec = WorkerSpec { candle, ..WorkerSpec::default() };
    let folder = tempfile::tempdir().expect("a folder");
    let observe = || {
        let kept = Kept::open(folder.path(), &spec, &[device]).expect("a file");
        let ran = AtomicUsize::new(0);
        let count = |_: &str| _ = ran.fetch_add(1, Ordering::Relaxed);
        (observe(&subjects, &[device], &spec, 2, &kept, &count).expect("the harness survives"), ran.into_inner())
    };
    let (seen, ran) = observe();
    assert_eq!(ran, subjects.len());
    assert_eq!(observe(), (seen.clone(), 0), "what was seen is kept, and nothing runs twice");
    let causes = RootCause::own().expect("causes");
    let (mut fixed, mut left) = (0, Vec::new());
    for (Subject { name, kept, .. }, seen) in subjects.iter().zip(seen) {
        let fixed_here = |proof: &Proof| proof.devices.contains(&device) && proof.fixes.contains(name);
        if !causes.iter().filter_map(|cause| cause.proof.as_ref()).any(fixed_here) {
            continue;
        }
        let own = kept.signature.as_ref().expect("it fails").on_one_device();
        if seen.get(&device).is_some_and(|now| now.iter().any(|other| own.is_alike(other))) {
            left.push(name);
        } else {
            fixed += 1;
        }
    }
    assert!(left.is_empty(), "proofs say that these pass: {left:?}");
    assert!(fixed >= 80, "only {fixed} regressions are fixed");
}

/// The gradient of a strided Conv1d, and sums of f16. Without cuDNN the first is wrong in other places, and the second right.
fn with_cudnn_convolutions_fail_in_ways_of_their_own(device: Device) {
    let tensor = |dtype: &str, shape: &str, values: &str| {
        format!("dtype = \"{dtype}\"\nshape = {shape}\nvalues = {{ fill = {{ {values} }} }}\n")
    };
    let case = |head: &str, dtype: &str, [x, kernel]: [&str; 2], values: &str| {
        let (x, kernel) = (tensor(dtype, x, values), tensor(dtype, kernel, values));
        format!("{head}\n[inputs.x]\n{x}[inputs.kernel]\n{kernel}")
    };
    let strided = "op = \"tensor.conv1d\"\nbackward = \"weighted\"\n[params]\nstride = 2";
    let shapes = ["[2, 3, 16]", "[4, 3, 3]"];
    let noise = "constant = 0.0, noise = 3";
    let large = ["[1, 4, 1, 1]", "[1, 4, 1, 1]"];
    let cases = [
        (case(strided, "f32", shapes, noise), 2, "gradient of kernel"),
        (case("op = \"tensor.conv2d\"", "f16", ["[1, 4100, 1, 1]", "[1, 4100, 1, 1]"], "constant = 1.0"), 2, "2048"),
        (case("op = \"tensor.conv2d\"", "f32", large, noise), 0, "pass"),
    ];
    let folder = tempfile::tempdir().expect("a folder");
    for (case, expected, said) in cases {
        let path = folder.path().join("case.toml");
        fs::write(&path, &case).expect("writable");
        let replayed = snuffer(folder.path(), &format!("replay {} --device {device} --candle +cudnn", path.display()));
        let shown = text(&replayed.stdout) + &text(&replayed.stderr);
        assert_eq!(code(&replayed), expected, "{shown}");
        assert!(shown.contains(said), "{said}: {shown}");
    }
}
