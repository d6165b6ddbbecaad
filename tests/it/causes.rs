//! Root causes: each is read, explains what it says, and its fix finds its place; and the commands that show them.

use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;

use snuffer::candles::Named;
use snuffer::candles::fixed::{Fixes, diff, digest_of, edited, places, source};
use snuffer::causes::{Edit, Fix, RootCause, Sighting, explain};
use snuffer::fixes::{edits, sets};
use snuffer::store::regression::slug;

use crate::cli::{code, snuffer, text};
use crate::kept::regressions;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/causes.md");
const AVOID: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/avoid.md");

fn causes() -> Vec<RootCause> {
    let causes = RootCause::read(&Path::new(ROOT).join("corpora/causes")).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(causes.len() > 50, "only {} causes are left", causes.len());
    causes
}

fn fixes() -> Fixes {
    causes().into_iter().filter_map(|cause| Some((cause.name, cause.fix?))).collect()
}

#[test]
fn causes_are_named_after_their_titles_and_belong_to_the_build() {
    for cause in causes() {
        assert_eq!(cause.name, slug(&cause.title, 50), "the folder of: {}", cause.title);
        assert!(!cause.shown_by.is_empty() && !cause.at.is_empty(), "{} explains nothing", cause.name);
        assert!(RootCause::own().iter().any(|own| own.name == cause.name), "{} is not in the build", cause.name);
    }
}

#[test]
fn nearly_all_regressions_have_a_cause() {
    let (causes, kept) = (causes(), regressions());
    let sightings: Vec<(&String, Sighting)> =
        kept.iter().filter_map(|(name, one)| Some((name, Sighting::kept(one)?))).collect();
    let cause = |sighting: &Sighting| explain(&causes, sighting).unwrap_or_else(|problem| panic!("{problem}"));
    let rest: Vec<&String> = sightings.iter().filter(|(_, one)| cause(one).is_none()).map(|(name, _)| *name).collect();
    // What candle fixed has no cause any more.
    assert_eq!(rest, ["tensor.repeat/zero-factor-ignored"]);
}

#[test]
fn a_proven_fix_decides_before_a_predicate_does() {
    let (mut causes, kept) = (causes(), regressions());
    let (_, chunk) = kept.iter().find(|(name, _)| name == "tensor.chunk/zero-chunks-panics").expect("kept");
    let sighting = Sighting::kept(chunk).expect("it fails");
    let name = |causes: &[RootCause]| explain(causes, &sighting).expect("predicates").map(|cause| cause.name.clone());
    assert_eq!(name(&causes).as_deref(), Some("chunk-into-0-parts-divides-by-0"));
    let proven = causes.iter().find_map(|cause| cause.proof.clone()).expect("a proof");
    causes.retain(|cause| cause.name != "chunk-into-0-parts-divides-by-0");
    assert_eq!(name(&causes), None);
    let mends = [sighting.signature.slug()].into();
    causes[3].proof = Some(snuffer::causes::Proof { mends, ..proven });
    assert_eq!(name(&causes), Some(causes[3].name.clone()));
}

#[test]
fn a_report_of_a_cause_without_a_finding_says_how_to_make_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = snuffer(&folder.path().join("none"), &["report", "chunk-into-0"]);
    let said = text(&output.stderr);
    assert_eq!(code(&output), 1, "{said}");
    assert!(said.contains("`snuffer import ") && said.contains("tensor.chunk/zero-chunks-panics/case.toml`"), "{said}");
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
        // A line that is only indented is told by its number.
        ("    b();\n}\n\nfn two", "    if e() {\n        b();\n    }\n}\n\nfn two", 1, "one", 1),
    ];
    for (from, to, count, function, lines) in rows {
        let new = OLD.replacen(from, to, 1);
        let found = edits(FILE, OLD, &new).unwrap_or_else(|problem| panic!("{to}: {problem}"));
        assert_eq!(found.len(), count, "{to}");
        assert_eq!((found[0].function.as_deref(), found[0].lines), (Some(function), lines), "{to}");
        let named: Vec<(&str, &Edit)> = found.iter().map(|edit| ("a cause", edit)).collect();
        let plain = |text: &str| text.lines().map(|line| line.trim().to_string()).collect::<Vec<_>>();
        assert_eq!(plain(&edited(FILE, OLD, &named).expect("its place")), plain(&new));
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
    assert!(gone.starts_with("the fix of it: candle ") && gone.contains("has other code in one of"), "{gone}");
    let twice = problem(&OLD.replace("    b();", "    let a = 1;"), &[("it", edit)]);
    assert!(twice.starts_with("the fix of it: 2 places in one of"), "{twice}");
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
        assert_eq!(named, Named::Fixes(names.into_iter().map(ToString::to_string).collect()));
        assert_eq!((named.text().as_str(), named.folder().as_str()), (typed, "fixes"));
    }
    let problem = Named::parse("fixed").expect_err("neither").to_string();
    assert!(problem.contains("nor `fixes`"), "{problem}");
}

#[test]
fn the_commands_show_causes_and_build_fixes() {
    let store = tempfile::tempdir().expect("a folder");
    let run = |args: &[&str]| {
        let output = snuffer(store.path(), args);
        (code(&output), text(&output.stdout) + &text(&output.stderr))
    };
    let (status, shown) = run(&["causes", "--kept"]);
    assert_eq!(status, 2, "{shown}");
    assert!(shown.contains("1 regression that no cause explains\ntensor.repeat/zero-factor-ignored\n"), "{shown}");
    let (status, shown) = run(&["causes", "chunk-into"]);
    assert!(
        status == 0 && shown.contains("+            bail!") || shown.contains("+        if chunks == 0 {"),
        "{shown}"
    );
    assert!(shown.contains("regression tensor.chunk/zero-chunks-panics\n"), "{shown}");
    let (status, shown) = run(&["causes", "matmul"]);
    assert!(status == 1 && shown.contains("type more of the name"), "{shown}");
    let into = store.path().join("fixed");
    let into = into.to_str().expect("a path");
    let (status, shown) = run(&["fixes", "build", "chunk-into", "--into", into]);
    assert!(status == 0 && shown.contains(&format!("`--candle {into}` tests it")), "{shown}");
    let (status, shown) = run(&["fixes", "build", "chunk-into", "--into", into]);
    assert!(status == 1 && shown.contains("exists; remove it, or name a new folder with --into"), "{shown}");
    let (status, shown) = run(&["fixes", "build", "no-such", "--into", &format!("{into}2")]);
    assert!(status == 1 && shown.contains("no cause `no-such` has a fix"), "{shown}");
    let (status, shown) = run(&["regressions", "chunk", "--candle", "fixes:no-such", "--device", "cpu"]);
    assert!(status == 1 && shown.contains("no cause `no-such` has a fix"), "{shown}");
}

#[test]
fn the_document_of_causes_is_up_to_date() {
    let text = document();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(DOCUMENT, &text).expect("docs/causes.md is written");
    }
    assert!(
        std::fs::read_to_string(DOCUMENT).expect("docs/causes.md") == text,
        "docs/causes.md is old: see its first lines"
    );
}

fn document() -> String {
    let (causes, kept) = (causes(), regressions());
    let mut rows = String::new();
    let mut counts = [0; 4];
    for cause in &causes {
        let explains =
            |one: &Sighting| explain(&causes, one).is_ok_and(|own| own.is_some_and(|own| own.name == cause.name));
        let regressions = kept.iter().filter_map(|(_, one)| Sighting::kept(one)).filter(explains).count();
        let (state, mends) = match &cause.proof {
            _ if cause.fix.is_none() => (String::new(), String::new()),
            Some(proof) if proof.holds() => {
                let devices: Vec<String> = proof.devices.iter().map(ToString::to_string).collect();
                (format!("proven on {}", devices.join(" and ")), proof.mends.len().to_string())
            }
            Some(proof) => ("unproven".to_string(), proof.mends.len().to_string()),
            None => ("unproven".to_string(), String::new()),
        };
        counts[0] += usize::from(cause.fix.is_some());
        counts[1] += usize::from(cause.is_proven());
        counts[2] += cause.proof.as_ref().map_or(0, |proof| proof.mends.len());
        counts[3] += regressions;
        let at = cause.at[0].replace('|', "\\|");
        writeln!(rows, "| {} | {} | `{at}` | {state} | {mends} | {regressions} |", cause.rank, cause.title)
            .expect("text");
    }
    let [fixes, proven, mended, explained] = counts;
    let all = causes.len();
    format!(
        "# Causes\n\nMade from `corpora/causes` by `UPDATE_DOCS=1 cargo test --test it causes`. `snuffer causes NAME` shows one whole, with its \
         fix as a\ndiff; [CONTRIBUTING.md](../CONTRIBUTING.md#write-a-cause-and-its-fix) says how to write one.\n\n{all} causes explain \
         {explained} regressions. {fixes} have a fix, and {proven} fixes are proven on the devices that the table names: {mended} failures \
         pass\nwith them that fail without, none that their causes explain is left, and no known failure\nappears on a device where it did not.\n\n\
         | rank | cause | where | fix | mends | regressions |\n|---|---|---|---|---|---|\n{rows}"
    )
}

#[test]
fn the_guide_of_what_to_avoid_is_up_to_date() {
    let text = avoid();
    if std::env::var_os("UPDATE_DOCS").is_some() {
        std::fs::write(AVOID, &text).expect("docs/avoid.md is written");
    }
    assert!(
        std::fs::read_to_string(AVOID).expect("docs/avoid.md") == text,
        "docs/avoid.md is old: see its first lines"
    );
}

/// What users of today's release can do about each cause that has a way around it.
fn avoid() -> String {
    let mut rows = String::new();
    let causes = causes();
    let avoidable = causes.iter().filter_map(|cause| Some((cause, cause.workaround.as_ref()?)));
    for (cause, workaround) in avoidable {
        let links: Vec<String> = cause.upstream.iter().map(|link| format!("[{}]({link})", number(link))).collect();
        let cells =
            [cause.title.as_str(), &cause.affected.join(", "), &workaround.trim().replace('\n', " "), &links.join(" ")];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        writeln!(rows, "| {} | {} |", cause.rank, cells.join(" | ")).expect("text");
    }
    format!(
        "# What to avoid in candle {}\n\nMade from `corpora/causes` by `UPDATE_DOCS=1 cargo test --test it causes`. These bugs are in today's \
         release, the worst first:\n*memory* and *wrong* give no error. What you can do until they are fixed is in the fourth column.\n\
         [causes.md](causes.md) has all causes.\n\n| rank | bug | who runs into it | what to do | upstream |\n|---|---|---|---|---|\n{rows}",
        snuffer::CANDLE
    )
}

/// `#12` of a link to an issue or a pull request.
fn number(link: &str) -> String {
    link.rsplit('/').next().map_or_else(|| link.to_string(), |number| format!("#{number}"))
}
