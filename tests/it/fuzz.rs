//! The parts of the fuzz targets, on a stable compiler and without libFuzzer.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use snuffer::case::Case;
use snuffer::device::Device;
use snuffer::exec::protocol::{Hello, Reply, Request, decode, read_frame};
use snuffer::fuzz::{Executed, Known, Session, Target, case_text, protocol};
use snuffer::store::Finding;
use snuffer::store::regression::Regression;
use snuffer::tensor::{DType, Tensor, Value};

use crate::finding::finding;

const TARGETS: [Target; 3] = [Target::Forward, Target::Backward, Target::Program];
/// libFuzzer's default size limit for an empty corpus.
const ROOM: usize = 4096;

fn text(target: Target, seed: u64) -> Vec<u8> {
    target.drawn(seed).to_text().into_bytes()
}

#[test]
fn a_mutated_case_is_another_case_of_its_target() {
    for target in TARGETS {
        let mut changed = 0;
        for seed in 0..500 {
            // Not the seed of the mutation, which may draw a new case from it.
            let before = text(target, u64::from(seed) + 1000);
            let after = target.mutated(&before, seed, ROOM);
            assert!(after.len() <= ROOM && target.case(&after).is_some(), "{}", String::from_utf8_lossy(&after));
            assert_eq!(after, target.mutated(&before, seed, ROOM), "the seed decides");
            changed += usize::from(after != before);
        }
        assert!(changed > 450, "{target:?}: {changed} of 500 mutations change anything");
    }
}

#[test]
fn a_crossover_has_parts_of_both_cases() {
    for target in TARGETS {
        let mut mixed = 0;
        for seed in 0..200 {
            // Two cases of one op with different values.
            let one = text(target, u64::from(seed) + 1000);
            let other = target.mutated(&one, seed, ROOM);
            let crossed = target.crossed(&one, &other, seed, ROOM);
            assert!(target.case(&crossed).is_some(), "{}", String::from_utf8_lossy(&crossed));
            mixed += usize::from(crossed != one && crossed != other);
        }
        assert!(mixed > 10, "{target:?}: {mixed} of 200 crossovers differ from both");
    }
}

#[test]
fn bytes_that_do_not_parse_are_replaced_by_a_case() {
    for target in TARGETS {
        for bytes in [&b""[..], b"op = ", b"\xff\xfe", b"op = \"no.such_op\""] {
            assert!(target.case(bytes).is_none());
            assert!(target.case(&target.mutated(bytes, 7, ROOM)).is_some());
            assert!(target.case(&target.crossed(bytes, bytes, 7, ROOM)).is_some());
        }
    }
}

#[test]
fn each_target_accepts_only_its_own_cases() {
    for target in TARGETS {
        for other in TARGETS.into_iter().filter(|other| *other != target) {
            assert!(
                (0..50).all(|seed| other.case(&text(target, seed)).is_none()),
                "{other:?} takes cases of {target:?}"
            );
        }
    }
}

/// A session on the CPU that keeps its cases in `folder`.
pub fn session(target: Target, known: Known, folder: &Path) -> Session {
    let cells = Box::leak(vec![0; 1024].into_boxed_slice());
    Session::start(target, &[Device::Cpu], known, folder.to_path_buf(), cells).expect("a session")
}

/// What the session does with the case.
pub fn execute(session: &mut Session, case: &Case) -> Executed {
    session.execute(case.to_text().as_bytes()).expect("the harness works")
}

#[test]
fn a_session_keeps_one_case_of_each_failure_and_skips_known_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/regressions/loss.nll/max-label-accepted/case.toml");
    let regression = Regression::parse(&std::fs::read_to_string(file).expect("readable")).expect("a regression");
    let (case, signature) = (regression.case, regression.signature.expect("it fails"));
    let mut first = session(Target::Forward, Known::default(), folder.path());
    assert_eq!(first.execute(b"no case").expect("the harness works"), Executed::Refused);
    assert_eq!(execute(&mut first, &case), Executed::New(signature.clone()));
    assert_eq!(execute(&mut first, &case), Executed::Known);
    let kept = std::fs::read_to_string(folder.path().join(format!("{}.toml", signature.slug()))).expect("kept");
    assert_eq!(Case::parse(&kept).expect("a case"), case);
    let mut known = Known::default();
    known.add(&Finding { signature, case: case.clone(), observations: Vec::new(), ..finding("") });
    assert_eq!(execute(&mut session(Target::Forward, known, Path::new("")), &case), Executed::Known);
    // The next session with the same folder knows it too.
    let mut known = Known::default();
    known.add_artifacts(folder.path(), SystemTime::now()).expect("readable");
    assert_eq!(execute(&mut session(Target::Forward, known, folder.path()), &case), Executed::Known);
}

#[test]
fn readers_of_cases_and_messages_accept_any_bytes() {
    for target in TARGETS {
        for seed in 0..100 {
            let mut bytes = text(target, seed);
            case_text(&bytes);
            protocol(&bytes);
            let place = seed as usize * 7 % bytes.len();
            bytes[place] = bytes[place].wrapping_add(1);
            case_text(&bytes);
        }
    }
}

#[test]
fn the_dictionary_names_every_op_and_dtype() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/cases.dict");
    let text = std::fs::read_to_string(file).expect("readable");
    let named = |word: &str| text.lines().any(|line| line == format!("\"{word}\""));
    let ops = snuffer::ops::ALL.iter().map(|op| op.name).filter(|name| !["canary", "sequence"].contains(name));
    let words: Vec<&str> = ops.chain(DType::ALL.map(DType::name)).collect();
    assert!(words.len() > 200 && words.iter().all(|word| named(word)));
}

/// The files of a folder of `corpora/`.
pub fn corpus(folder: &str) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora").join(folder);
    let paths = std::fs::read_dir(folder).expect("seeds").map(|entry| entry.expect("readable").path());
    paths.filter(|path| path.is_file()).collect()
}

#[test]
fn seeds_are_cases_of_all_ops_that_their_target_runs() {
    for target in TARGETS {
        let artifacts = tempfile::tempdir().expect("a folder");
        let mut session = session(target, Known::default(), artifacts.path());
        let seeds = target.seeds();
        for case in &seeds {
            let bytes = case.to_text().into_bytes();
            assert_eq!(target.case(&bytes).as_ref().map(|(_, read)| read), Some(case), "{target:?}");
            assert_ne!(execute(&mut session, case), Executed::Refused, "{target:?}: {}", case.to_text());
        }
        let ops: BTreeSet<&str> = seeds.iter().map(|case| case.op.as_str()).collect();
        let calls = snuffer::ops::ALL.len() - ["canary", "sequence"].len();
        match target {
            Target::Forward => assert_eq!((ops.len(), seeds.len()), (calls, calls), "a seed for each op"),
            Target::Backward => assert!(ops.len() > calls / 2, "{ops:?}"),
            Target::Program => assert_eq!(seeds.len(), 64),
        }
    }
}

#[test]
fn protocol_seeds_are_messages() {
    let mut kinds = [0; 3];
    for file in corpus("protocol") {
        let bytes = std::fs::read(&file).expect("readable");
        protocol(&bytes);
        let body = read_frame(&mut &bytes[..]).expect("a frame");
        let is = [decode::<Hello>(&body).is_ok(), decode::<Request>(&body).is_ok(), decode::<Reply>(&body).is_ok()];
        assert_eq!(is.iter().filter(|is| **is).count(), 1, "{} is {is:?}", file.display());
        kinds.iter_mut().zip(is).for_each(|(kind, is)| *kind += usize::from(is));
    }
    assert!(kinds.iter().all(|&kind| kind > 0), "seeds of each kind of message: {kinds:?}");
}

#[test]
fn a_crossover_takes_no_text_param_of_another_op() {
    let x = || Tensor::new(DType::F32, vec![1], vec![Value::Float(1.0)]);
    let mine = Case::new("tensor.add").param("form", "broadcast").input("lhs", x()).input("rhs", x());
    let theirs = Case::new("tensor.maximum").param("form", "scalar").input("lhs", x());
    for seed in 0..50 {
        let bytes = Target::Forward.crossed(mine.to_text().as_bytes(), theirs.to_text().as_bytes(), seed, ROOM);
        assert_eq!(Target::Forward.case(&bytes).expect("a case").1, mine);
    }
}
