//! The field guide, its claims and its scenarios as pages, for readers who have only the site.

use include_dir::{Dir, include_dir};
use pulldown_cmark::{CowStr, Event, Options, Parser, Tag, TagEnd, html};
use serde::Serialize;

use crate::device::Device;
use crate::store::Platform;
use crate::store::regression::{Expected, Regression};

static SCENARIOS: Dir = include_dir!("$CARGO_MANIFEST_DIR/corpora/scenarios");

/// The devices on which the page shows a verdict. The test suite checks each verdict there.
const DEVICES: [Device; 2] = [Device::Cpu, Device::Sim(0)];

/// The documents that become pages: name, path in the repository, page, and text.
const DOCUMENTS: [(&str, &str, &str, &str); 2] = [
    ("Guide", "docs/field-guide.md", "guide.html", include_str!("../../../docs/field-guide.md")),
    ("Claims", "docs/field-guide/claims.md", "claims.html", include_str!("../../../docs/field-guide/claims.md")),
];

/// A document as a page.
#[derive(Debug, Serialize)]
pub struct Document {
    pub name: &'static str,
    pub path: &'static str,
    title: &'static str,
    /// HTML.
    body: String,
    #[serde(skip)]
    pub sections: Vec<Section>,
}

/// A heading of a document, and the text below it.
#[derive(Debug)]
pub struct Section {
    pub id: String,
    pub title: String,
    pub text: String,
}

/// A scenario on its page.
#[derive(Debug, Serialize)]
pub struct Scenario {
    pub name: String,
    pub title: String,
    status: String,
    reason: Option<String>,
    upstream: Option<String>,
    verdicts: Vec<ScenarioVerdict>,
    /// The file.
    pub text: String,
}

/// The expected verdict on a scenario on one device.
#[derive(Debug, Serialize)]
struct ScenarioVerdict {
    device: String,
    verdict: String,
}

/// The documents. Links lead to pages of the site where it has them, otherwise to the repository.
pub fn documents() -> Vec<Document> {
    let document = |&(name, source, path, text): &(&'static str, &str, &'static str, &'static str)| {
        let title = text.lines().next().unwrap_or_default().trim_start_matches("# ");
        let mut events: Vec<Event> = Parser::new_ext(text, Options::ENABLE_TABLES).collect();
        let sections = sections(&mut events);
        let mut body = String::new();
        html::push_html(&mut body, events.into_iter().flat_map(|event| adapted(source, event)));
        Document { name, path, title, body, sections }
    };
    DOCUMENTS.iter().map(document).collect()
}

/// The sections of a document. Gives each heading an anchor made of its words.
fn sections(events: &mut [Event]) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut heading = None;
    for place in 0..events.len() {
        match &events[place] {
            Event::Start(Tag::Heading { .. }) => heading = Some((place, String::new())),
            Event::End(TagEnd::Heading(_)) => {
                let Some((start, title)) = heading.take() else { continue };
                let words = title.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
                let id = words.collect::<Vec<_>>().join("-").to_lowercase();
                if let Event::Start(Tag::Heading { id: anchor, .. }) = &mut events[start] {
                    *anchor = Some(id.clone().into());
                }
                sections.push(Section { id, title, text: String::new() });
            }
            Event::Text(text) | Event::Code(text) => match (&mut heading, sections.last_mut()) {
                (Some((_, title)), _) => title.push_str(text),
                (None, Some(section)) => section.text.push_str(text),
                (None, None) => {}
            },
            Event::SoftBreak | Event::HardBreak | Event::End(_) => {
                sections.last_mut().into_iter().for_each(|section| section.text.push(' '));
            }
            _ => {}
        }
    }
    sections
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
    if let Some((_, _, page, _)) = DOCUMENTS.iter().find(|(_, document, _, _)| *document == path) {
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
            let scenario = Regression::parse(&text).ok()?;
            let verdicts = DEVICES.iter().map(|&device| verdict(&scenario, device)).collect();
            let Regression { title, status, reason, upstream, .. } = scenario;
            Some(Scenario { name, title, status: status.to_string(), reason, upstream, verdicts, text })
        })
        .collect();
    scenarios.sort_by(|a, b| a.name.cmp(&b.name));
    scenarios
}

/// The expected verdict on `scenario` on `device`, by its `status`, `fails` and `signature`.
fn verdict(scenario: &Regression, device: Device) -> ScenarioVerdict {
    let verdict = match (scenario.expected(&Platform::today(device, None)), &scenario.signature) {
        (Expected::Fails, Some(signature)) => format!("fails: {} ({})", signature.kind, signature.oracle),
        (Expected::Fails, None) => "fails".to_string(),
        (Expected::Passes, _) => "no violation".to_string(),
        (Expected::Either, _) => "fails now and then".to_string(),
    };
    ScenarioVerdict { device: device.to_string(), verdict }
}
