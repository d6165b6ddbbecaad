//! The search over the field guide and the scenarios finds everything where it is.

use std::collections::BTreeMap;
use std::path::Path;

use snuffer::store::regression::read;

use crate::site::{pages, values};

#[test]
fn the_search_finds_every_scenario_and_every_section_where_it_is() {
    let pages = pages();
    let index = pages["search-index.js"].trim_start_matches("const PLACES = ").trim_end_matches(";\n");
    let places: Vec<BTreeMap<String, String>> = serde_json::from_str(index).expect("an index");
    for place in &places {
        let (page, anchor) = place["link"].split_once('#').expect("an anchor");
        assert!(values(&pages[page], "id").iter().any(|id| id == anchor), "{} leads nowhere", place["link"]);
        assert!(!place["title"].is_empty() && !place["text"].trim().is_empty(), "{place:?}");
    }
    for page in ["guide.html", "claims.html"] {
        let headings = pages[page].matches("<h2").count() + pages[page].matches("<h1").count();
        let found = places.iter().filter(|place| place["link"].starts_with(page)).count();
        assert!(found >= headings && headings > 3, "{page}: {found} of {headings}");
    }
    for (path, page) in pages.iter().filter(|(path, _)| ["guide.html", "scenarios.html"].contains(&path.as_str())) {
        let scripts = values(page, "src");
        assert!(page.contains("id=\"search\"") && scripts == ["search-index.js", "search.js"], "{path}: {scripts:?}");
    }
    let scenarios = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/scenarios")).expect("scenarios");
    for (name, _) in scenarios {
        assert!(places.iter().any(|place| place["link"] == format!("scenarios.html#{name}")), "{name}");
    }
}
