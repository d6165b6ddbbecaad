//! The findings as a static site: plain data in, pages out. Nothing here reads or writes a file.

mod causes;
mod coverage;
mod entry;
mod finding;
mod guide;
mod index;
mod mark;
mod matrix;
mod search;
mod text;
mod trends;

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::Serde;
use minijinja::{Environment, Error, UndefinedBehavior, context};
use serde::Serialize;

use crate::causes::KnownFailures;
use crate::coverage::Coverage;
use crate::store::{Finding, Record};
use entry::Entry;

/// What a site shows.
#[derive(Debug, Default)]
pub struct Contents {
    /// The store's path as typed; commands on the pages contain it, or of an absolute path the last part.
    pub store: String,
    /// The findings by stored name.
    pub findings: Vec<(String, Finding)>,
    /// The campaigns in order of their start.
    pub campaigns: Vec<Campaign>,
    /// The failures that are known.
    pub known: KnownFailures,
    /// The fixes of causes as unified diffs, by the cause's name, as far as candle's sources are here.
    pub fixes: BTreeMap<String, String>,
}

/// A campaign, and what its simulated devices executed.
#[derive(Debug)]
pub struct Campaign {
    /// Its name, which begins with the second of its start.
    pub name: String,
    /// What it ran, and its results.
    pub record: Record,
    /// Empty if no simulated device took part.
    pub coverage: Coverage,
}

/// A file of the site: its path in the site's folder, and its content.
pub type Page = (String, String);

const TEMPLATES: [(&str, &str); 12] = [
    ("bar.html", include_str!("site/bar.html")),
    ("base.html", include_str!("site/base.html")),
    ("causes.html", include_str!("site/causes.html")),
    ("coverage.html", include_str!("site/coverage.html")),
    ("document.html", include_str!("site/document.html")),
    ("finding.html", include_str!("site/finding.html")),
    ("index.html", include_str!("site/index.html")),
    ("lines.html", include_str!("site/lines.html")),
    ("scenarios.html", include_str!("site/scenarios.html")),
    ("search.html", include_str!("site/search.html")),
    ("source.html", include_str!("site/source.html")),
    ("trends.html", include_str!("site/trends.html")),
];

/// Every file of the site, `index.html` first.
pub fn site<'a>(contents: &'a Contents) -> Result<Vec<Page>, Error> {
    let templates = templates()?;
    let entry = |(name, finding): &'a (String, Finding)| Entry::new(name, finding, &contents.known);
    let entries: Vec<Entry> = contents.findings.iter().map(entry).collect();
    let sources = coverage::sources(&contents.campaigns);
    let index = index::page(contents, &entries);
    let mut pages = vec![
        ("index.html".to_string(), render(&templates, "index.html", "", &index)?),
        ("causes.html".to_string(), render(&templates, "causes.html", "", &causes::page(contents, &entries))?),
        (
            "coverage.html".to_string(),
            render(&templates, "coverage.html", "", &coverage::page(&contents.campaigns, &sources))?,
        ),
        ("trends.html".to_string(), render(&templates, "trends.html", "", &trends::page(&contents.campaigns))?),
        ("site.css".to_string(), include_str!("site/site.css").to_string()),
        ("site.js".to_string(), include_str!("site/site.js").to_string()),
        ("search.js".to_string(), include_str!("site/search.js").to_string()),
    ];
    let (documents, scenarios) = (guide::documents(), guide::scenarios());
    for document in &documents {
        pages.push((document.path.to_string(), render(&templates, "document.html", "", document)?));
    }
    pages.push(("scenarios.html".to_string(), render(&templates, "scenarios.html", "", &scenarios)?));
    pages.push(("search-index.js".to_string(), search::index(&documents, &scenarios)));
    for source in &sources {
        pages.push((source.path(), render(&templates, "source.html", "../", source)?));
    }
    for entry in &entries {
        pages.push((entry.path(), render(&templates, "finding.html", "../", &finding::page(entry, contents))?));
    }
    Ok(pages)
}

/// The templates. Their names end in `.html`, which turns on escaping: a case may contain any text.
fn templates() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.add_filter("breakable", text::breakable);
    environment.add_filter("prose", text::prose);
    for (name, source) in TEMPLATES {
        environment.add_template(name, source)?;
    }
    Ok(environment)
}

/// Renders a template; `root` is the relative path from the page to the site's folder.
fn render(templates: &Environment, template: &str, root: &str, page: &impl Serialize) -> Result<String, Error> {
    let version = env!("CARGO_PKG_VERSION");
    templates.get_template(template)?.render(context! { root, version, page => Serde(page) })
}
