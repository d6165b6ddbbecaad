//! A replay answers the question of a user: is my call invalid, is candle wrong, or neither?

use std::process::Command;

use snuffer::case::Case;
use snuffer::causes::KnownFailures;
use snuffer::device::Device;
use snuffer::exec::{Deadline, Executor, WorkerSpec};
use snuffer::ops;
use snuffer::oracle::{Evidence, judge};
use snuffer::report::{Answer, Blame};

use crate::kept::regressions;

const LABELS: &str = "op = \"loss.cross_entropy\"\n[inputs.inp]\ndtype = \"f32\"\nshape = [4, 10]\nvalues = { list = [ONES] }\n\
                      [inputs.target]\ndtype = \"u32\"\nshape = [4]\nvalues = { list = [0, 3, 10, 1] }\n";
const NARROW: &str = "op = \"tensor.narrow\"\nparams = { dim = 0, start = 1, len = 4 }\n\
                      [inputs.x]\ndtype = \"f32\"\nshape = [4]\nvalues = { list = [1.0, 1.0, 1.0, 1.0] }\n";
const BIASES: &str = "op = \"random.layer_init\"\nparams = { layer = \"conv1d\", out_size = 64 }\n";
const UNARY: &str = "op = \"tensor.OP\"\n[inputs.x]\ndtype = \"f32\"\nshape = [1]\nvalues = { list = [VALUE] }\n";

/// The answer about a case on the CPU.
fn answer(text: &str) -> Answer {
    let case =
        Case::parse(&text.replace("ONES", &["1.0"; 40].join(", "))).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut executor = Executor::start(&[Device::Cpu], &WorkerSpec::default()).expect("a worker starts");
    let observations = executor.observe(&case, Deadline::Full).expect("the harness survives");
    let evidence = Evidence::new(ops::find(&case.op).expect("registered"), &case, &observations);
    Answer::new(&evidence, &judge(&evidence), &KnownFailures::new(regressions()).expect("causes"))
}

#[test]
fn the_first_line_says_who_is_at_fault() {
    let unary = |op: &str, value: &str| UNARY.replace("OP", op).replace("VALUE", value);
    for (text, blame, sentence) in [
        (LABELS.into(), Blame::Call, "your call is invalid: label 10 of 10 classes, at [2] of target"),
        (NARROW.into(), Blame::Call, "your call is invalid: "),
        // The initial biases of a convolution are larger than its kernel allows.
        (BIASES.into(), Blame::Candle, "candle is wrong: element [1] is 0; expected 1"),
        (unary("exp", "1.0"), Blame::Nothing, "nothing is wrong: candle keeps every promise that was checked"),
        (unary("log", "-1.0"), Blame::NotFinite, "the output is NaN although all inputs are finite"),
        (unary("exp", "nan"), Blame::NotFinite, "the output is NaN because `x` has NaN or infinity"),
    ] {
        let answer = answer(&text);
        assert_eq!(answer.blame, blame, "{answer:?}");
        assert!(answer.sentence.starts_with(sentence), "{answer:?}");
    }
}

#[test]
fn an_invalid_call_that_the_cpu_rejects_is_told_what_it_does_on_cuda_and_how_to_correct_it() {
    let details = answer(LABELS).details;
    let expected = [
        "on cpu, candle rejects it: gather invalid index 10 with dim size 10",
        "on CUDA, candle fires a device-side assert",
        "labels are 0 to 9: correct the data or the number of classes; `snuffer guard --labels` checks a batch",
    ];
    assert_eq!(details.len(), expected.len(), "{details:#?}");
    for (line, begins) in details.iter().zip(expected) {
        assert!(line.starts_with(begins), "{details:#?}");
    }
}

#[test]
fn a_replay_fits_the_terminal_and_has_whole_lines_for_programs() {
    const COLUMNS: usize = 60;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("case.toml");
    std::fs::write(&path, LABELS.replace("list = [ONES]", "fill = { constant = 0.0, noise = 1 }")).expect("written");
    let [whole, fitted] = [None, Some(COLUMNS)].map(|columns| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
        command.arg("replay").arg(&path).args(["--device", "cpu"]).env_remove("COLUMNS");
        columns.map(|columns| command.env("COLUMNS", columns.to_string()));
        String::from_utf8(command.output().expect("snuffer starts").stdout).expect("text")
    });
    let widest = |text: &str| text.lines().map(str::len).max();
    assert!(widest(&fitted) <= Some(COLUMNS) && widest(&whole) > Some(COLUMNS), "{fitted}");
    assert!(fitted.contains("\nlist = [0, 3, 10, 1]\n") && fitted.contains("\n          "), "{fitted}");
    let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
    assert_eq!(words(&fitted), words(&whole));
}
