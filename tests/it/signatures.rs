//! What signatures are made of: kinds, sites, and places that hold on every machine. How they are ranked and put into words.

use std::path::Path;

use serde::Deserialize;
use snuffer::ops::rule;
use snuffer::oracle::{Kind, OracleName, Rank, Signature, Site};
use snuffer::outcome::{CudaError, Phase, Place};
use snuffer::report::{location, sentence};
use snuffer::run::crate_path;

#[test]
fn a_kind_is_read_back_from_its_text() {
    assert_eq!((Kind::from("refused"), Kind::RefusedGradient.name()), (Kind::RefusedGradient, "refused"));
    assert_eq!(Kind::from("illegal address"), Kind::Fault(CudaError::IllegalAddress));
    assert_eq!(Kind::from("assert"), Kind::Fault(CudaError::Assert));
    assert_eq!(Kind::from("stream race"), Kind::Report(device_record::Kind::StreamRace));
    let other = CudaError::of_code("CUDA_ERROR_INVALID_PC");
    assert_eq!(Kind::from("invalid pc"), Kind::from(other));
    assert_eq!(Kind::from(CudaError::of_code("CUDA_ERROR_LAUNCH_TIMEOUT")), Kind::Hang);
}

/// The text of the site of a failure at a place.
fn site_at(place: &str, phase: Phase) -> String {
    Site::at(&Place::from(place), phase).to_string()
}

#[test]
fn a_site_names_the_function_but_not_the_line() {
    let inner = site_at("candle-nn/src/rotary_emb.rs:369", Phase::Forward);
    assert_eq!(inner, "RotaryEmb::inner (candle-nn/src/rotary_emb.rs)");
    let backward = site_at("candle-core/src/conv.rs:46", Phase::Backward);
    assert_eq!(backward, "ParamsConvTranspose1D::l_out (candle-core/src/conv.rs) in backward");
    assert_eq!(site_at("include/cuda_fp16.hpp:7", Phase::Forward), "include/cuda_fp16.hpp");
    assert_eq!(site_at("cublasSgemm", Phase::Forward), "cublasSgemm");
    assert_eq!(site_at("", Phase::Inputs), "inputs");
}

#[test]
fn a_location_names_the_crate_but_not_the_machine() {
    let registry = "/home/x/.cargo/registry/src/index-1/candle-core-0.11.1/src/cpu_backend/mod.rs";
    assert_eq!(crate_path(registry), "candle-core/src/cpu_backend/mod.rs");
    assert_eq!(crate_path("src/ops/canary.rs"), "src/ops/canary.rs");
    assert_eq!(crate_path("/usr/local/cuda/bin/../include/cuda_fp16.hpp"), "include/cuda_fp16.hpp");
}

#[test]
fn a_location_is_a_file_of_candle_and_a_line() {
    assert_eq!(location("candle-core/src/backprop.rs:249-260"), Some(("candle-core/src/backprop.rs", 249)));
    assert_eq!(location("(candle-kernels/src/reduce.cu:12"), Some(("candle-kernels/src/reduce.cu", 12)));
    assert_eq!(location("in a view"), None);
    assert_eq!(location("candle-nn/src/init.rs; torch.nn.init"), None);
}

/// The signature of a violation by an op `op`.
fn signature(oracle: OracleName, kind: &str, site: &str) -> Signature {
    Signature::new("op", oracle, kind, site)
}

#[test]
fn what_nobody_notices_is_worse_than_what_ends_the_program() {
    use OracleName::{Agreement, Checker, Contract, Determinism, Fault, Gradient, Reference};
    let ranks = [
        (Fault, "illegal address", Rank::Memory),
        (Fault, "misaligned address", Rank::Memory),
        (Checker, "race", Rank::Memory),
        (Contract, "died", Rank::Memory),
        (Reference, "wrong value", Rank::Wrong),
        (Gradient, "missing", Rank::Wrong),
        (Determinism, "differs", Rank::Wrong),
        (Fault, "assert", Rank::Crash),
        (Fault, "launch failed", Rank::Crash),
        (Contract, "panic", Rank::Crash),
        (Contract, "hang", Rank::Crash),
        (Contract, "invalid not refused", Rank::Refusal),
        (Gradient, "refused", Rank::Refusal),
        (Gradient, "not supported", Rank::Limit),
        (Agreement, "only one accepts", Rank::Limit),
    ];
    for (oracle, kind, rank) in ranks {
        let signature = signature(oracle, kind, "");
        assert_eq!(signature.rank(), rank, "{signature}");
    }
    assert!(Rank::ALL.is_sorted());
}

#[test]
fn a_sentence_says_what_happens_and_where_without_folders() {
    use OracleName::{Checker, Contract, Fault, Gradient, Reference};
    for (oracle, kind, site, expected) in [
        (
            Contract,
            "panic",
            "l_out (candle-core/src/conv.rs) in backward",
            "op panics in l_out (conv.rs) in the backward pass",
        ),
        (Fault, "launch failed", "candle-kernels/src/fill.cu", "op breaks the CUDA context (launch failed) in fill.cu"),
        (Reference, "wrong value", "in a view", "op returns a wrong value for a view"),
        (Gradient, "wrong value", "gradient of x", "op computes a wrong gradient of x"),
        (
            Reference,
            "wrong value",
            "that is not finite",
            "op returns a wrong value with NaN or infinity instead of a finite number",
        ),
        (Reference, "wrong value", "on the GPU alone", "op returns a wrong value only on the GPU"),
        (Gradient, "missing", "", "op returns no gradient, without an error"),
        (Gradient, "not supported", "BackwardNotSupported", "op has no backward pass"),
        (Gradient, "refused", "Msg", "op rejects a valid backward pass"),
        (Checker, "race", "", "op has a data race between threads"),
        (Contract, "invalid not refused", "no rows/s", "op accepts an invalid call: no rows/s"),
    ] {
        assert_eq!(sentence(&signature(oracle, kind, site)), expected);
    }
}

/// A wrong value with this site.
fn wrong(site: &str) -> Signature {
    signature(OracleName::Reference, "wrong value", site)
}

#[test]
fn a_failure_covers_one_of_a_case_that_has_more_than_it_needs() {
    for (plain, more) in [
        ("", ""),
        ("", "in several rows"),
        ("", "of non-finite values, of more than 1024 elements, in several rows"),
        ("in reduced precision", "in reduced precision, in several rows"),
        // It shows less in one case than in another.
        ("", "by a rounding"),
        ("on the GPU alone", "in several rows, by a rounding"),
        ("in reduced precision, by a rounding", "in reduced precision, in several rows, by a rounding"),
    ] {
        assert!(wrong(plain).covers(&wrong(more)), "{plain:?} {more:?}");
        assert!(plain == more || !wrong(more).covers(&wrong(plain)), "{plain:?} {more:?}");
    }
    for (one, other) in [
        ("", "in a view"),
        ("", "in reduced precision"),
        ("", "in f64"),
        ("", "that is not finite"),
        ("by a rounding", "that is not finite"),
        ("", "on the GPU alone"),
        ("on the CPU alone", "on the GPU alone"),
        ("gradient of x", "gradient of weight"),
        ("gradient of x", "gradient of weight, in several rows"),
    ] {
        assert!(!wrong(one).covers(&wrong(other)) && !wrong(other).covers(&wrong(one)), "{one:?} {other:?}");
    }
}

#[test]
fn one_device_cannot_say_what_another_does() {
    assert_eq!(wrong("in a view, on the GPU alone").on_one_device(), wrong("in a view"));
    assert_eq!(wrong("gradient of x, on the CPU alone").on_one_device(), wrong("gradient of x"));
    let panic = signature(OracleName::Contract, "panic", "on the GPU alone");
    assert_eq!(panic.on_one_device(), panic, "only wrong values say what they need");
}

/// A signature as its text is kept.
#[derive(Deserialize)]
struct Kept {
    op: String,
    oracle: OracleName,
    kind: Kind,
    site: String,
}

/// Every signature in a document.
fn kept(value: toml::Value) -> Vec<Kept> {
    match value {
        toml::Value::Table(table) if ["op", "oracle", "site"].iter().all(|key| table.contains_key(*key)) => {
            vec![table.try_into().expect("a signature")]
        }
        toml::Value::Table(table) => table.into_iter().flat_map(|(_, value)| kept(value)).collect(),
        toml::Value::Array(values) => values.into_iter().flat_map(kept).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_kept_signature_is_read_and_written_alike() {
    let corpora = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora");
    let files = walkdir::WalkDir::new(corpora).into_iter().map(|entry| entry.expect("readable").into_path());
    let mut seen = 0;
    for path in files.filter(|path| path.extension().is_some_and(|extension| extension == "toml")) {
        let text = std::fs::read_to_string(&path).expect("readable");
        for Kept { op, oracle, kind, site } in kept(toml::from_str(&text).expect("a document")) {
            let signature = Signature::new(op, oracle, kind, &site);
            assert_eq!(signature.site.to_string(), site, "{}", path.display());
            let is_known = !matches!(signature.site, Site::Older(_));
            assert!(is_known, "{}: nothing gives this site: {site}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 500, "only {seen} signatures seen");
}

#[test]
fn a_site_that_nothing_gives_any_more_keeps_its_text() {
    for (oracle, kind, site) in [
        (OracleName::Contract, "invalid not refused", "a rule of long ago"),
        (OracleName::Reference, "wrong value", "in several rows, in a view"),
        (OracleName::Siblings, "only one accepts", "does something"),
    ] {
        let signature = signature(oracle, kind, site);
        assert_eq!((signature.site.to_string(), &signature.site), (site.to_string(), &Site::Older(site.into())));
    }
}

#[test]
fn rules_have_unique_ids() {
    let mut ids: Vec<&str> = rule::ALL.iter().map(|rule| rule.id).collect();
    ids.sort_unstable();
    let count = ids.len();
    ids.dedup();
    assert_eq!(ids.len(), count, "two rules share an id");
}
