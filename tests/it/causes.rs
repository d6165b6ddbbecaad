//! Root causes: each is read and explains what it says; the commands and documents that show them.

use std::fmt::Write;
use std::path::Path;

use serde::Serialize;
use snuffer::CANDLE;
use snuffer::causes::{Hit, Instead, KnownFailures, Link, RootCause, Sighting, Since, Symptom, cause_of};
use snuffer::exec::CandleUnderTest;
use snuffer::store::regression::slug;

use crate::cli::{code, snuffer, text};
use crate::kept::regressions;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

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
        let is_bug = cause.note.is_none();
        assert!(!is_bug || cause.expected.is_some(), "{} says nothing of what is expected, and why", cause.name);
    }
}

#[test]
fn no_text_of_a_cause_names_another_which_only_this_suite_knows() {
    let causes = causes();
    for RootCause { name, explanation, about_fix, expected, pytorch, workaround, note, .. } in &causes {
        let more = [about_fix, expected, pytorch, workaround, note].into_iter().flatten();
        for text in std::iter::once(explanation).chain(more) {
            let named = causes.iter().find(|other| text.contains(&other.name)).map(|other| &other.name);
            assert_eq!(named, None, "{name}: an issue on candle does not explain that name");
        }
    }
}

#[test]
fn each_place_of_a_cause_is_linked_to_its_lines() {
    let mut missing = Vec::new();
    for cause in causes() {
        let unlinked = snuffer::candles::places(&cause).into_iter().filter(|place| !place.starts_with("[`"));
        missing.extend(unlinked.map(|place| format!("{}: {place}", cause.name)));
    }
    assert!(missing.is_empty(), "candle has no\n{}", missing.join("\n"));
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
fn nearly_each_bug_has_a_regression_which_a_report_shows() {
    // They need cuDNN, large or random tensors, a worker that aborts or hangs, or look like a failure of another cause.
    const WITHOUT: [&str; 9] = [
        "a-strided-kernel-of-conv1d-with-cudnn-is-misplaced",
        "binary-operators-of-empty-tensors-leave-the-graph",
        "copies-of-a-view-move-the-buffer-behind-it",
        "dequantize-on-cuda-makes-a-misaligned-slice",
        "flash-attn-takes-other-alibi-slopes-if-the-heads",
        "indexed-moe-forward-on-cuda-fails-for-more-than",
        "the-initial-biases-of-conv1d-and-conv2d-do-not",
        "with-cudnn-convolutions-of-f16-sum-in-f16",
        "writing-into-a-tensor-that-shares-its-buffer-with",
    ];
    let known = KnownFailures::new(regressions()).expect("causes");
    let bugs = known.causes.iter().filter(|cause| cause.note.is_none());
    let without = bugs.filter(|cause| known.regressions_of(cause).is_empty()).map(|cause| cause.name.as_str());
    let mut without: Vec<&str> = without.collect();
    without.sort_unstable();
    assert_eq!(without, WITHOUT);
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
    let fixes = [sighting.signature.slug()].into();
    causes[3].proof = Some(snuffer::causes::Proof { fixes, ..proven });
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
fn a_report_of_a_cause_without_a_finding_is_about_what_its_regression_keeps() {
    let folder = tempfile::tempdir().expect("a folder");
    let into = folder.path().join("reports");
    let arguments = ["--no-program", "--conditions", "1s", "--into", into.to_str().expect("a path")];
    let output = snuffer(&folder.path().join("none"), &[&["report", "chunk-into-0"][..], &arguments].concat());
    let said = text(&output.stdout);
    assert_eq!(code(&output), 0, "{}", text(&output.stderr));
    let begin = "# Tensor::chunk into 0 parts panics with a division by 0\n\nA pull request is open for this: [#3778](";
    assert!(said.starts_with(begin) && said.contains(".chunk(0, ") && !said.contains("## See also"), "{said}");
    assert!(into.join("chunk-into-0-parts-divides-by-0/case.toml").is_file());
}

#[test]
fn an_example_is_a_regression_of_its_cause() {
    let known = KnownFailures::new(regressions()).expect("causes");
    for cause in &known.causes {
        let Some(example) = &cause.example else { continue };
        let its = known.regressions_of(cause);
        assert_eq!(its.first().map(|(name, _)| *name), Some(example.as_str()), "{}", cause.name);
    }
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
fn what_is_made_from_causes_is_up_to_date() {
    for (path, text) in [
        ("docs/causes.md", document()),
        ("docs/avoid.md", avoid()),
        ("cargo-snuffer/src/known_bugs.toml", known_bugs()),
    ] {
        let file = Path::new(ROOT).join(path);
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(&file, &text).expect(path);
        }
        assert!(std::fs::read_to_string(&file).expect(path) == text, "{path} is old: see its first lines");
    }
}

fn document() -> String {
    let (causes, kept, themes) = (causes(), regressions(), RootCause::themes().expect("themes"));
    let explained = |cause: &RootCause| {
        let explains = |one: &Sighting| cause_of(&causes, one).is_some_and(|own| own.name == cause.name);
        kept.iter().filter_map(|(_, one)| Sighting::kept(one)).filter(explains).count()
    };
    let (notes, bugs): (Vec<&RootCause>, Vec<&RootCause>) =
        RootCause::by_impact(&causes).into_iter().partition(|cause| cause.note.is_some());
    let mut order: Vec<&str> = Vec::new();
    for cause in &bugs {
        if !order.contains(&cause.theme.as_str()) {
            order.push(&cause.theme);
        }
    }
    let mut text = String::new();
    for key in &order {
        let theme = &themes[*key];
        let decision = theme.decision.trim();
        write!(text, "\n## {}\n\n{decision}\n\n{HEAD}", theme.title).expect("text");
        for cause in bugs.iter().filter(|cause| cause.theme == *key) {
            text += &row(cause, explained(cause));
        }
    }
    text += "\n## No bugs of candle\n\nFailures that these explain are known, too.\n\n| what happens | why it is no bug |\n|---|---|\n";
    for cause in &notes {
        let why = cause.note.as_deref().unwrap_or_default();
        writeln!(text, "| {} | {} |", cell(&cause.title), cell(why)).expect("text");
    }
    let fixes = bugs.iter().filter(|cause| cause.fix.is_some()).count();
    let proven: Vec<&&RootCause> = bugs.iter().filter(|cause| cause.is_proven()).collect();
    let passing: usize = proven.iter().filter_map(|cause| cause.proof.as_ref()).map(|proof| proof.fixes.len()).sum();
    let all: usize = causes.iter().map(explained).sum();
    format!(
        "# Causes\n\nMade from `corpora/causes` by `UPDATE_DOCS=1 cargo test --test it causes`. `snuffer causes NAME` shows a cause with its \
         fix\nas a diff, and `snuffer report THEME` writes an issue about a theme. [CONTRIBUTING.md](../CONTRIBUTING.md#write-a-cause-and-its-fix)\nsays \
         how to write one.\n\n{} bugs in {} themes, and {} things that are no bugs, explain {all} regressions. {fixes} bugs have a fix, and {} \
         fixes are\nproven: {passing} failures pass with them that fail without, no failure of their causes is left, and no known failure\n\
         appears on another device. Those come first that hit most people: rank, times how ordinary the calls are that\nmeet the bug and, if \
         they are ordinary, times the models of candle-transformers whose source calls the function\n(`cargo xtask models`).\n{text}",
        bugs.len(),
        order.len(),
        notes.len(),
        proven.len()
    )
}

const HEAD: &str =
    "| rank | cause | calls | models | where | since | fixes | regressions |\n|---|---|---|---|---|---|---|---|\n";

/// The row of a cause that explains so many regressions.
fn row(cause: &RootCause, regressions: usize) -> String {
    let fixes = match (&cause.proof, &cause.fix) {
        (_, None) => String::new(),
        (Some(proof), _) if proof.holds() => proof.fixes.len().to_string(),
        _ => "unproven".to_string(),
    };
    let since = cause.since.as_ref().map_or_else(String::new, Since::short);
    let cells = [
        &cause.rank.to_string(),
        &cause.title,
        &cause.hit.to_string().split(' ').next().unwrap_or_default().to_string(),
        &cause.models.len().to_string(),
        &format!("`{}`", cause.at[0]),
        &since,
        &fixes,
        &regressions.to_string(),
    ];
    format!("| {} |\n", cells.map(|text| cell(text)).join(" | "))
}

/// A text in a cell of a table.
fn cell(text: &str) -> String {
    text.trim().replace('|', "\\|").replace('\n', " ")
}

/// What users of today's release can do about each cause.
fn avoid() -> String {
    let causes = causes();
    let met = |cause: &&RootCause| cause.note.is_none() && matches!(cause.hit, Hit::Ordinary | Hit::Rare);
    let all: Vec<&RootCause> = RootCause::by_impact(&causes).into_iter().filter(met).collect();
    let mut text = String::new();
    for symptom in Symptom::ALL {
        let its: Vec<&&RootCause> = all.iter().filter(|cause| cause.symptom == *symptom).collect();
        if its.is_empty() {
            continue;
        }
        let mut title = symptom.to_string();
        title[..1].make_ascii_uppercase();
        write!(
            text,
            "\n## {title}\n\n| bug | on | dtypes | models | what to do | cost | upstream |\n|---|---|---|---|---|---|---|\n"
        )
        .expect("text");
        for cause in its {
            let links = cause.upstream.iter().map(|Link { url, kind, .. }| format!("[{}]({url}) {kind}", number(url)));
            let links: Vec<String> = links.collect();
            let cells = [
                cause.title.as_str(),
                &cause.on().join(", "),
                &cause.dtypes.join(", "),
                &cause.models.len().to_string(),
                cause.workaround.as_deref().unwrap_or("Avoid the call."),
                &cause.instead.as_ref().map_or_else(String::new, Instead::cost),
                &links.join(", "),
            ];
            writeln!(text, "| {} |", cells.map(cell).join(" | ")).expect("text");
        }
    }
    format!(
        "# What to avoid in candle {CANDLE}\n\nMade from `corpora/causes` by `UPDATE_DOCS=1 cargo test --test it causes`. These bugs are in today's \
         release. Find\nyours by what you see; those first that hit most people. An empty cell of dtypes means all. *models* counts those \
         of\ncandle-transformers that call the function. If there is a *cost*, a test makes the call as advised. `snuffer avoid` lists the bugs of a model, an op, a device or a dtype:\n\n```console\n$ \
         snuffer avoid --model whisper --device cuda --dtype f16\n```\n\nBugs that only invalid calls and empty tensors meet are in [causes](causes.md).\n{text}"
    )
}

/// `#12` of a link to an issue or a pull request.
fn number(link: &str) -> String {
    link.rsplit('/').next().map_or_else(|| link.to_string(), |number| format!("#{number}"))
}

/// A cause, as `cargo snuffer` knows it.
#[derive(Serialize)]
struct Bug<'a> {
    name: &'a str,
    title: &'a str,
    at: Vec<&'a str>,
    dtypes: &'a [String],
    instead: &'a str,
}

impl<'a> Bug<'a> {
    /// `None` if no place is known but that of every gradient, which says too little.
    fn of(cause: &'a RootCause) -> Option<Self> {
        let RootCause { name, title, dtypes, workaround, .. } = cause;
        let says_enough = |at: &&str| at.contains(' ') && !at.ends_with("Tensor::backward");
        let at: Vec<&str> = cause.at.iter().map(String::as_str).filter(says_enough).collect();
        let instead = workaround.as_deref().unwrap_or("Avoid the call.");
        (!at.is_empty()).then_some(Self { name, title, at, dtypes, instead })
    }
}

/// The causes that code on CUDA meets although it breaks no contract.
fn known_bugs() -> String {
    let causes = causes();
    let is_met = |cause: &&RootCause| {
        cause.note.is_none() && matches!(cause.hit, Hit::Ordinary | Hit::Rare) && cause.on().contains(&"cuda")
    };
    let bugs = RootCause::by_impact(&causes).into_iter().filter(is_met).filter_map(Bug::of);
    let head = "# Made from `corpora/causes` by `UPDATE_DOCS=1 cargo test --test it causes`.\n";
    let head = format!("{head}candle = \"{CANDLE}\"\n");
    bugs.fold(head, |text, bug| text + "\n[[bug]]\n" + &toml::to_string(&bug).expect("TOML"))
}
