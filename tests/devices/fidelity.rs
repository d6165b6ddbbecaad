//! Fidelity: two simulated devices, of which the second stands in for hardware. What only that one does is found, named and
//! judged.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use snuffer::device::Device;
use snuffer::fidelity::{Latitude, Values, bits, ulps, value};
use snuffer::tensor::{DType, Value as Number};

use crate::json::valid;
use crate::machine::stand_in;
use crate::output::{code, text};
use crate::place;
use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![
    Once: a_bad_comparison_is_one_clear_line,
    distances_are_counted_in_units_of_the_last_place,
    latitude_is_of_the_documented_instructions_only;
    Simulated: two_equal_devices_agree_on_every_case,
    a_changed_kernel_is_named_with_the_smallest_case_which_replays,
    what_the_isa_leaves_open_is_documented_latitude_and_no_more,
    what_one_device_does_not_support_is_of_hardware_only
];

/// `snuffer` where the simulated driver is the system's: `cuda:0` is a simulated device that differs in nothing from `sim:0`, and
/// `snuffer` does not know.
fn snuffer(store: &Path, args: &[&str]) -> Output {
    let mut command = Command::new(place::snuffer());
    command.args(args).envs(stand_in()).env("SNUFFER_SIM_HARDWARE", "0").env("SNUFFER_FINDINGS", store);
    command.env("SNUFFER_DEVICES", "sim:0,cuda:0").env("NO_COLOR", "1").env("SNUFFER_SIM_DEVICES", "2");
    command.output().expect("snuffer starts")
}

/// The exit code and the result of a comparison on two threads.
fn compared(store: &Path, args: &[&str]) -> (i32, Value) {
    let output = snuffer(store, &[&["lab", "fidelity", "--json", "--jobs", "2", "--seed", "1"][..], args].concat());
    let shown = text(&output.stdout);
    assert!(shown.starts_with('{'), "{args:?}: {shown}{}", text(&output.stderr));
    (code(&output), valid("fidelity", &shown).remove(0))
}

/// The rows that differ, by name.
fn apart<'a>(report: &'a Value, of: &str) -> Vec<&'a str> {
    let rows = report[of].as_array().expect("rows").iter();
    rows.filter(|row| row["agree"] != row["cases"]).map(|row| row["name"].as_str().expect("a name")).collect()
}

fn two_equal_devices_agree_on_every_case(_: Device) {
    let store = tempfile::tempdir().expect("a folder");
    // The canary is an op that nobody draws. Each of the others has two cases.
    let ops = snuffer::ops::ALL.len() - 1;
    let (code, report) = compared(store.path(), &["--cases", &(2 * ops).to_string()]);
    assert_eq!(report["disagreements"].as_array().expect("a list").len(), 0, "{:#}", report["disagreements"]);
    assert_eq!((code, report["total"]["wrong"].as_u64()), (0, Some(0)));
    assert_eq!(report["total"]["agree"], report["total"]["cases"]);
    assert!(report["total"]["values"]["elements"].as_u64() > Some(5_000), "{}", report["total"]);
    assert_eq!(report["ops"].as_array().map(Vec::len), Some(ops));
    assert!(report["forms"].as_array().map(Vec::len) > Some(100));
}

fn a_changed_kernel_is_named_with_the_smallest_case_which_replays(_: Device) {
    let store = tempfile::tempdir().expect("a folder");
    let ops = "tensor.sub,tensor.add,tensor.mul,tensor.neg";
    let mutated = ["--with", "cuda:0:SNUFFER_SIM_MUTATE=bsub_f32:#5"];
    let args = [&["--ops", ops, "--cases", "480"][..], &mutated].concat();
    let (code, report) = compared(store.path(), &args);
    assert_eq!((code, apart(&report, "ops")), (2, vec!["tensor.sub"]));
    assert_eq!(report["kernels"][0]["name"], "bsub_f32", "{:#}", report["kernels"]);
    let mut found = report["disagreements"].as_array().expect("a list").iter();
    assert!(
        found.clone().all(|one| one["standing"] == "simulator_wrong" && one["kernels"][0] == "bsub_f32"),
        "{found:#?}"
    );
    let found = found.find(|one| one["what"] == "values differ").expect("a wrong value");
    assert_eq!((&found["tries"], &found["differed"], &found["minimal"]), (&3.into(), &3.into(), &true.into()));
    let file = found["file"].as_str().expect("a path");
    let case = std::fs::read_to_string(file).expect("kept");
    assert!(case.starts_with("# simulator wrong: tensor.sub: ") && case.contains("\n# launches bsub_f32\n"), "{case}");
    let again = |with: &[&str]| compared(store.path(), &[&[file][..], with].concat());
    assert_eq!((again(&mutated).0, again(&[]).0), (2, 0), "the change, and nothing else, makes the difference");
    assert_eq!(snuffer(store.path(), &["replay", file, "--device", "sim:0"]).status.code(), Some(0));
}

fn what_the_isa_leaves_open_is_documented_latitude_and_no_more(_: Device) {
    let store = tempfile::tempdir().expect("a folder");
    let ops = "op.softmax_last_dim,op.silu,tensor.sqrt,tensor.exp,tensor.matmul,tensor.add,tensor.index_add";
    let args = ["--ops", ops, "--cases", "210", "--with", "cuda:0:SNUFFER_SIM_JITTER=7"];
    let (code, report) = compared(store.path(), &args);
    assert_eq!((code, &report["total"]["wrong"]), (0, &0.into()), "{:#}", report["disagreements"]);
    assert!(report["total"]["latitude"].as_u64() > Some(5), "{}", report["total"]);
    let found = report["disagreements"].as_array().expect("a list");
    assert!(found.iter().all(|one| one["standing"] == "documented_latitude"), "{found:#?}");
    assert!(
        found.iter().any(|one| one["why"].as_str().is_some_and(|why| why.contains("PTX ISA 9.7.3.21"))),
        "{found:#?}"
    );
    assert!(!apart(&report, "ops").contains(&"tensor.add"));
}

fn what_one_device_does_not_support_is_of_hardware_only(_: Device) {
    let store = tempfile::tempdir().expect("a folder");
    let ops = ["--ops", "tensor.to_device", "--cases", "40"];
    for (lacking, why) in [
        ("sim:0:SNUFFER_SIM_DEVICES=1", "the simulated device does not support it: there is no second device"),
        ("cuda:0:SNUFFER_SIM_DEVICES=1", "only the simulated device supports it: there is no second device"),
    ] {
        let (code, report) = compared(store.path(), &[&ops[..], &["--with", lacking]].concat());
        let total = &report["total"];
        assert_eq!((code, &total["wrong"], &total["latitude"]), (0, &0.into(), &0.into()), "{lacking}: {total}");
        assert!(total["hardware_only"].as_u64() > Some(0), "{lacking}: {total}");
        let found = &report["disagreements"][0];
        assert_eq!((&found["standing"], &found["why"]), (&"hardware_only".into(), &why.into()), "{found:#}");
    }
    // An instruction that neither supports is no difference.
    let case = store.path().join("case.toml");
    std::fs::write(&case, snuffer::ops::canary::case("canary_unsupported").to_text()).expect("written");
    let (code, report) = compared(store.path(), &[case.to_str().expect("utf-8")]);
    assert_eq!(
        (code, &report["total"]["agree"], &report["ends"][0]["simulated"]),
        (0, &1.into(), &"unsupported".into())
    );
}

fn a_bad_comparison_is_one_clear_line() {
    let store = tempfile::tempdir().expect("a folder");
    for (args, message) in [
        (vec!["--device", "cpu,sim:0"], "fidelity compares a simulated device with one other CUDA device"),
        (vec!["--device", "sim:0,sim:0"], "fidelity compares a simulated device with one other CUDA device"),
        (
            vec!["--device", "sim:0,cuda:0", "--with", "cuda:1:SNUFFER_SIM_JITTER=1"],
            "--with names cuda:1, which is not compared",
        ),
        (vec!["--with", "cuda:0:PATH=/"], "`PATH` is not one of SNUFFER_SIM_BUDGET, "),
        (vec!["--with", "cuda:0"], "write DEVICE:NAME=VALUE"),
    ] {
        let output = snuffer(store.path(), &[vec!["lab", "fidelity", "--cases", "1"], args].concat());
        let shown = text(&output.stderr);
        assert_eq!(code(&output), 1, "{shown}");
        assert!(shown.contains(message), "{shown}");
    }
}

fn distances_are_counted_in_units_of_the_last_place() {
    let float = Number::Float;
    for (dtype, left, right, expected) in [
        (DType::F32, float(1.0), float(1.0 + f64::from(f32::EPSILON)), Some(1)),
        (DType::F32, float(-0.0), float(0.0), Some(1)),
        (DType::F32, float(f64::NAN), float(f64::NAN), Some(0)),
        (DType::F32, float(f64::NAN), float(1.0), None),
        (DType::F32, float(f64::INFINITY), float(f64::from(f32::MAX)), None),
        (DType::F64, float(2.0), float(2.0 - f64::EPSILON), Some(1)),
        (DType::Bf16, float(1.0), float(1.03125), Some(4)),
        (DType::F16, float(-1.0), float(1.0), Some(2 * 0x3c00 + 1)),
        (DType::I64, Number::Int(-3), Number::Int(4), Some(7)),
        (DType::U8, Number::Int(3), Number::Int(3), Some(0)),
    ] {
        assert_eq!(ulps(dtype, left, right), expected, "{dtype} {left} {right}");
        assert_eq!(bits(dtype, value(dtype, bits(dtype, left))), bits(dtype, left), "{dtype} {left}");
    }
    let mut counts = Values::default();
    for ulps in [Some(0), Some(1), Some(9), Some(10), Some(12345), None] {
        counts.count(ulps);
    }
    assert_eq!((counts.elements, counts.differ, counts.most_ulps, counts.no_distance), (6, 5, 12345, 1));
    assert_eq!(counts.decades, [2, 1, 0, 0, 1]);
}

fn latitude_is_of_the_documented_instructions_only() {
    for (name, source) in [
        ("ex2.approx.ftz.f32", "PTX ISA 9.7.3.21"),
        ("lg2.approx.f32", "PTX ISA 9.7.3.20"),
        ("sin.approx.ftz.f32", "PTX ISA 9.7.3.18"),
        ("tanh.approx.f16x2", "PTX ISA 9.7.4.10"),
        ("ex2.approx.ftz.bf16", "PTX ISA 9.7.4.11"),
        ("rcp.approx.ftz.f32", "PTX ISA 9.7.3.13"),
        ("rsqrt.approx.f32", "PTX ISA 9.7.3.16"),
        ("sqrt.approx.ftz.f32", "PTX ISA 9.7.3.15"),
        ("div.full.f32", "PTX ISA 9.7.3.8"),
        ("atom.global.add.f64", "PTX ISA 9.7.13.5 and 8.10"),
        ("atom.add.noftz.bf16", "PTX ISA 9.7.13.5 and 8.10"),
        ("mul.f32+add.f32", "PTX ISA 9.7.3.3 to 9.7.3.5"),
        ("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "PTX ISA 9.7.15.5.14"),
        ("wmma.mma.sync.aligned.row.col.m16n16k16.f32.f32", "PTX ISA 9.7.15.4.5"),
    ] {
        assert_eq!(Latitude::of(name).map(|latitude| latitude.source), Some(source), "{name}");
    }
    for exact in [
        "div.rn.f32",
        "sqrt.rn.f32",
        "rcp.rn.f64",
        "mul.f32",
        "add.f32",
        "atom.global.add.u32",
        "atom.cas.b32",
        "fma.rn.f32",
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32",
    ] {
        assert_eq!(Latitude::of(exact), None, "{exact}");
    }
}
