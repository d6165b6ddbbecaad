//! The pages of a site: their content, valid links, and escaped text.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use snuffer::case::Case;
use snuffer::causes::KnownFailures;
use snuffer::coverage::Coverage;
use snuffer::device::Device;
use snuffer::ops::canary;
use snuffer::oracle::Violation;
use snuffer::outcome::{Outcome, Panic, Phase};
use snuffer::report::site::{Campaign, Contents, site};
use snuffer::store::regression::{Expected, Regression, read};
use snuffer::store::{Counts, Finding, Platform, Record, Tally, id};
use snuffer::tensor::{DType, Tensor, Value};

use crate::finding::finding;

/// Text that must be escaped on every page.
const MARKUP: &str = "<script>alert('&')</script>";

/// A finding in a listed op, one whose text is markup, a regression of the first, and two campaigns.
pub fn contents() -> Contents {
    let panic = Panic { phase: Phase::Forward, place: "candle-nn/src/ops.rs:1".into(), message: "gone".into() };
    let mut listed = finding("candle-nn/src/ops.rs:1");
    listed.violation =
        Violation { kind: "panic".into(), detail: "expected Ok; got a panic".into(), ..listed.violation };
    listed.signature = listed.violation.signature("op.softmax");
    let x = Tensor::new(DType::F16, vec![2], vec![Value::Float(1.0), Value::Float(-1.0)]);
    listed.case = Case::new("op.softmax").param("dim", 0_usize).input("x", x);
    listed.observations[0].outcome = Outcome::Panicked(panic);
    let mut marked = finding(MARKUP);
    marked.case = canary::case(MARKUP);
    marked.violation.detail = MARKUP.into();
    marked.promise = MARKUP.into();
    let kept = Regression {
        title: "softmax panics".into(),
        upstream: Some("https://github.com/huggingface/candle/issues/1".into()),
        ..Regression::of(&listed)
    };
    let named = |finding: Finding| (finding.signature.slug(), finding);
    Contents {
        store: "findings".into(),
        findings: vec![named(marked), named(listed)],
        campaigns: vec![campaign("0-1-1", "8:4:0,9:1:3"), campaign("86400-2-1", "8:0:2,9:0:0")],
        known: KnownFailures::new(vec![("kept".into(), kept)]).expect("causes"),
        ..Contents::default()
    }
}

fn campaign(name: &str, branches: &str) -> Campaign {
    let counts = Counts { cases: 40, passed: 30, partly: 8, skipped: 1, failed: 1 };
    let count = |name: &str| BTreeMap::from([(name.to_string(), counts.clone())]);
    let calls = ["op.softmax f32 cpu returned", "op.softmax f64 sim:0 unsupported", "tensor.exp f64 cpu returned"];
    let tally = Tally {
        total: counts.clone(),
        ops: count("op.softmax"),
        calls: calls.map(|call| (call.to_string(), 10)).into(),
        signatures: BTreeMap::from([("one".to_string(), 1)]),
        ..Tally::default()
    };
    let devices = vec!["cpu".to_string(), "sim:0".to_string()];
    let record = Record { versions: "a test".into(), seed: 7, devices, seconds: 20.0, tally, ..Record::default() };
    let mut coverage = Coverage::default();
    let file = "/home/a/candle-kernels-0.1.2/src/fill.cu";
    let text = format!("loaded\t{file}\tcopy_u8,fill_u8\nkernel\t{file}\tfill_u8\t2\t4,0,4\t{branches}\n");
    coverage.read(&text).expect("coverage");
    Campaign { name: name.into(), record, coverage }
}

/// The pages of these contents, by path.
pub fn pages() -> BTreeMap<String, String> {
    site(&contents()).expect("templates").into_iter().collect()
}

/// The unescaped values of an attribute.
pub fn values(page: &str, attribute: &str) -> Vec<String> {
    let opening = format!(" {attribute}=\"");
    let after = page.split(&opening).skip(1);
    let plain = |value: &str| value.replace("&#x2f;", "/").replace("&amp;", "&");
    after.map(|rest| plain(rest.split('"').next().unwrap_or_default())).collect()
}

/// The path of the target of `link` on the page at `from`.
fn target(from: &str, link: &str) -> String {
    if link.is_empty() {
        return from.to_string();
    }
    let folder = from.rsplit_once('/').map_or("", |(folder, _)| folder);
    match link.strip_prefix("../") {
        Some(rest) => rest.to_string(),
        None if folder.is_empty() => link.to_string(),
        None => format!("{folder}/{link}"),
    }
}

#[test]
fn every_link_leads_to_a_page_and_every_fragment_to_an_id_or_a_filter() {
    let pages = pages();
    let mut checked = 0;
    for (path, page) in pages.iter().filter(|(path, _)| Path::new(path).extension().is_some_and(|kind| kind == "html"))
    {
        let links = [values(page, "href"), values(page, "src")].concat();
        for link in links.iter().filter(|link| !link.starts_with("https://") && !link.starts_with("data:")) {
            let (file, fragment) = link.split_once('#').unwrap_or((link, ""));
            let target = target(path, file);
            let found = pages.get(&target).unwrap_or_else(|| panic!("{path}: {link} leads nowhere ({target})"));
            let is_filter = fragment.contains('=') && target == "index.html";
            let ids: BTreeSet<String> = values(found, "id").into_iter().collect();
            assert!(fragment.is_empty() || is_filter || ids.contains(fragment), "{path}: {link} has no such anchor");
            checked += 1;
        }
    }
    assert!(checked > 40, "only {checked} links seen");
}

/// A page's text without tags and escapes.
pub fn text(page: &str) -> String {
    let text: String = page.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
    let escapes = [("&#x2f;", "/"), ("&quot;", "\""), ("&#x27;", "'"), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")];
    escapes.into_iter().fold(text, |text, (escaped, plain)| text.replace(escaped, plain))
}

#[test]
fn every_scenario_is_on_the_site_with_its_verdicts_and_is_linked() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/scenarios");
    let (pages, scenarios) = (pages(), read(&folder).expect("scenarios"));
    let sections: Vec<&str> = pages["scenarios.html"].split("<section ").skip(1).collect();
    assert_eq!(sections.len(), scenarios.len());
    for ((name, scenario), section) in scenarios.iter().zip(sections) {
        let file = std::fs::read_to_string(folder.join(format!("{name}.toml"))).expect("readable");
        let shown = text(section);
        for expected in [&scenario.title, &file, &format!("snuffer replay {name}.toml ")] {
            assert!(shown.contains(expected.as_str()), "{expected} is not in {shown}");
        }
        for device in [Device::Cpu, Device::Sim(0)] {
            let row = section.split_once(&format!("<th scope=\"row\">{device}</th><td>")).expect(name).1;
            let fails = scenario.expected(&Platform::today(device, None)) == Expected::Fails;
            assert!(row.starts_with(if fails { "fails" } else { "no violation<" }), "{name}: {row}");
        }
        for document in ["guide.html", "claims.html"] {
            assert!(!pages[document].contains(&format!("[{name}]")), "{document} names {name} without a link");
        }
        let link = format!("scenarios.html#{name}");
        assert!(
            ["guide.html", "claims.html"].iter().any(|page| values(&pages[*page], "href").contains(&link)),
            "{name}"
        );
    }
}

#[test]
fn a_document_has_scrollable_tables_and_links_to_pages_or_the_repository() {
    let guide = &pages()["guide.html"];
    let title = "Field guide: a CUDA assert or a NaN loss under candle</h1>";
    assert!(guide.contains(&format!("<h1 id=\"field-guide-a-cuda-assert-or-a-nan-loss-under-candle\">{title}")));
    assert!(guide.matches("<div class=\"scroll\"").count() == guide.matches("<table>").count());
    let links = values(guide, "href");
    for expected in ["claims.html", concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/HEAD/docs/guard.md")] {
        assert!(links.iter().any(|link| link == expected), "{expected} is not in {links:?}");
    }
    assert!(!links.iter().any(|link| link.contains("..")), "{links:?}");
}

#[test]
fn the_command_of_a_finding_names_no_folder_of_this_machine() {
    for (store, shown) in
        [("findings", ""), ("/home/somebody/stores/night", " --store night"), ("../night", " --store ../night")]
    {
        let contents = Contents { store: store.into(), ..contents() };
        let pages: BTreeMap<String, String> = site(&contents).expect("templates").into_iter().collect();
        let name = &contents.findings[1].0;
        let page = pages[&format!("finding/{name}.html")].replace("&#x2f;", "/");
        assert!(page.contains(&format!("<pre>snuffer replay {}{shown}</pre>", id(name))), "{store}: {page}");
        assert!(!page.contains("/home/somebody"), "{store}: {page}");
    }
}

#[test]
fn the_text_of_a_finding_is_escaped() {
    let pages = pages();
    let holding: Vec<_> = pages.iter().filter(|(_, page)| page.contains("alert(")).collect();
    assert_eq!(holding.len(), 3, "the list, the causes and the finding's page");
    for (path, page) in holding {
        assert!(!page.contains("<script>alert"), "{path}");
        assert!(page.contains("&lt;script&gt;alert(&#x27;&amp;&#x27;)"), "{path}");
    }
}

#[test]
fn pages_load_nothing_from_elsewhere() {
    for (path, page) in pages() {
        for word in ["@import", "url(", "fetch(", "XMLHttpRequest", "//cdn"] {
            assert!(!page.contains(word), "{path} has {word}");
        }
        for source in values(&page, "src") {
            assert!(!source.contains(':'), "{path} loads {source}");
        }
        let outside = page.split(['<', '>']).filter(|tag| tag.contains("=\"http"));
        for tag in outside {
            assert!(tag.starts_with("a "), "{path}: {tag}");
        }
    }
}

#[test]
fn a_finding_has_its_summary_case_replay_command_and_regression() {
    let contents = contents();
    let pages = pages();
    let (name, finding) = &contents.findings[1];
    let page = pages[&format!("finding/{name}.html")].replace("&#x2f;", "/").replace("&quot;", "\"");
    assert!(page.contains("<h1>") && page.contains("op.<wbr>softmax"), "a name breaks behind a dot");
    let page = page.replace("<wbr>", "");
    for expected in [
        "<code>op.softmax</code> in <code>f16</code> panics on cpu.",
        &format!("<pre>snuffer replay {}</pre>", id(name)),
        "panic in forward at candle-nn/src/ops.rs:1: gone",
        "panic (contract)",
        "<b>Known, open:</b> softmax panics.",
        "<a href=\"https://github.com/huggingface/candle/issues/1\">",
        "3 of 3 runs",
        "seed 1, case 2",
        finding.case.to_text().trim_end(),
    ] {
        assert!(page.contains(expected), "{expected} is not in {page}");
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter(r"snuffer \d+\.\d+\.\d+", "snuffer VERSION");
    settings.bind(|| insta::assert_snapshot!("site_finding", page));
}

#[test]
fn the_first_page_begins_with_the_worst_findings_new_ones_first() {
    let pages = pages();
    let (_, after) = pages["index.html"].split_once("<ol class=\"lines\">").expect("a list");
    let (worst, _) = after.split_once("</ol>").expect("its end");
    let shown = text(worst);
    let places = ["canary does not return within the deadline", "op.softmax panics"].map(|what| shown.find(what));
    assert!(places[0].is_some() && places[0] < places[1], "{shown}");
    assert_eq!(values(worst, "href").len(), 2);
}

/// The marks of an op's cells in the matrix.
pub fn marks<'a>(index: &'a str, op: &str) -> Vec<&'a str> {
    let (family, name) = op.split_once('.').expect("a name with a family");
    let head = format!("<span class=\"prefix\">{family}.</span>{name}</");
    let row = index.split("<tr>").find(|row| row.contains(&head)).expect("a row");
    row.split("<td class=\"").skip(1).map(|cell| cell.split(['"', ' ']).next().unwrap()).collect()
}

#[test]
fn a_cell_shows_the_worst_finding_or_what_the_records_say() {
    let pages = pages();
    let cells = marks(&pages["index.html"], "op.softmax");
    // The op ran in f32, another op ran in f64, f16 has the finding, and integers are not listed.
    assert_eq!(cells[..4], ["clean", "untried", "crash", "untried"]);
    // The finding does not appear on sim:0, which ran only an unsupported f64 call.
    assert_eq!(cells[10..13], ["untried", "untried", "untried"]);
    assert_eq!(cells[5], "unlisted");
}

#[test]
fn coverage_and_trends_add_up_over_campaigns() {
    let pages = pages();
    let plain = |path: &str| pages[path].replace("&#x2f;", "/");
    let source = plain("coverage/candle-kernels-src-fill.cu.html");
    assert!(source.contains("1 of 2 kernels were launched; 4 of 4 edges"), "{source}");
    assert!(!source.contains("/home/a"), "a path of the machine");
    let trends = plain("trends.html");
    for expected in [
        "1970-01-01 00:00",
        "1970-01-02 00:00",
        "<td>2.0</td><td>1</td><td>3</td><td>3 / 4</td>",
        "<td>0</td><td>1</td><td>4 / 4</td>",
    ] {
        assert!(trends.contains(expected), "{expected} is not in {trends}");
    }
}
