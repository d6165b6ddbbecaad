//! Compares the release under test with a patched candle, both ways: what the patch breaks is found, minimized and can be replayed.

use std::collections::BTreeSet;
use std::path::Path;
use std::process::{Command, Output};

use snuffer::exec::from_here;

use crate::candles::patched;
use crate::json::valid;
use crate::output::{code, text};
use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: what_a_patch_changes_is_reported_in_each_direction,
    what_a_patch_makes_slow_or_hungry_is_reported
];

fn snuffer(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(place::snuffer());
    command.args(args).arg("--store").arg(store).current_dir(place::root()).env_remove("SNUFFER_DEVICES");
    command.output().expect("snuffer starts")
}

fn what_a_patch_changes_is_reported_in_each_direction() {
    let patches = patched();
    let patches = patches.to_str().expect("a path");
    let folder = tempfile::tempdir().expect("a folder");
    let compare = |base: &str, head: &str| {
        let drawn =
            ["--ops", "loss.mse,loss.nll", "--cases", "300", "--seed", "1", "--device", "cpu", "--format", "json"];
        snuffer(folder.path(), &[&["compare", base, head], &drawn[..]].concat())
    };
    let broken = compare(snuffer::CANDLE, patches);
    assert_eq!(code(&broken), 2, "{}", text(&broken.stderr));
    let said = text(&broken.stderr);
    assert!(said.contains("changed   3 functions in 1 file"), "{said}");
    let report = valid("comparison", &text(&broken.stdout)).remove(0);
    let differences = report["differences"].as_array().expect("a list");
    let main = &differences[0];
    assert_eq!((&main["class"], &main["what"]), (&"newly-failing".into(), &"loss.mse returns a wrong value".into()));
    assert!(differences.iter().all(|it| it["op"] == "loss.mse"), "nothing else changed: {report}");
    let file = main["file"].as_str().expect("a path");
    assert!(main["minimal"] == true && main["case"].as_str().expect("a case").lines().count() <= 15, "{main}");
    // Each side does what the report says.
    let [before, after] = [&[][..], &["--candle", patches]]
        .map(|on| snuffer(folder.path(), &[&["replay", file, "--device", "cpu"], on].concat()));
    assert_eq!((code(&before), code(&after)), (0, 2), "{}{}", text(&before.stdout), text(&after.stdout));
    assert!(
        main["replay"][1].as_str().expect("a command").ends_with(&format!("--candle {}", from_here(patches))),
        "{main}"
    );

    let mended = compare(patches, snuffer::CANDLE);
    let report = valid("comparison", &text(&mended.stdout)).remove(0);
    let passing = |it: &serde_json::Value| {
        it["class"] == "newly-passing" && it["what"] == "no more: loss.mse returns a wrong value"
    };
    assert!(report["differences"].as_array().expect("a list").iter().any(passing), "{report}");
    // The release breaks promises that the patched one keeps, in half precision. Nothing else of it is worse.
    let is_worse = |it: &serde_json::Value| it["class"] == "newly-failing" && it["signature"]["site"] == "";
    assert!(!report["differences"].as_array().expect("a list").iter().any(is_worse), "{report}");
}

fn what_a_patch_makes_slow_or_hungry_is_reported() {
    let (patches, folder) = (patched(), tempfile::tempdir().expect("a folder"));
    let head = patches.to_str().expect("a path");
    let drawn = [
        "--ops",
        "loss.binary_cross_entropy_with_logit,loss.huber",
        "--cases",
        "20",
        "--seed",
        "1",
        "--device",
        "cpu",
        "--minimize",
        "1s",
        "--format",
        "json",
    ];
    let costly = snuffer(folder.path(), &[&["compare", snuffer::CANDLE, head], &drawn[..]].concat());
    assert_eq!(code(&costly), 2, "{}", text(&costly.stderr));
    let report = valid("comparison", &text(&costly.stdout)).remove(0);
    let differences = report["differences"].as_array().expect("a list").iter();
    let found: BTreeSet<String> =
        differences.map(|it| format!("{} {}", it["class"], it["what"]).replace('"', "")).collect();
    let of_loss = "loss.binary_cross_entropy_with_logit needs many times the memory of its inputs and outputs";
    for expected in ["slower loss.huber is slower", &format!("newly-failing {of_loss}")] {
        assert!(found.contains(expected), "no `{expected}` in {found:?}");
    }
    assert!(
        !found.iter().any(|it| it.contains("value") || it.contains("gradient")),
        "all results are right: {found:?}"
    );
}
