//! Every regression is well kept: its title, its name, its snapshots, and what it accuses candle of.

use std::path::Path;

use snuffer::device::Device;
use snuffer::ops::{self, Contract};
use snuffer::outcome::{Observation, Outcome, Refusal, Returned};
use snuffer::store::Platform;
use snuffer::store::regression::{Regression, surprises};
use snuffer::tensor::{DType, Tensor, Value};

use crate::kept::{REGRESSIONS, regressions};

#[test]
fn every_regression_has_a_sentence_as_title_a_short_name_and_its_own_snapshots() {
    let mut wrong = Vec::new();
    for (name, regression) in regressions() {
        let title = &regression.title;
        let is_signature = regression.signature.as_ref().is_some_and(|own| own.to_string() == *title);
        if is_signature || !title.contains(' ') || title.len() > 100 || !begins_well(title, &regression) {
            wrong.push(format!("{name}: `{title}` is not a sentence of at most 100 characters"));
        }
        let names_source = name.split(['.', '-']).any(|word| ["rs", "cu", "cuh"].contains(&word)) || name.contains(':');
        if names_source || name.len() > 80 {
            wrong.push(format!("{name}: the name is too long, or names a line of the source"));
        }
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(REGRESSIONS).join(&name);
        let entries = std::fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").file_name());
        let mut files: Vec<_> = entries.map(|file| file.to_string_lossy().into_owned()).collect();
        // A snapshot under review is not part of the repository.
        files.retain(|file| !file.ends_with(".snap.new"));
        files.sort();
        if files != ["case.toml", "replay.snap"] {
            wrong.push(format!("{name}: the folder holds {}", files.join(", ")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_kept_failure_is_a_call_of_which_something_is_promised() {
    // The process dies, memory is uninitialized, or devices or siblings disagree, which is wrong whatever was promised.
    const UNSPECIFIED: [&str; 5] = [
        "attention.flash_attn/causal-empty-value-heads-segfault",
        "op.moe_gemm/moe-gemm-on-cuda-leaves-rows-uninitialized-that-no",
        "quantized.matmul/a-quantized-product-on-cuda-is-infinite-for-large",
        "random.rand/rand-on-cuda-accepts-an-upper-bound-below-the",
        "rotary.rope_slow/rope-slow-gives-another-result-than-rope-for-one",
    ];
    let all = regressions();
    let failures = all.iter().filter(|(_, regression)| regression.signature.is_some());
    let unspecified = failures.filter(|(name, regression)| {
        let op = ops::find(&regression.case.op).expect(name);
        matches!(op.contract(&regression.case), Contract::Unspecified(_))
    });
    let names: Vec<&str> = unspecified.map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, UNSPECIFIED);
}

#[test]
fn a_regression_about_two_devices_is_expected_on_the_second_alone() {
    let all = regressions();
    let (_, regression) = all.iter().find(|(name, _)| name == "tensor.conv2d/bf16-only-on-cuda").expect("kept");
    let output = Tensor::new(DType::Bf16, vec![1, 1, 1, 1], vec![Value::Float(0.0)]);
    let returned = Outcome::Returned(Returned { outputs: vec![output], ..Returned::default() });
    let refused = Outcome::Rejected(Refusal { variant: "UnsupportedDTypeForOp".into(), message: "no bf16".into() });
    let (cpu, sim) = (Device::Cpu, Device::Sim(0));
    let rows = [
        (vec![(cpu, &refused), (sim, &returned)], vec![]),
        (vec![(cpu, &refused)], vec![]),
        (vec![(cpu, &returned), (sim, &returned)], vec![sim]),
    ];
    for (outcomes, surprised) in rows {
        let seen: Vec<_> = outcomes.into_iter().map(|(at, outcome)| Observation::new(at, outcome.clone())).collect();
        let op = ops::find(&regression.case.op).expect("an op");
        let found = surprises(regression, op, &seen, |device| Platform::today(device, None));
        assert_eq!(found.iter().map(|one| one.device).collect::<Vec<_>>(), surprised, "{found:?}");
    }
}

/// Whether a title begins with a capital letter or an identifier: a part of the op's name, a dtype, or candle's `backward`.
fn begins_well(title: &str, regression: &Regression) -> bool {
    let first = title.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).next().unwrap_or_default();
    let identifier = regression.case.op.contains(first) || DType::named(first).is_some() || first == "backward";
    first.starts_with(|c: char| c.is_ascii_uppercase()) || !first.is_empty() && identifier
}
