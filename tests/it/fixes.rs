//! Fixes of root causes: each finds its place and its proof is of it; what tells many of them apart; and since when causes are there.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use semver::Version;
use snuffer::candles::fixed::{self, Fixes, diff, digest_of, edited, places, source};
use snuffer::candles::{Named, Origin};
use snuffer::causes::{Edit, Fix};
use snuffer::device::Device;
use snuffer::exec::CandleUnderTest;
use snuffer::fixes::{Failing, Subject, TriedRelease, edits, sets, since};

use crate::causes::causes;
use crate::cli::{code, snuffer, text};
use crate::kept::regressions;

fn fixes() -> Fixes {
    causes().into_iter().filter_map(|cause| Some((cause.name, cause.fix?))).collect()
}

#[test]
fn every_fix_finds_its_place_and_all_go_together() {
    let all = fixes();
    for (name, fix) in &all {
        let alone = diff(&Fixes::from([(name.clone(), fix.clone())])).unwrap_or_else(|problem| panic!("{problem}"));
        assert!(alone.starts_with("--- a/candle-"), "{name}: {alone}");
    }
    diff(&all).unwrap_or_else(|problem| panic!("{problem}"));
}

#[test]
fn few_builds_tell_many_fixes_apart() {
    let all = fixes();
    for (count, builds) in [(1, 1), (2, 2), (3, 3), (4, 4), (6, 4), (7, 5), (100, 9)] {
        let some: Fixes = all.iter().take(count).map(|(name, fix)| (name.clone(), fix.clone())).collect();
        let sets = sets(&some);
        assert_eq!(sets.len(), builds, "{count} fixes");
        let places = |name| sets.iter().map(|set| set.contains_key(name)).collect::<Vec<bool>>();
        let codes: BTreeSet<Vec<bool>> = some.keys().map(places).collect();
        assert_eq!(codes.len(), count, "two fixes are in the same sets: {codes:?}");
        let sizes: BTreeSet<usize> = codes.iter().map(|code| code.iter().filter(|there| **there).count()).collect();
        assert_eq!(sizes, [builds.div_ceil(2)].into(), "{count} fixes");
    }
}

#[test]
fn no_fix_has_a_line_that_it_replaces() {
    for (name, Fix { edit }) in fixes() {
        for edit in edit {
            let text = source(&edit.file).expect("candle's source");
            let [place] = &places(&edit.file, &text, edit.function.as_deref(), edit.lines, &edit.hash)[..] else {
                panic!("{name}: an edit of {} has no place", edit.file)
            };
            let replaced: Vec<&str> = text.lines().skip(place.start).take(place.len()).map(str::trim).collect();
            for line in edit.with.lines().map(str::trim).filter(|line| line.contains(char::is_alphanumeric)) {
                assert!(!replaced.contains(&line), "{name}: write {{N}} for `{line}`");
            }
        }
    }
}

#[test]
fn proofs_are_of_the_fixes_as_they_are_and_break_nothing() {
    for cause in causes() {
        let Some(proof) = &cause.proof else { continue };
        let fix = cause.fix.clone().unwrap_or_else(|| panic!("{} has a proof and no fix", cause.name));
        let own = digest_of(&Fixes::from([(cause.name.clone(), fix)]));
        let again = format!("run `snuffer fixes prove {}`", cause.name);
        assert_eq!((proof.fix.clone(), proof.candle.to_string().as_str()), (own, snuffer::CANDLE), "{again}");
        assert!(proof.breaks.is_empty(), "{} breaks {:?}; {again}", cause.name, proof.breaks);
    }
}

/// A source with two functions that have the same lines.
const OLD: &str =
    "fn one() {\n    let a = 1;\n    a();\n    b();\n}\n\nfn two() {\n    a();\n    c();\n    a();\n    d();\n}\n";
const FILE: &str = "candle-core/src/x.rs";

#[test]
fn recorded_edits_make_the_edited_text_again() {
    let rows = [
        // A line of one function, in which it is the only one.
        ("    let a = 1;\n", "    let a = 2;\n    e();\n", 1, "one", 1),
        // An insertion has the line before it, and the next where that line is there twice.
        ("    c();\n", "    c();\n    e();\n", 1, "two", 1),
        ("    a();\n    d();\n", "    a();\n    e();\n    d();\n", 1, "two", 2),
        // A line that is only indented is told by its number and its indentation.
        ("    b();\n}\n\nfn two", "    if e() {\n        b();\n    }\n}\n\nfn two", 1, "one", 1),
    ];
    for (from, to, count, function, lines) in rows {
        let new = OLD.replacen(from, to, 1);
        let found = edits(FILE, OLD, &new).unwrap_or_else(|problem| panic!("{to}: {problem}"));
        assert_eq!(found.len(), count, "{to}");
        assert_eq!((found[0].function.as_deref(), found[0].lines), (Some(function), lines), "{to}");
        let named: Vec<(&str, &Edit)> = found.iter().map(|edit| ("a cause", edit)).collect();
        assert_eq!(edited(FILE, OLD, &named).expect("its place"), new);
        // Lines that were added before the place move it.
        assert!(edited(FILE, &format!("use e;\n\n{OLD}"), &named).is_ok(), "{to}");
    }
}

#[test]
fn an_edit_without_one_place_is_a_line_that_says_so() {
    let found = edits(FILE, OLD, &OLD.replace("let a = 1;", "let a = 2;")).expect("edits");
    let edit = &found[0];
    let problem = |text: &str, edits: &[(&str, &Edit)]| edited(FILE, text, edits).expect_err("a problem").to_string();
    let gone = problem(&OLD.replace("let a = 1;", "let a = 3;"), &[("it", edit)]);
    assert!(gone.starts_with("the fix of it: there is different code in one of"), "{gone}");
    let twice = problem(&OLD.replace("    b();", "    let a = 1;"), &[("it", edit)]);
    assert!(twice.starts_with("the fix of it: these lines occur 2 times in one of"), "{twice}");
    let both = problem(OLD, &[("it", edit), ("that", edit)]);
    assert!(both.starts_with("the fixes of it and that both change candle-core/src/x.rs:2"), "{both}");
    let odd = Edit { with: "{7}\n".to_string(), ..edit.clone() };
    assert!(
        problem(OLD, &[("it", &odd)]).contains("`{7}` in the edit of candle-core/src/x.rs is not one of the 1 lines")
    );
}

#[test]
fn fixes_are_named_like_a_candle() {
    for (typed, names) in [("fixes", vec![]), ("fixes:a", vec!["a"]), ("fixes:a,b", vec!["a", "b"])] {
        let named = Named::parse(typed).expect("fixes");
        assert_eq!(named.origin, Origin::Fixes(names.into_iter().map(ToString::to_string).collect()));
        assert_eq!((named.text().as_str(), named.folder().as_str()), (typed, "fixes"));
    }
    let problem = Named::parse("fixed").expect_err("neither").to_string();
    assert!(problem.contains("nor `fixes`"), "{problem}");
}

#[test]
fn a_cause_is_there_since_the_oldest_release_after_which_all_show_it() {
    let causes = causes();
    let cause = causes.iter().find(|cause| cause.name == "chunk-into-0-parts-divides-by-0").expect("a cause");
    let (_, kept) =
        regressions().into_iter().find(|(name, _)| name == "tensor.chunk/zero-chunks-panics").expect("kept");
    let failing: Failing = [(Device::Cpu, vec![kept.signature.as_ref().expect("it fails").on_one_device()])].into();
    let causes = [(Device::Cpu, cause.name.clone())].into();
    let name = kept.signature.as_ref().expect("it fails").slug();
    let lacking = Arc::new(CandleUnderTest { lacks: vec![kept.case.op.clone()], ..CandleUnderTest::default() });
    let subjects = [Subject { name, kept, causes }];
    let release = |(minor, seen): (usize, char)| TriedRelease {
        version: Version::new(0, minor as u64, 0),
        candle: (seen == '-').then(|| Arc::clone(&lacking)),
        seen: vec![if seen == 'x' { failing.clone() } else { Failing::new() }],
    };
    // x fails, . passes, - lacks the call
    let rows = [
        ("xxx", Some("Present since at least 0.0.0 (the oldest release tried, CPU)")),
        (".xx", Some("A regression in 0.1.0: 0.0.0 does not have it (CPU)")),
        ("--x", Some("Present since at least 0.2.0 (CPU); 0.1.0 lacks something that the call uses")),
        ("x.x", Some("A regression in 0.2.0: 0.1.0 does not have it (CPU)")),
        ("xx.", None),
    ];
    for (seen, expected) in rows {
        let releases: Vec<TriedRelease> = seen.chars().enumerate().map(release).collect();
        let found = since(cause, &subjects, &releases, Device::Cpu).map(|since| since.to_string());
        assert_eq!(found.as_deref(), expected, "{seen}");
    }
}

/// Runs git in `folder`.
fn git(folder: &Path, args: &[&str]) -> (bool, String) {
    let author = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
    let output = Command::new("git").current_dir(folder).args(author).args(args).output().expect("git");
    (output.status.success(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
}

#[test]
fn an_exported_fix_is_a_commit_with_its_message_its_test_and_its_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let (candle, into) = (folder.path().join("candle"), folder.path().join("patches"));
    let file = candle.join("candle-core/src/tensor.rs");
    fs::create_dir_all(file.parent().expect("a folder")).expect("made");
    fs::write(&file, source("candle-core/src/tensor.rs").expect("a source")).expect("written");
    let made = git(&candle, &["init", "-q"]).0 && git(&candle, &["add", "."]).0;
    assert!(made && git(&candle, &["commit", "-qm", "candle"]).0);
    let paths = [&candle, &into].map(|path| path.to_str().expect("a path"));
    // The last one is in a file that this candle lacks.
    let names = ["chunk-into", "roll-divides", "huber"];
    let args = [&["fixes", "export", "--candle", paths[0], "--into", paths[1]], &names[..]].concat();
    let output = snuffer(folder.path(), &args);
    let said = text(&output.stdout) + &text(&output.stderr);
    assert!(code(&output) == 2 && said.contains("left out  huber-overflows-by-squaring-delta: there is no "), "{said}");
    assert!(said.contains("2 commits for "), "{said}");
    let mut patches: Vec<_> =
        fs::read_dir(&into).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    patches.sort();
    for patch in &patches {
        let (applied, problem) = git(&candle, &["am", "-q", patch.to_str().expect("a path")]);
        assert!(applied, "{}: {problem}", patch.display());
    }
    let (_, log) = git(&candle, &["log", "--format=%s%n%b", "--stat"]);
    for part in [
        "chunk",
        "roll",
        "PyTorch: ",
        "Found by fuzzing with snuffer.",
        "candle-core/tests/chunk_into_0_parts_divides_by_0.rs",
    ] {
        assert!(log.contains(part), "{part} is not in\n{log}");
    }
    let names = ["chunk-into", "roll-divides"].map(String::from);
    let both = diff(&fixed::fixes(&names).expect("fixes")).expect("a diff");
    let (_, same) = git(&candle, &["diff", "HEAD~2", "--", "candle-core/src"]);
    let changed =
        |diff: &str| diff.lines().filter(|line| line.starts_with(['+', '-'])).map(String::from).collect::<Vec<_>>();
    assert_eq!(changed(&same), changed(&both));
}

#[test]
fn a_report_of_a_theme_has_each_cause_with_its_test_and_its_change() {
    let folder = tempfile::tempdir().expect("a folder");
    let into = folder.path().join("reports");
    let output = snuffer(folder.path(), &["report", "nan-and-ties", "--into", into.to_str().expect("a path")]);
    let said = text(&output.stdout);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let causes = snuffer::causes::RootCause::own().expect("causes");
    let its: Vec<_> = causes.iter().filter(|cause| cause.theme == "nan-and-ties" && cause.note.is_none()).collect();
    assert!(its.len() > 3);
    for cause in its {
        assert!(said.contains(&format!(". {}\n", cause.title)), "{} is not in\n{said}", cause.title);
    }
    for part in ["test_device!(", "```diff\n--- a/candle-", "| below, with a test |"] {
        assert!(said.contains(part), "{part} is not in\n{said}");
    }
    assert!(text(&output.stderr).contains("commits    snuffer fixes export --theme nan-and-ties"));
    assert_eq!(fs::read_to_string(into.join("nan-and-ties/report.md")).expect("written"), said);
}
