//! The index of the search over the field guide, its claims and the scenarios.

use serde::Serialize;

use super::guide::{Document, Scenario};

/// A place that the search finds.
#[derive(Debug, Serialize)]
pub struct Place<'a> {
    /// The page's name.
    page: &'a str,
    title: &'a str,
    link: String,
    /// The text that is searched.
    text: &'a str,
}

/// The index as a script, since a page that is a file may not read other files.
pub fn index(documents: &[Document], scenarios: &[Scenario]) -> String {
    let sections = documents.iter().flat_map(|document| {
        document.sections.iter().map(|section| Place {
            page: document.name,
            title: &section.title,
            link: format!("{}#{}", document.path, section.id),
            text: &section.text,
        })
    });
    let scenarios = scenarios.iter().map(|scenario| Place {
        page: "Scenarios",
        title: &scenario.title,
        link: format!("scenarios.html#{}", scenario.name),
        text: &scenario.text,
    });
    let places: Vec<Place> = sections.chain(scenarios).collect();
    format!("const PLACES = {};\n", serde_json::to_string(&places).expect("plain data"))
}
