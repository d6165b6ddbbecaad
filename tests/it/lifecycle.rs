//! The triage of findings: what is known, where it is expected, and what a person decides.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use snuffer::causes::KnownFailures;
use snuffer::device::{Device, Hardware};
use snuffer::oracle::{Kind, OracleName, Signature, Site};
use snuffer::outcome::{Outcome, Phase, Refusal};
use snuffer::store::regression::{Expected, Regression, Status, read, triage_state};
use snuffer::store::{Finding, Platform, Store};

use crate::finding::finding;

/// A platform: a device, a release of candle, a compute capability.
fn platform(device: &str, candle: &str, capability: (u32, u32)) -> Platform {
    let device: Device = device.parse().expect("a device");
    let hardware = Hardware { name: "a GPU".into(), capability, multiprocessors: None, driver: None };
    let hardware = Some(&hardware).filter(|_| device != Device::Cpu);
    Platform { candle: candle.parse().expect("a release"), ..Platform::today(device, hardware) }
}

/// A regression of [`finding`], with `more` lines in its header.
fn regression(more: &str) -> Result<Regression, String> {
    let kept = Regression { fails: Vec::new(), ..Regression::of(&finding("here")) };
    let text = kept.to_text().replace("status = \"open\"\n", "");
    Regression::parse(&text.replace("\n[signature]", &format!("{more}\n\n[signature]")))
}

#[test]
fn a_regression_is_expected_to_fail_where_one_of_its_conditions_holds() {
    use Expected::{Either, Fails, Passes};
    let open = |conditions: &str| format!("status = \"open\"\nfails = [{conditions}]");
    let fixed = "status = \"fixed\"\nfixed_in = \"0.11.1\"\nfails = [{ device = \"cpu\" }]".to_string();
    let flaky = "status = \"flaky\"\nreason = \"races\"\nfails = [{ device = \"cpu\" }]".to_string();
    let recent = "{ device = \"cuda\", capability = \">=8.9\", candle = \">=0.9, <0.12\" }";
    let table = [
        (open("{}"), "cpu", "0.8.0", (0, 0), Fails),
        (open("{ device = \"cpu\" }"), "cpu", "0.8.0", (0, 0), Fails),
        (open("{ device = \"cpu\" }"), "sim:0", "0.8.0", (9, 0), Passes),
        (open("{ device = \"cuda\" }"), "sim:0", "0.8.0", (9, 0), Fails),
        (open("{ device = \"cuda\" }"), "cuda:1", "0.8.0", (9, 0), Fails),
        (open("{ device = \"gpu\" }"), "sim:0", "0.8.0", (9, 0), Passes),
        (open("{ device = \"sim\" }"), "cuda:0", "0.8.0", (9, 0), Passes),
        (open(recent), "cuda:0", "0.11.1", (9, 0), Fails),
        (open(recent), "cuda:0", "0.11.1", (8, 6), Passes),
        (open(recent), "cuda:0", "0.12.0", (9, 0), Passes),
        (open("{ capability = \">=7\" }"), "cpu", "0.11.1", (0, 0), Passes),
        (open(&format!("{recent}, {{ device = \"cpu\" }}")), "cpu", "0.11.1", (0, 0), Fails),
        (fixed.clone(), "cpu", "0.11.0", (0, 0), Fails),
        (fixed, "cpu", "0.11.1", (0, 0), Passes),
        (flaky, "cpu", "0.11.1", (0, 0), Either),
    ];
    for (header, device, candle, capability, expected) in table {
        let regression = regression(&header).expect(&header);
        let platform = platform(device, candle, capability);
        assert_eq!(regression.expected(&platform), expected, "{header}\non {device} with candle {candle}");
    }
}

#[test]
fn a_status_without_its_required_fields_is_refused() {
    let fails = "fails = [{}]";
    let table = [
        (format!("status = \"filed\"\n{fails}"), "must say where, in `upstream`"),
        (format!("status = \"fixed\"\n{fails}"), "must say since when, in `fixed_in`"),
        (format!("status = \"wontfix\"\n{fails}"), "must say why, in `reason`"),
        (format!("status = \"flaky\"\n{fails}"), "must say why, in `reason`"),
        ("status = \"open\"".to_string(), "must say where it `fails`"),
        (format!("status = \"new\"\n{fails}"), "unknown variant `new`"),
        ("status = \"open\"\nfails = [{ device = \"gpu:0\" }]".to_string(), "unknown variant `gpu:0`"),
        ("status = \"open\"\nfails = [{ candle = \"newest\" }]".to_string(), "unexpected character"),
    ];
    for (header, complaint) in table {
        let problem = regression(&header).expect_err(&header);
        assert!(problem.contains(complaint), "{header}\n{problem}");
    }
}

#[test]
fn a_finding_is_new_unless_a_regression_expects_it_there() {
    let found = finding("here");
    let known = |header: &str| vec![("kept".to_string(), regression(header).expect(header))];
    let table = [
        (Vec::new(), "new"),
        (known("status = \"open\"\nfails = [{ device = \"cpu\" }]"), "open"),
        (known("status = \"by-design\"\nreason = \"so\"\nfails = [{}]"), "by design"),
        (known("status = \"open\"\nfails = [{ device = \"cuda\" }]"), "open but not expected there"),
        (known("status = \"fixed\"\nfixed_in = \"0.11.0\"\nfails = [{}]"), "fixed but back"),
        (known("status = \"fixed\"\nfixed_in = \"99.0.0\"\nfails = [{}]"), "fixed"),
    ];
    for (known, word) in table {
        let known = KnownFailures { regressions: known, causes: Vec::new() };
        let explanation = known.explain(&found);
        assert_eq!(explanation.status(), word);
        assert_eq!(explanation.is_known(), word != "new" && !word.contains("but"), "{word}");
    }
    // A finding in an older candle is compared with what is expected of that release.
    let mut old = found;
    old.origin.versions = "snuffer 0.1.0, candle-core 0.9.2, candle-nn 0.9.2".into();
    let fixed = known("status = \"fixed\"\nfixed_in = \"0.11.0\"\nfails = [{}]");
    assert_eq!(triage_state(&old, &fixed).word(), "fixed");
}

#[test]
fn a_regression_of_less_explains_a_finding_only_where_it_fails() {
    let wrong = |site: &str| {
        let (oracle, kind) = (OracleName::Reference, Kind::from("wrong value"));
        Signature { oracle, site: Site::parse(oracle, &kind, site), kind, ..finding("").signature }
    };
    let (plain, rounded) = (wrong(""), wrong("by a rounding"));
    let found = Finding { signature: rounded, ..finding("") };
    let known = |header: &str| {
        let one = Regression { signature: Some(plain.clone()), ..regression(header).expect(header) };
        ("kept".to_string(), one)
    };
    let elsewhere = known("status = \"open\"\nfails = [{ device = \"cuda\" }]");
    let here = known("status = \"open\"\nfails = [{ device = \"cpu\" }]");
    let fixed = known("status = \"fixed\"\nfixed_in = \"0.11.0\"\nfails = [{}]");
    for (known, word) in [
        (vec![elsewhere.clone()], "new"),
        (vec![elsewhere.clone(), here], "open"),
        (vec![elsewhere, fixed], "fixed but back"),
    ] {
        assert_eq!(triage_state(&found, &known).word(), word);
    }
}

/// Runs `snuffer` in `folder` with `typed` as its input; returns the exit code and the output.
pub fn snuffer(folder: &Path, args: &[&str], typed: &str) -> (Option<i32>, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    command.args(args).current_dir(folder).env("SNUFFER_FINDINGS", folder.join("findings"));
    command.env("SNUFFER_DEVICES", "cpu").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("snuffer starts");
    child.stdin.take().expect("a pipe").write_all(typed.as_bytes()).expect("typed");
    let Output { status, stdout, stderr } = child.wait_with_output().expect("snuffer ends");
    (status.code(), String::from_utf8_lossy(&[stdout, stderr].concat()).into_owned())
}

/// A folder with a store of findings at these sites.
fn stored(sites: &[&str]) -> (tempfile::TempDir, Vec<Finding>) {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Store::open(&folder.path().join("findings")).expect("a store");
    let findings: Vec<Finding> = sites.iter().map(|site| finding(site)).collect();
    for finding in &findings {
        store.insert(finding).expect("stored");
    }
    (folder, findings)
}

#[test]
fn triage_asks_what_to_do_with_each_new_finding() {
    let (folder, findings) = stored(&["a", "b", "c", "d", "e"]);
    // Kept with a title; filed with a link; muted with a reason; not muted for lack of a reason; skipped.
    let typed = "k\nIt hangs\nf\nhttps://example.org/1\n\nm\nwontfix\ntoo slow to fix\n\nm\nflaky\n\nwhat?\ns\n";
    let (code, printed) = snuffer(folder.path(), &["triage"], typed);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("without a reason it stays new") && printed.contains("2 new findings left"), "{printed}");
    let kept = read(&folder.path().join("corpora/regressions")).expect("regressions");
    // The title makes the name; without one, the signature does.
    let names: Vec<&str> = kept.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["canary/canary-hang-contract-b", "canary/canary-hang-contract-c", "canary/it-hangs"]);
    let [(_, second), (_, third), (_, first)] = &kept[..] else { panic!("{kept:?}") };
    assert_eq!((first.status, first.title.as_str()), (Status::Open, "It hangs"));
    assert_eq!((second.status, second.upstream.as_deref()), (Status::Filed, Some("https://example.org/1")));
    assert_eq!((third.status, third.reason.as_deref()), (Status::Wontfix, Some("too slow to fix")));
    assert_eq!(third.signature.as_ref(), Some(&findings[2].signature));
    // The decisions are known from now on.
    let (_, listed) = snuffer(folder.path(), &["findings", "list", "--new"], "");
    assert_eq!(listed.matches("new: ").count(), 2, "{listed}");
    let (_, listed) = snuffer(folder.path(), &["findings", "list", "--json"], "");
    let words = listed.lines().map(|line| {
        let object: serde_json::Value = serde_json::from_str(line).expect("JSON");
        object["status"].as_str().expect("a status").to_string()
    });
    assert_eq!(words.collect::<Vec<_>>(), ["open", "filed", "wontfix", "new", "new"]);
    let (code, printed) = snuffer(folder.path(), &["triage"], "q\n");
    assert!(code == Some(0) && printed.starts_with("2 new findings"), "{printed}");
}

#[test]
fn promote_writes_a_regression_that_is_named_after_its_op_and_title() {
    let (folder, findings) = stored(&["a"]);
    let name = findings[0].signature.slug();
    let promote = |more: &[&str]| snuffer(folder.path(), &[&["findings", "promote", &name], more].concat(), "");
    let (code, printed) = promote(&[]);
    assert!(code == Some(1) && printed.contains("--title"), "{printed}");
    let (code, printed) = promote(&["--title", "?!"]);
    assert!(code == Some(1) && printed.contains("has no words to name a folder after"), "{printed}");
    let (code, printed) = promote(&["--title", "It hangs", "--status", "filed"]);
    assert!(code == Some(1) && printed.contains("must say where, in `upstream`"), "{printed}");
    assert!(!folder.path().join("corpora").exists(), "a mistake leaves nothing behind");

    let title = "It hangs on CPU at conv.rs:1, though candle's own test of it waits only for so long";
    let (code, printed) = promote(&["--title", title]);
    let path = "corpora/regressions/canary/it-hangs-on-cpu-at-conv-rs-1-though-candles-own/case.toml";
    assert_eq!((code, printed.trim()), (Some(0), path));
    let kept = read(&folder.path().join("corpora/regressions")).expect("regressions");
    assert!(kept.len() == 1 && path.contains(&kept[0].0) && kept[0].1.title == title, "{kept:?}");
    let (code, printed) = promote(&["--title", title]);
    assert!(code == Some(1) && printed.contains("already exists: use another title"), "{printed}");
}

#[test]
fn a_regression_in_the_wrong_place_is_one_clear_line() {
    let text = Regression::of(&finding("here")).to_text();
    let table = [
        ("kept.toml", Ok("kept")),
        ("canary/kept/case.toml", Ok("canary/kept")),
        ("tensor.exp/kept/case.toml", Err("the folder is `tensor.exp`, but the op of the case is `canary`")),
        ("case.toml", Err("case.toml belongs into OP/WORDS below")),
        ("canary/case.toml", Err("case.toml belongs into OP/WORDS below")),
        ("canary/kept/again/case.toml", Err("case.toml belongs into OP/WORDS below")),
    ];
    for (place, expected) in table {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(place);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        std::fs::write(&path, &text).expect("written");
        // Other files are ignored.
        std::fs::write(path.with_file_name("replay.snap"), "").expect("written");
        match (read(folder.path()), expected) {
            (Ok(kept), Ok(name)) => assert_eq!((kept.len(), kept[0].0.as_str()), (1, name)),
            (Err(problem), Err(complaint)) => {
                let problem = problem.to_string();
                assert!(problem.contains(complaint) && problem.lines().count() == 1, "{place}: {problem}");
            }
            (result, _) => panic!("{place}: {result:?}"),
        }
    }
}

#[test]
fn an_unexpected_pass_is_red_and_says_what_to_do() {
    let (folder, _) = stored(&[]);
    let known = folder.path().join("corpora/regressions");
    std::fs::create_dir_all(&known).expect("made");
    let (code, printed) = snuffer(folder.path(), &["regressions", "--known", "corpora/regressions"], "");
    assert_eq!((code, printed.contains("0 regressions")), (Some(5), true), "nothing ran: {printed}");
    let passes = Regression { case: snuffer::ops::canary::case("none"), ..Regression::of(&finding("here")) };
    std::fs::write(known.join("passes.toml"), passes.to_text()).expect("written");
    let (code, printed) = snuffer(folder.path(), &["regressions", "--known", "corpora/regressions"], "");
    assert_eq!(code, Some(2), "{printed}");
    assert!(printed.contains("UNEXPECTED  passes\n            on cpu: passes, but was expected to fail"), "{printed}");
    assert!(printed.contains("snuffer replay corpora/regressions/passes.toml\n"), "{printed}");
    assert!(printed.contains("1 regression (1 open) on cpu: 1 unexpected"), "{printed}");
    // The hint is also right for a regression in its own folder.
    std::fs::create_dir_all(known.join("canary/passes")).expect("made");
    std::fs::rename(known.join("passes.toml"), known.join("canary/passes/case.toml")).expect("moved");
    let (_, printed) = snuffer(folder.path(), &["regressions", "--known", "corpora/regressions"], "");
    assert!(printed.contains("snuffer replay corpora/regressions/canary/passes/case.toml\n"), "{printed}");
    // Where candle fixed it, saying so is all there is to do.
    let fixed = Regression { status: Status::Fixed, fixed_in: Some("0.11.1".parse().expect("a release")), ..passes };
    std::fs::write(known.join("canary/passes/case.toml"), fixed.to_text()).expect("written");
    let (code, printed) = snuffer(folder.path(), &["regressions", "--known", "corpora/regressions"], "");
    assert_eq!(code, Some(0), "{printed}");
}

#[test]
fn findings_of_one_function_one_kernel_or_one_answer_are_alike() {
    let refused = |message: &str| Outcome::Rejected(Refusal { variant: "Msg".into(), message: message.into() });
    let late = || Outcome::TimedOut(Phase::Forward);
    let at = |op: &str, site: &str, detail: &str, outcome: Outcome| {
        let mut found = finding("");
        let kind = if outcome == late() { Kind::Panic } else { Kind::RefusedValid };
        (found.signature, found.violation.detail) =
            (Signature::new(op, OracleName::Contract, kind, site), detail.into());
        found.violation.site = found.signature.site.clone();
        found.observations[0].outcome = outcome;
        (op.to_string(), found)
    };
    let blamed = "Invalid __global__ read of size 4 bytes; at is_u32_f32() in candle-kernels/src/indexing.cu:60; by …";
    let findings = [
        at("a", "l_out (candle-core/src/conv.rs)", "panic", late()),
        at("b", "l_out (candle-core/src/conv.rs) in backward", "panic", late()),
        at("c", "k_size (candle-core/src/conv.rs)", "panic", late()),
        at("d", "index_select (candle-kernels/src/indexing.cu)", blamed, late()),
        at("e", "index_select (candle-kernels/src/indexing.cu)", blamed, late()),
        at("f", "of nothing", "refused", refused("shape mismatch, lhs: [2], dtype F32")),
        at("g", "of nothing", "refused", refused("shape mismatch, lhs: [3], dtype BF16")),
        at("h", "of nothing", "refused", refused("something else")),
        at("i", "is_contiguous (candle-kernels/src/cuda_utils.cuh)", "a function in every kernel", late()),
        at("j", "is_contiguous (candle-kernels/src/cuda_utils.cuh)", "a function in every kernel", late()),
        at("k", "", "wrong", late()),
        at("l", "", "wrong", late()),
    ];
    let groups = KnownFailures::new(Vec::new()).expect("causes").similar(&findings);
    let mut shown: Vec<String> = groups.iter().map(|(cause, names)| format!("{}: {cause}", names.join(" "))).collect();
    shown.sort();
    assert_eq!(
        shown,
        [
            "a b: in l_out (candle-core/src/conv.rs)",
            "d e: the device blames the kernel is_u32_f32",
            "f g: candle answers: shape mismatch lhs dtype"
        ]
    );
}

#[test]
fn only_a_device_that_checks_each_access_must_show_a_read_outside_of_a_buffer() {
    let asserts = regression("status = \"open\"\nfails = [{ device = \"cuda\" }]").expect("a regression");
    let signature = Signature::new("tensor.embedding", OracleName::Fault, "illegal address", "index_select");
    let reads = Regression { signature: Some(signature), ..asserts.clone() };
    for (kept, on_gpu) in [(&asserts, Expected::Fails), (&reads, Expected::Either)] {
        let expected = |device| kept.expected(&platform(device, "0.11.1", (9, 0)));
        assert_eq!((expected("sim:0"), expected("cuda:0")), (Expected::Fails, on_gpu), "{:?}", kept.signature);
    }
}
