//! Hunts on edited kernels: the edit is compiled and run, its failures are told from candle's own, and nothing else changes.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};

use snuffer::device::Device;
use snuffer::kernels::original;
use snuffer::store::{Finding, Record, Store};
use tempfile::TempDir;

use crate::output::{code, text};
use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Simulated: a_changed_operation_is_a_finding_of_the_edit_alone,
    kernels_that_are_as_good_as_candles_give_no_finding,
    a_kernel_that_does_not_compile_is_a_line_of_nvcc_and_nothing_is_hunted,
    a_removed_kernel_is_a_symbol_that_is_not_found,
    an_edit_that_cannot_be_tried_is_said,
    only_ops_that_launch_an_edited_kernel_are_drawn,
    a_candle_whose_kernels_alone_differ_has_the_workers_that_are_there,
    a_save_is_hunted_until_an_interrupt
];

/// A checkout of candle, as far as it has kernels.
fn checkout() -> TempDir {
    let (folder, from) = (tempfile::tempdir().expect("a folder"), original().expect("the worker was built from them"));
    let (from, to) = (from.parent().expect("a crate"), folder.path().join("candle-kernels"));
    let copied = Command::new("cp").arg("-r").arg("--").arg(from).arg(to).status();
    assert!(copied.expect("cp runs").success());
    folder
}

/// Replaces `from` in a file of kernels.
fn edit(checkout: &Path, file: &str, from: &str, to: &str) {
    let path = checkout.join("candle-kernels/src").join(file);
    let source = fs::read_to_string(&path).expect("readable");
    assert!(source.contains(from), "{file} has no {from}");
    fs::write(path, source.replace(from, to)).expect("writable");
}

/// `snuffer` with a store in the checkout's folder.
fn command(checkout: &Path, args: &str) -> Command {
    let mut command = Command::new(place::snuffer());
    command.args(args.split(' ')).arg("--store").arg(store(checkout)).env_remove("SNUFFER_DEVICES");
    command
}

fn store(checkout: &Path) -> std::path::PathBuf {
    checkout.join("findings")
}

fn snuffer(checkout: &Path, args: &str) -> Output {
    command(checkout, args).output().expect("snuffer starts")
}

/// A short hunt of one op on the kernels in the checkout.
fn hunt(checkout: &Path, op: &str) -> Output {
    let device = "--device cpu,sim:0 --seed 1 --cases 40";
    snuffer(checkout, &format!("hunt --kernels {} {device} --ops {op}", checkout.display()))
}

/// The findings of edited kernels.
fn findings(checkout: &Path) -> Vec<(String, Finding)> {
    let all = Store::existing(&store(checkout).join("edited-kernels")).expect("a store").all().expect("readable");
    all.into_iter().map(|(name, finding)| (name, finding.expect("sound"))).collect()
}

fn a_changed_operation_is_a_finding_of_the_edit_alone(_: Device) {
    let checkout = checkout();
    let checkout = checkout.path();
    edit(checkout, "affine.cu", "affine_f32, x * mul + add", "affine_f32, x * mul - add");
    let hunted = hunt(checkout, "tensor.affine");
    let (said, shown) = (text(&hunted.stderr), text(&hunted.stdout));
    assert_eq!(code(&hunted), 2, "{said}{shown}");
    assert!(
        said.contains("edited    affine.cu of ") && shown.contains("tensor.affine returns a wrong value"),
        "{shown}"
    );
    let found = findings(checkout);
    let (name, finding) = found.iter().find(|(name, _)| name.contains("wrong-value")).expect("the edit");
    let kernels = finding.origin.kernels.as_ref().expect("said where it is from");
    assert_eq!((&kernels.files[..], kernels.sources.as_path()), (&["affine.cu".to_string()][..], checkout));
    assert!(fs::read_dir(store(checkout)).expect("a store").count() == 1, "candle's own findings are elsewhere");

    // The commands that are printed run it again; without the option it is another matter.
    let own = store(checkout).join("edited-kernels");
    let replay = format!("--kernels {} --store {}", checkout.display(), own.display());
    assert!(shown.contains(&format!("replay ID {replay}")), "{shown}");
    let again = snuffer(checkout, &format!("findings show {name}"));
    assert_eq!(code(&again), 1, "it is not in the store of candle's findings");
    let file = own.join(name);
    let edited = snuffer(checkout, &format!("replay {} --kernels {}", file.display(), checkout.display()));
    assert_eq!((code(&edited), text(&edited.stderr).contains("note:")), (2, false), "{}", text(&edited.stdout));
    let unedited = snuffer(checkout, &format!("replay {}", file.display()));
    assert_eq!(code(&unedited), 0, "{}", text(&unedited.stdout));
    let note = text(&unedited.stderr);
    assert!(note.contains("is of the edited affine.cu") && note.contains("these are candle's own kernels"), "{note}");
    let report = snuffer(checkout, &format!("report {}", file.display()));
    assert_eq!((code(&report), text(&report.stderr).contains("no release of candle shows it")), (1, true));

    // A campaign goes on with the same kernels only.
    let resume = format!("hunt --resume --kernels {} --cases 2", checkout.display());
    assert_eq!(code(&snuffer(checkout, &resume)), 2);
    edit(checkout, "affine.cu", "affine_f32, x * mul - add", "affine_f32, x + mul * add");
    let refused = snuffer(checkout, &resume);
    let said = text(&refused.stderr);
    assert_eq!(code(&refused), 1, "{said}");
    let [_, problem] = said.lines().collect::<Vec<_>>()[..] else { panic!("{said}") };
    assert!(problem.contains("start a new one without --resume"), "{said}");
}

fn kernels_that_are_as_good_as_candles_give_no_finding(_: Device) {
    let checkout = checkout();
    let checkout = checkout.path();
    let unedited = hunt(checkout, "tensor.affine");
    assert_eq!(code(&unedited), 0);
    assert!(text(&unedited.stderr).contains("no kernel of ") && !store(checkout).exists(), "nothing is hunted");
    let own = snuffer(checkout, "hunt --device cpu,sim:0 --seed 1 --cases 40 --ops tensor.max");
    assert_eq!(code(&own), 2, "candle's own kernels fail here, too: {}", text(&own.stdout));
    edit(checkout, "reduce.cu", "fast_max(", "fast_largest(");
    let renamed = hunt(checkout, "tensor.max");
    let shown = text(&renamed.stdout);
    assert_eq!((code(&renamed), findings(checkout).len()), (0, 0), "{}{shown}", text(&renamed.stderr));
    assert!(shown.contains("40 cases of 1 op on cpu, sim:0"), "{shown}");
    let checked = snuffer(checkout, &format!("regressions tensor.max --device sim:0 --kernels {}", checkout.display()));
    assert_eq!(code(&checked), 0, "{}", text(&checked.stdout));
}

fn a_kernel_that_does_not_compile_is_a_line_of_nvcc_and_nothing_is_hunted(_: Device) {
    let checkout = checkout();
    let checkout = checkout.path();
    edit(checkout, "ternary.cu", "#include<stdint.h>", "#include<stdint.h>\nint wrong = ;");
    let hunted = hunt(checkout, "tensor.where_cond");
    let said = text(&hunted.stderr);
    let place = checkout.join("candle-kernels/src/ternary.cu");
    assert_eq!((code(&hunted), text(&hunted.stdout)), (1, String::new()));
    assert!(said.contains(&format!("{}(3): error: ", place.display())), "{said}");
    assert!(!store(checkout).exists());
}

fn a_removed_kernel_is_a_symbol_that_is_not_found(_: Device) {
    let checkout = checkout();
    let checkout = checkout.path();
    edit(checkout, "affine.cu", "AFFINE_OP(float, affine_f32, x * mul + add)", "");
    let hunted = hunt(checkout, "tensor.affine");
    let shown = text(&hunted.stdout);
    assert_eq!(code(&hunted), 2, "{}{shown}", text(&hunted.stderr));
    let missing =
        findings(checkout).iter().any(|(_, finding)| finding.violation.detail.contains("named symbol not found"));
    assert!(missing, "{shown}");
}

fn an_edit_that_cannot_be_tried_is_said(_: Device) {
    let checkout = checkout();
    let checkout = checkout.path();
    let kernels = checkout.join("candle-kernels/src");
    fs::write(kernels.join("new.cu"), "").expect("writable");
    edit(checkout, "mmvq_gguf.cu", "#include", "// Edited.\n#include");
    let said = text(&hunt(checkout, "tensor.affine").stderr);
    assert!(said.contains("new.cu is new: candle 0.11.1 never loads it"), "{said}");
    assert!(said.contains("mmvq_gguf.cu is linked into the worker"), "{said}");
    edit(checkout, "affine.cu", "const size_t numel,", "const size_t numel, const int more,");
    let other = hunt(checkout, "tensor.affine");
    assert!(code(&other) == 1 && text(&other.stderr).contains("takes different parameters"), "{}", text(&other.stderr));
    fs::remove_file(kernels.join("affine.cu")).expect("writable");
    let gone = hunt(checkout, "tensor.affine");
    assert!(code(&gone) == 1 && text(&gone.stderr).contains("has no affine.cu"), "{}", text(&gone.stderr));
    let none = snuffer(checkout, &format!("hunt --kernels {}", store(checkout).display()));
    assert!(code(&none) == 1 && text(&none.stderr).contains("name a checkout of candle"), "{}", text(&none.stderr));
    let cpu = snuffer(checkout, &format!("hunt --device cpu --kernels {}", checkout.display()));
    assert!(code(&cpu) == 1 && text(&cpu.stderr).contains("add `--device sim:0`"), "{}", text(&cpu.stderr));
}

fn only_ops_that_launch_an_edited_kernel_are_drawn(_: Device) {
    let checkout = checkout();
    let checkout = checkout.path();
    edit(checkout, "sort.cu", "#include", "// Edited.\n#include");
    let hunted = snuffer(checkout, &format!("hunt --kernels {} --cases 1 --seed 1", checkout.display()));
    let said = text(&hunted.stderr);
    assert!(said.contains("those that launch its kernels"), "{said}");
    let record = Record::latest(&store(checkout).join("edited-kernels/campaigns")).expect("readable");
    let ops = record.expect("a campaign").1.ops;
    assert!(ops.contains(&"tensor.arg_sort_last_dim".to_string()) && ops.len() < 10, "{ops:?}");
}

fn a_save_is_hunted_until_an_interrupt(_: Device) {
    let checkout = checkout();
    let checkout = checkout.path();
    edit(checkout, "affine.cu", "#include", "// Edited.\n#include");
    let args = format!("hunt --kernels {} --watch --ops tensor.affine --time 200ms --seed 1", checkout.display());
    let mut watching =
        command(checkout, &args).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("snuffer starts");
    let mut lines = BufReader::new(watching.stderr.take().expect("a pipe")).lines().map_while(Result::ok);
    let mut until = |words: &str| lines.find(|line| line.contains(words)).unwrap_or_else(|| panic!("never: {words}"));
    until("waiting for the next save");
    edit(checkout, "affine.cu", "affine_f32, x * mul + add", "affine_f32, x * mul +");
    until("affine.cu does not compile");
    until("error: ");
    until("waiting for the next save");
    edit(checkout, "affine.cu", "affine_f32, x * mul +", "affine_f32, x * mul");
    until("edited    affine.cu");
    until("waiting for the next save");
    let interrupt = Command::new("kill").args(["-INT", &watching.id().to_string()]).status();
    assert!(interrupt.expect("kill runs").success());
    assert_eq!(watching.wait().expect("it ends").code(), Some(2), "as the last hunt");
    assert!(findings(checkout).iter().any(|(name, _)| name.contains("wrong-value")));
}

fn a_candle_whose_kernels_alone_differ_has_the_workers_that_are_there(_: Device) {
    let checkout = checkout();
    let checkout = checkout.path();
    edit(checkout, "affine.cu", "affine_f32, x * mul + add", "affine_f32, x * mul - add");
    let drawn = "--device cpu,sim:0 --seed 1 --cases 40 --ops tensor.affine";
    let both = [
        format!("hunt --candle {} {drawn}", checkout.display()),
        format!("compare {} {} {drawn}", snuffer::CANDLE, checkout.display()),
    ];
    for args in both {
        let run = snuffer(checkout, &args);
        let (said, shown) = (text(&run.stderr), text(&run.stdout));
        assert_eq!(code(&run), 2, "{args}: {said}{shown}");
        assert!(said.contains("edited    affine.cu of ") && !said.contains("building"), "{said}");
        assert!(shown.contains("tensor.affine returns a wrong value"), "{shown}");
    }
}
