//! Cases and calls that people write by hand: each mistake is one clear line, and nothing typed is ignored.

use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use candle_core::{Device, Tensor};
use snuffer::case::Case;
use snuffer::ops::{self, accept};

use crate::cli::{code, command, snuffer, text};

/// Cases with a mistake, and what `snuffer replay` says about each.
const MISTAKES: [(&str, &str); 17] = [
    (
        "op = \"loss.cross_entropy\"\n[inputs.logits]\nITEM\n[inputs.target]\nIDS",
        "loss.cross_entropy has no input `logits`; it has inp, target",
    ),
    (
        "op = \"loss.cross_entropy\"\n[inputs.inp]\nITEM",
        "loss.cross_entropy lacks the input `target`, (N), integers below C: the class of each row",
    ),
    (
        "op = \"tensor.conv1d\"\nparams.strid = 2\n[inputs.x]\nITEM\n[inputs.kernel]\nITEM",
        "tensor.conv1d has no param `strid`; did you mean `stride`?",
    ),
    (
        "op = \"tensor.conv1d\"\nparams.stride = 1.9\n[inputs.x]\nITEM\n[inputs.kernel]\nITEM",
        "tensor.conv1d param `stride` is 1.9, but must be an integer of at least 0; the nearest is 2",
    ),
    (
        "op = \"loss.cross_entropy\"\nparams.ignore_index = 3\n[inputs.inp]\nITEM\n[inputs.target]\nIDS",
        "loss.cross_entropy has no param `ignore_index`; it has no params",
    ),
    ("op = \"tensor.exp\"\n[inputs.x]\nITEM\n[inputs.weight]\nITEM", "tensor.exp has no input `weight`; it has x"),
    (
        "op = \"loss.huber\"\nparams.delta = \"big\"\n[inputs.inp]\nITEM\n[inputs.target]\nITEM",
        "loss.huber param `delta` is \"big\", but must be a number",
    ),
    (
        "op = \"sequence\"\nsteps = [\"tensor.conv1d\", \"loss.msee\"]",
        "step 1: tensor.conv1d lacks the input `x`, (B, C, L)",
    ),
    (
        "op = \"tensor.exp\"\nsteps = [\"tensor.log\"]\n[inputs.x]\nITEM",
        "tensor.exp has `steps`, which only the op `sequence` takes",
    ),
    (
        "op = \"tensor.exp\"\ndevices = [\"second\"]\n[inputs.x]\nITEM",
        "tensor.exp has `devices`, which only the op `sequence` takes",
    ),
    (
        "op = \"sequence\"\nsteps = [\"tensor.exp\"]\ntimes = [2]\n[inputs.\"1.x\"]\nITEM",
        "sequence: `times` has a number for each step, and 1 for the first, such as [1, 1000]",
    ),
    (
        "op = \"sequence\"\nsteps = [\"tensor.exp\"]\ndevices = [\"own\", \"second\"]\n[inputs.\"1.x\"]\nITEM",
        "sequence: `devices` has a word for each step, such as [\"own\", \"second\"]",
    ),
    (
        "op = \"sequence\"\nsteps = [\"tensor.to_device\"]\ndevices = [\"again\"]\nparams.\"1.to\" = \"second\"\n[inputs.\"1.x\"]\nITEM",
        "step 1: `to` names a device beside the case's own; leave out `to` or `devices`",
    ),
    ("op = \"loss.cros_entropy\"", "there is no op `loss.cros_entropy`; did you mean `loss.cross_entropy`?"),
    (
        "op = \"tensor.add\"\nparams.form = \"broadcasted\"\n[inputs.lhs]\nITEM\n[inputs.rhs]\nITEM",
        "tensor.add param `form` is \"broadcasted\", but must be one of \"\", \"broadcast\"; did you mean \"broadcast\"?",
    ),
    (
        "op = \"tensor.exp\"\n[case]\nop = \"tensor.log\"",
        "a file with `case` has its `op` under [case]; this one has `op` outside, too",
    ),
    (
        "op = \"tensor.transpose\"\nparams.form = \"t\"\nparams.dim1 = 1\n[inputs.x]\nITEM",
        "tensor.transpose takes the param `dim1` only with `form = \"transpose\"`",
    ),
];

#[test]
fn a_mistake_in_a_case_is_one_line_and_never_a_pass() {
    let folder = tempfile::tempdir().expect("a folder");
    for (case, expected) in MISTAKES {
        let file = folder.path().join("case.toml");
        let item = "dtype = \"f32\"\nshape = [1, 1, 1]\nvalues.list = [1]";
        let case = case.replace("ITEM", item).replace("IDS", "dtype = \"u32\"\nshape = [1]\nvalues.list = [0]");
        std::fs::write(&file, case).expect("writable");
        for name in ["replay", "minimize", "bisect"] {
            let output = snuffer(folder.path(), &[name, file.to_str().expect("UTF-8")]);
            let expected = format!("{}: {expected}\n", file.display());
            assert_eq!((code(&output), text(&output.stdout).as_str()), (1, ""), "{expected}");
            assert!(text(&output.stderr).ends_with(&expected), "{}{expected}", text(&output.stderr));
        }
    }
}

#[test]
fn a_yes_is_written_as_1() {
    let problem = Case::parse("op = \"tensor.meshgrid\"\nparams.xy = true\n").expect_err("no number").to_string();
    let expected = "invalid type: boolean `true`, expected a number, a text or a list (0 and 1 are no and yes)";
    assert!(problem.contains(expected) && problem.contains("line 2"), "{problem}");
}

#[test]
fn a_mistake_in_a_guarded_call_is_one_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("batch.safetensors");
    let x = Tensor::zeros((2, 3), candle_core::DType::F32, &Device::Cpu).expect("a tensor");
    candle_core::safetensors::save(&[("x", x)].into(), &file).expect("writable");
    let huber = ["--op", "loss.huber", "--input", "inp=x", "--input"];
    for (last, expected) in [
        (&["target=x", "--param", "delta=abc"][..], "loss.huber param `delta` is \"abc\", but must be a number"),
        (&["target=x", "--param", "delt=0.5"], "loss.huber has no param `delt`; did you mean `delta`?"),
        (&["targets=x"], "loss.huber has no input `targets`; did you mean `target`?"),
    ] {
        let args = [&["guard", file.to_str().expect("UTF-8")], &huber[..], last].concat();
        let output = snuffer(folder.path(), &args);
        assert_eq!((code(&output), text(&output.stdout).as_str()), (1, ""), "{last:?}");
        assert!(text(&output.stderr).ends_with(&format!("{expected}\n")), "{}", text(&output.stderr));
    }
    let args = [&["guard", file.to_str().expect("UTF-8")], &huber[..], &["target=x", "--param", "delta=0"]].concat();
    let output = snuffer(folder.path(), &args);
    let expected = "unknown  loss.huber: nothing is promised for such a call (delta is not a positive number)\n";
    assert_eq!((code(&output), text(&output.stdout).as_str()), (0, expected));
}

fn snapshot(name: &str, text: &str) {
    insta::with_settings!({snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true}, {
        insta::assert_snapshot!(name, text);
    });
}

/// What `snuffer new` writes for these arguments.
fn new(args: &[&str]) -> Result<String, String> {
    let output = snuffer(Path::new("/nowhere"), &[&["new"], args].concat());
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    if code(&output) == 0 { Ok(stdout) } else { Err(stderr) }
}

#[test]
fn new_writes_a_case_from_shapes_and_values() {
    snapshot("new", &new(&["loss.cross_entropy", "--inp", "4x10", "--target", "0,3,10,1"]).expect("a case"));
    for (args, expected) in [
        (&["loss.huber", "--inp", "2x2=1,2,3,4", "--target=4x:f16"][..], "shape = [4]\n"),
        (&["tensor.permute", "--x", "2x3", "--dims", "1,0"], "dims = [1, 0]\n"),
        (&["tensor.elu", "--x", "1.5,-2", "--alpha", "2", "--backward", "weighted"], "backward = \"weighted\"\n"),
        (
            &["attention.flash_attn", "--q", "1x2x1x4", "--k", "1x2x1x4", "--v", "1x2x1x4", "--mask", "causal"],
            "mask = \"causal\"\n",
        ),
    ] {
        let case = new(args).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(case.contains(expected), "{case}");
        accept(Case::parse(&case).expect("a case")).expect("a call");
    }
    for (args, expected) in [
        (&["loss.cross_entropy", "--inp", "4x10"][..], "loss.cross_entropy lacks the input `target`"),
        (
            &["loss.cross_entropy", "--inp", "4x10", "--target", "0.5"],
            "--target 0.5: has the value 0.5, which i64 cannot hold",
        ),
        (&["loss.cross_entropy", "--inp", "4xten", "--target", "0"], "`ten` is not a size; a shape is written 4x10"),
        (
            &["loss.cross_entropy", "--imp", "4x10", "--target", "0"],
            "loss.cross_entropy has no argument `--imp`; did you mean `--inp`?",
        ),
        (&["loss.cross_entropy", "--logits", "4x10"], "has no argument `--logits`; it has --inp, --target"),
        (&["loss.cross_entropy", "inp"], "`inp` has no name; write --NAME VALUE"),
        (&["loss.cross_entropy", "--inp"], "--inp has no value"),
        (&["loss.cros_entropy"], "did you mean `loss.cross_entropy`?"),
    ] {
        let problem = new(args).expect_err("a mistake");
        assert!(problem.contains(expected) && problem.trim().lines().count() == 1, "{problem}");
    }
}

#[test]
fn a_written_case_can_be_piped_to_replay() {
    let case = new(&["loss.mse", "--inp", "2x3", "--target", "2x3"]).expect("a case");
    let mut replay = command(Path::new("/nowhere"), &["replay", "-"]);
    let mut replay = replay.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("snuffer starts");
    replay.stdin.take().expect("piped").write_all(case.as_bytes()).expect("it reads");
    let output = replay.wait_with_output().expect("snuffer ends");
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
}

#[test]
fn every_op_has_an_explanation_and_an_example() {
    let folder = tempfile::tempdir().expect("a folder");
    let list = text(&snuffer(folder.path(), &["ops"]).stdout);
    for op in ops::ALL {
        assert!(list.lines().any(|line| line.split_whitespace().next() == Some(op.name)), "{}", op.name);
        let explained = snuffer::cli::explained(op);
        let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words(&explained).contains(&words(op.promise)), "{explained}");
        for name in op.inputs.iter().map(|spec| spec.name).chain(op.params.iter().map(|spec| spec.name)) {
            assert!(explained.contains(&format!(" {name}  ")), "{name}\n{explained}");
        }
        let (_, case) = accept(snuffer::cli::example(op)).unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(accept(Case::parse(&case.to_text()).expect("a case")).expect("a call").1, case);
    }
    let explained = text(&snuffer(folder.path(), &["ops", "loss.cross_entropy"]).stdout);
    assert!(explained.lines().all(|line| line.len() <= 80), "{explained}");
    snapshot("explained", &explained);
}
