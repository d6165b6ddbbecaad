//! What another release of candle means for this suite: cited places that moved, and names that are new.

use std::collections::BTreeSet;

use snuffer::candles::{
    Became, Citation, Crate, Crates, Sources, became, citations, dtypes, public_functions, released,
};

/// The sources of a candle that has only this file.
fn sources(file: &str, text: &str) -> Sources {
    let mut sources = Sources::default();
    sources.compiled.insert(file.into(), text.as_bytes().to_vec());
    sources
}

#[test]
fn a_text_cites_files_of_candle_with_lines() {
    let text = "/// candle-nn/src/loss.rs:12 and (candle-core/src/op.rs:7-30), but not lib.rs:3.\nsee candle-kernels/src/reduce.cu:4";
    let cited: Vec<String> = citations("src/x.rs", text)
        .into_iter()
        .map(|Citation { by, file, line }| format!("{by} {file} {line}"))
        .collect();
    let expected = [
        "src/x.rs:1 candle-nn/src/loss.rs 12",
        "src/x.rs:1 candle-core/src/op.rs 7",
        "src/x.rs:2 candle-kernels/src/reduce.cu 4",
    ];
    assert_eq!(cited, expected);
}

#[test]
fn a_cited_place_is_the_same_moved_changed_or_gone() {
    let file = "candle-nn/src/loss.rs";
    let old =
        "const N: usize = 1;\n\npub fn one() {\n    a();\n}\n\npub fn two() {\n    b();\n}\n\npub fn three() {}\n";
    let new = "const M: usize = 2;\n// A comment.\nconst N: usize = 1;\n\npub fn one() {\n    a();\n}\n\npub fn two() {\n    c();\n}\n";
    let [base, head] = [old, new].map(|text| sources(file, text));
    let of = |line: usize| became(&Citation { by: String::new(), file: file.into(), line }, &base, &head);
    assert_eq!(of(4), Some(Became::Moved(6)), "in a function with the same code");
    assert_eq!(of(8), Some(Became::Changed("two".into())));
    assert_eq!(of(11), Some(Became::Gone), "its function");
    assert_eq!(of(1), Some(Became::Moved(3)), "outside of functions, by its text");
    assert_eq!(of(99), None, "the base has no such line");
    let same = became(&Citation { by: String::new(), file: file.into(), line: 4 }, &base, &base);
    assert_eq!(same, Some(Became::Same));
}

#[test]
fn new_functions_and_dtypes_are_named() {
    let functions = sources("candle-nn/src/ops.rs", "pub fn one() {\n    a();\n}\nfn own() {\n    b();\n}\n");
    assert_eq!(public_functions(&functions), BTreeSet::from(["candle-nn/src/ops.rs one".to_string()]));
    let text = "/// Doc.\npub enum DType {\n    // Eight bits.\n    U8,\n    BF16,\n}\nimpl DType {\n    Other,\n}\n";
    let named = dtypes(&sources("candle-core/src/dtype.rs", text));
    assert_eq!(named, ["BF16", "U8"].map(str::to_string).into());
}

/// Whether the released kernels differ in kernels alone once `edit` has changed them.
fn in_kernels_alone(edit: impl Fn(&mut Crate)) -> bool {
    let mut kernels = Crate::read(&released("candle-kernels").expect("fetched")).expect("readable");
    edit(&mut kernels);
    let own = [("candle-kernels".to_string(), kernels)].into();
    Crates { root: Some("/x".into()), own, ..Crates::default() }.differs_in_kernels_alone().expect("readable")
}

#[test]
fn only_edits_of_kernels_need_no_other_worker() {
    let append = |file: &'static str| {
        move |kernels: &mut Crate| kernels.files.get_mut(file).expect("it is there").extend_from_slice(b"// Edited.\n")
    };
    assert!(in_kernels_alone(append("src/reduce.cu")) && in_kernels_alone(append("src/cuda_utils.cuh")));
    assert!(!in_kernels_alone(append("src/lib.rs")), "the list of modules");
    assert!(!in_kernels_alone(append("build.rs")), "how they are compiled");
    assert!(!in_kernels_alone(|kernels| drop(kernels.files.remove("src/fill.cu"))), "a file is gone");
    assert!(!in_kernels_alone(|kernels| drop(kernels.files.insert("src/new.cu".into(), Vec::new()))), "a file is new");
    assert!(!Crates::default().differs_in_kernels_alone().expect("nothing to read"), "there are none");
}
