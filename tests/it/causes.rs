//! Root causes: each is read and explains what it says; the commands and documents that show them.

use std::fmt::Write;
use std::path::Path;

use snuffer::causes::{Link, RootCause, Sighting, cause_of};
use snuffer::exec::CandleUnderTest;
use snuffer::store::regression::slug;

use crate::cli::{code, snuffer, text};
use crate::kept::regressions;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");
const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/causes.md");
const AVOID: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/avoid.md");

pub fn causes() -> Vec<RootCause> {
    let causes = RootCause::read(&Path::new(ROOT).join("corpora/causes")).unwrap_or_else(|problem| panic!("{problem}"));
    assert!(causes.len() > 50, "only {} causes are left", causes.len());
    causes
}

#[test]
fn causes_have_short_names_and_belong_to_the_build() {
    let own = RootCause::own().expect("causes");
    for cause in causes() {
        cause.check().unwrap_or_else(|problem| panic!("{problem}"));
        assert_eq!(cause.name, slug(&cause.name, 50), "the folder of: {}", cause.title);
        assert!(!cause.shown_by.is_empty() && !cause.at.is_empty(), "{} explains nothing", cause.name);
        assert!(own.iter().any(|own| own.name == cause.name), "{} is not in the build", cause.name);
    }
}

#[test]
fn nearly_all_regressions_have_a_cause() {
    let (causes, kept) = (causes(), regressions());
    let sightings: Vec<(&String, Sighting)> =
        kept.iter().filter_map(|(name, one)| Some((name, Sighting::kept(one)?))).collect();
    let rest = sightings.iter().filter(|(_, one)| cause_of(&causes, one).is_none());
    let rest: Vec<&String> = rest.map(|(name, _)| *name).collect();
    // What candle fixed has no cause any more.
    assert_eq!(rest, ["tensor.repeat/zero-factor-ignored"]);
}

#[test]
fn a_proven_fix_decides_before_a_predicate_does() {
    let (mut causes, kept) = (causes(), regressions());
    let (_, chunk) = kept.iter().find(|(name, _)| name == "tensor.chunk/zero-chunks-panics").expect("kept");
    let sighting = Sighting::kept(chunk).expect("it fails");
    let name = |causes: &[RootCause]| cause_of(causes, &sighting).map(|cause| cause.name.clone());
    assert_eq!(name(&causes).as_deref(), Some("chunk-into-0-parts-divides-by-0"));
    let proven = causes.iter().find_map(|cause| cause.proof.clone()).expect("a proof");
    causes.retain(|cause| cause.name != "chunk-into-0-parts-divides-by-0");
    assert_eq!(name(&causes), None);
    let mends = [sighting.signature.slug()].into();
    causes[3].proof = Some(snuffer::causes::Proof { mends, ..proven });
    assert_eq!(name(&causes), Some(causes[3].name.clone()));
}

#[test]
fn what_fails_with_a_proven_fix_has_another_cause() {
    let (causes, kept) = (causes(), regressions());
    let (_, chunk) = kept.iter().find(|(name, _)| name == "tensor.chunk/zero-chunks-panics").expect("kept");
    let chunk = Sighting::kept(chunk).expect("it fails");
    let own = "chunk-into-0-parts-divides-by-0";
    let rows = [
        ("0.11.0", Some(own)),
        ("fixes:neg-of-integers-panics-as-not-implemented", Some(own)),
        ("fixes:chunk-into-0-parts-divides-by-0", None),
        ("fixes", None),
    ];
    for (named, expected) in rows {
        let candle = CandleUnderTest { named: named.to_string(), ..CandleUnderTest::default() };
        let sighting = Sighting { candle: Some(&candle), ..chunk.clone() };
        let found = cause_of(&causes, &sighting).map(|cause| cause.name.as_str());
        assert_eq!(found, expected, "{named}");
    }
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
fn the_commands_show_causes_and_build_fixes() {
    let store = tempfile::tempdir().expect("a folder");
    let run = |args: &[&str]| {
        let output = snuffer(store.path(), args);
        (code(&output), text(&output.stdout) + &text(&output.stderr))
    };
    let (status, shown) = run(&["causes", "--kept"]);
    assert_eq!(status, 0, "{shown}");
    assert!(shown.contains("1 regression without a known cause\ntensor.repeat/zero-factor-ignored\n"), "{shown}");
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
        let explains = |one: &Sighting| cause_of(&causes, one).is_some_and(|own| own.name == cause.name);
        let regressions = kept.iter().filter_map(|(_, one)| Sighting::kept(one)).filter(explains).count();
        let (state, mends) = match &cause.proof {
            _ if cause.fix.is_none() => (String::new(), String::new()),
            Some(proof) if proof.holds() => {
                let devices: Vec<String> = proof.devices.iter().map(ToString::to_string).collect();
                (devices.join(", "), proof.mends.len().to_string())
            }
            Some(proof) => ("unproven".to_string(), proof.mends.len().to_string()),
            None => ("unproven".to_string(), String::new()),
        };
        counts[0] += usize::from(cause.fix.is_some());
        counts[1] += usize::from(cause.is_proven());
        counts[2] += cause.proof.as_ref().map_or(0, |proof| proof.mends.len());
        counts[3] += regressions;
        let at = cause.at[0].replace('|', "\\|");
        let since = cause.since.as_ref().map_or_else(String::new, |since| since.release.to_string());
        let cells = [&cause.rank.to_string(), &cause.title, &format!("`{at}`"), &since, &state, &mends];
        writeln!(rows, "| {} | {regressions} |", cells.map(String::as_str).join(" | ")).expect("text");
    }
    let [fixes, proven, mended, explained] = counts;
    let all = causes.len();
    format!(
        "# Causes\n\nMade from `corpora/causes` by `UPDATE_DOCS=1 cargo test --test it causes`. `snuffer causes NAME` shows one whole, with its \
         fix as a\ndiff; [CONTRIBUTING.md](../CONTRIBUTING.md#write-a-cause-and-its-fix) says how to write one.\n\n{all} causes explain \
         {explained} regressions. {fixes} have a fix, and {proven} fixes are proven: {mended} failures pass with them that fail\nwithout, no \
         failure of their causes is left, and no known failure appears on another device. Causes of the oldest\nrelease that was tested, \
         0.8.0, may be older (`snuffer bisect --causes`).\n\n\
         | rank | cause | where | since | fix proven on | fixes | regressions |\n|---|---|---|---|---|---|---|\n{rows}"
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

/// What users of today's release can do about each cause.
fn avoid() -> String {
    let mut rows = String::new();
    let causes = causes();
    for cause in &causes {
        let workaround = cause.workaround.as_deref().unwrap_or("No workaround is known: avoid the call.");
        let links = cause.upstream.iter().map(|Link { url, kind, .. }| format!("[{}]({url}) {kind}", number(url)));
        let links: Vec<String> = links.collect();
        let cells = [
            cause.title.as_str(),
            &cause.affected.join(", "),
            &workaround.trim().replace('\n', " "),
            &links.join(", "),
        ];
        let cells = cells.map(|cell| cell.replace('|', "\\|"));
        writeln!(rows, "| {} | {} |", cause.rank, cells.join(" | ")).expect("text");
    }
    format!(
        "# What to avoid in candle {}\n\nMade from `corpora/causes` by `UPDATE_DOCS=1 cargo test --test it causes`. These bugs are in today's \
         release, the worst first:\n*memory* and *wrong* give no error. The fourth column says what to do until they are fixed.\n\
         [causes.md](causes.md) has all causes.\n\n| rank | bug | who runs into it | what to do | upstream |\n|---|---|---|---|---|\n{rows}",
        snuffer::CANDLE
    )
}

/// `#12` of a link to an issue or a pull request.
fn number(link: &str) -> String {
    link.rsplit('/').next().map_or_else(|| link.to_string(), |number| format!("#{number}"))
}
