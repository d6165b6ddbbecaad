//! The field guide, its claims and its scenarios as pages, for readers who have only the site.

use include_dir::{Dir, include_dir};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use serde::Serialize;

use crate::store::regression::Regression;

static SCENARIOS: Dir = include_dir!("$CARGO_MANIFEST_DIR/corpora/scenarios");

/// What the devices do with the scenarios: the snapshots of the test suite.
const MEASURED: [(&str, &str); 2] = [
    ("cpu", include_str!("../../../snapshots/scenarios.snap")),
    ("sim:0", include_str!("../../../snapshots/scenarios@sim.snap")),
];

/// The documents that become pages: path in the repository, page, and text.
const DOCUMENTS: [(&str, &str, &str); 2] = [
    ("docs/field-guide.md", "guide.html", include_str!("../../../docs/field-guide.md")),
    ("docs/field-guide/claims.md", "claims.html", include_str!("../../../docs/field-guide/claims.md")),
];

/// A document as a page.
#[derive(Debug, Serialize)]
pub struct Document {
    pub path: &'static str,
    title: &'static str,
    /// HTML.
    body: String,
}

/// A scenario on its page.
#[derive(Debug, Serialize)]
pub struct Scenario {
    name: String,
    title: String,
    status: String,
    reason: Option<String>,
    upstream: Option<String>,
    measured: Vec<Measured>,
    /// The content of its file.
    text: String,
}

/// What one device does with a scenario.
#[derive(Debug, Serialize)]
struct Measured {
    device: &'static str,
    outcome: &'static str,
    verdict: &'static str,
}

/// The documents. Links lead to pages of the site where it has them, otherwise to the repository.
pub fn documents() -> impl Iterator<Item = Document> {
    DOCUMENTS.iter().map(|&(source, path, text)| {
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let mut body = String::new();
        html::push_html(
            &mut body,
            Parser::new_ext(text, Options::ENABLE_TABLES).flat_map(|event| adapted(source, event)),
        );
        Document { path, title, body }
    })
}

/// An event of the document at `source`, with links that work on the site and tables that scroll.
fn adapted<'a>(source: &str, event: Event<'a>) -> Vec<Event<'a>> {
    const SCROLL: &str = r#"<div class="scroll" tabindex="0" role="region" aria-label="Table">"#;
    match event {
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let dest_url = CowStr::from(target(source, &dest_url));
            vec![Event::Start(Tag::Link { link_type, dest_url, title, id })]
        }
        Event::Start(Tag::Table(_)) => vec![Event::Html(SCROLL.into()), event],
        Event::End(TagEnd::Table) => vec![event, Event::Html("</div>".into())],
        other => vec![other],
    }
}

/// The target on the site of a link in the document at `source`.
fn target(source: &str, link: &str) -> String {
    if link.starts_with("https://") {
        return link.to_string();
    }
    let mut path: Vec<&str> = source.split('/').collect();
    path.pop();
    for part in link.split('/') {
        match part {
            ".." => drop(path.pop()),
            part => path.push(part),
        }
    }
    let path = path.join("/");
    if let Some((_, page, _)) = DOCUMENTS.iter().find(|(document, _, _)| *document == path) {
        return (*page).to_string();
    }
    match path.strip_prefix("corpora/scenarios/").and_then(|file| file.strip_suffix(".toml")) {
        Some(name) => format!("scenarios.html#{name}"),
        None => format!("{}/blob/HEAD/{path}", env!("CARGO_PKG_REPOSITORY")),
    }
}

/// Every scenario, by name.
pub fn scenarios() -> Vec<Scenario> {
    let mut scenarios: Vec<Scenario> = SCENARIOS
        .files()
        .filter_map(|file| {
            let name = file.path().file_stem()?.to_str()?.to_string();
            let text = file.contents_utf8()?.to_string();
            let Regression { title, status, reason, upstream, .. } = Regression::parse(&text).ok()?;
            let measured = MEASURED.iter().filter_map(|(device, snapshot)| measured(device, snapshot, &name)).collect();
            Some(Scenario { name, title, status: status.to_string(), reason, upstream, measured, text })
        })
        .collect();
    scenarios.sort_by(|a, b| a.name.cmp(&b.name));
    scenarios
}

/// The entry of `name` in a snapshot: its name, title, outcome and verdict, a line each.
fn measured(device: &'static str, snapshot: &'static str, name: &str) -> Option<Measured> {
    let mut lines = snapshot.lines().skip_while(|line| *line != name).skip(2).map(str::trim);
    Some(Measured { device, outcome: lines.next()?, verdict: lines.next()? })
}
