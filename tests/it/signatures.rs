//! What signatures are made of: kinds, sites, and places that hold on every machine. How they are ranked and put into words.

use snuffer::oracle::{Kind, OracleName, Rank, Signature, site};
use snuffer::outcome::Phase;
use snuffer::report::{location, sentence};
use snuffer::run::crate_path;

#[test]
fn a_kind_is_read_back_from_its_text() {
    assert_eq!((Kind::from("refused"), Kind::RefusedGradient.name()), (Kind::RefusedGradient, "refused"));
    assert_eq!(Kind::from("illegal address"), Kind::Device("illegal address".to_string()));
}

#[test]
fn a_site_names_the_function_but_not_the_line() {
    let inner = site("candle-nn/src/rotary_emb.rs:369", Phase::Forward);
    assert_eq!(inner, "RotaryEmb::inner (candle-nn/src/rotary_emb.rs)");
    let backward = site("candle-core/src/conv.rs:46", Phase::Backward);
    assert_eq!(backward, "ParamsConvTranspose1D::l_out (candle-core/src/conv.rs) in backward");
    assert_eq!(site("include/cuda_fp16.hpp:7", Phase::Forward), "include/cuda_fp16.hpp");
    assert_eq!(site("cublasSgemm", Phase::Forward), "cublasSgemm");
    assert_eq!(site("", Phase::Inputs), "inputs");
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
    Signature { op: "op".into(), oracle, kind: kind.into(), site: site.into() }
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
        (Contract, "panic", "l_out (candle-core/src/conv.rs) in backward", "op panics in l_out (conv.rs) in backward"),
        (Fault, "launch failed", "candle-kernels/src/fill.cu", "op breaks the CUDA context (launch failed) in fill.cu"),
        (Reference, "wrong value", "in a view", "op returns a wrong value in a view"),
        (Gradient, "wrong value", "gradient of x", "op computes a wrong gradient of x"),
        (Reference, "wrong value", "that is not finite", "op returns a wrong value that is not finite"),
        (Reference, "wrong value", "on the GPU alone", "op returns a wrong value on the GPU alone"),
        (Gradient, "missing", "", "op leaves out a gradient"),
        (Gradient, "not supported", "BackwardNotSupported", "op has no backward pass"),
        (Gradient, "refused", "Msg", "op refuses a valid backward pass"),
        (Checker, "race", "", "op has threads that race for memory"),
        (Contract, "invalid not refused", "no rows/s", "op does not refuse: no rows/s"),
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
