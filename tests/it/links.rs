//! Every relative link in the documentation leads to a file, and every anchor to one of its headings.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

#[test]
fn every_relative_link_of_the_documentation_resolves() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let documents = documents(root);
    assert!(documents.len() > 10, "only {} documents", documents.len());
    let mut slugs = HashMap::new();
    let mut broken = Vec::new();
    let mut checked = 0;
    for document in &documents {
        let text = fs::read_to_string(root.join(document)).expect("readable");
        for (line, link) in links(&text) {
            checked += 1;
            if let Err(why) = resolve(root, document, &link, &mut slugs) {
                broken.push(format!("{}:{line}: {link} ({why})", document.display()));
            }
        }
    }
    assert!(checked > 100, "only {checked} links");
    assert!(broken.is_empty(), "broken links:\n{}", broken.join("\n"));
}

#[test]
fn the_book_has_every_page_once_and_no_other() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (docs, summary) = (Path::new("docs"), Path::new("SUMMARY.md"));
    let contents = fs::read_to_string(root.join(docs).join(summary)).expect("readable");
    let mut listed: Vec<PathBuf> = links(&contents).into_iter().map(|(_, link)| PathBuf::from(link)).collect();
    let pages = documents(root).into_iter().filter_map(|page| page.strip_prefix(docs).map(Path::to_path_buf).ok());
    let mut pages: Vec<PathBuf> = pages.filter(|page| page != summary).collect();
    listed.sort();
    pages.sort();
    assert_eq!(listed, pages);
}

#[test]
fn headings_have_the_slugs_of_github() {
    let text = "# `snuffer hunt`: a *first*, second-best (2)\n\ntext\n\n## Same\n## Same\n\n```sh\n# no heading\n```\n";
    let expected = ["snuffer-hunt-a-first-second-best-2", "same", "same-1"].map(String::from);
    assert_eq!(headings(text), HashSet::from(expected));
}

#[test]
fn links_are_found_outside_code_and_have_their_lines() {
    let text = "a [b](c.md#d)\n\n`[no](link.md)`\n\n| [e] | ![f](g.png) |\n|---|---|\n\n[e]: h.md\n<https://example.com> [i](mailto:a@b.c)\n";
    let found = [(1, "c.md#d"), (5, "h.md"), (5, "g.png")].map(|(line, link)| (line, link.to_string()));
    assert_eq!(links(text), found);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let resolved = |link| resolve(root, Path::new("docs/guard.md"), link, &mut HashMap::new());
    assert!(resolved("../README.md").is_ok() && resolved("#the-guard").is_ok());
    assert!(resolved("guard.md#no-such-heading").is_err() && resolved("no-such-file.md").is_err());
}

/// The Markdown files that git tracks, without the snapshots.
fn documents(root: &Path) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--", "*.md"]).current_dir(root);
    let output = git.output().expect("git starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let files = String::from_utf8(output.stdout).expect("text");
    let files = files.lines().map(PathBuf::from);
    files.filter(|file| !file.starts_with("snapshots") && root.join(file).exists()).collect()
}

fn parser(text: &str) -> Parser<'_> {
    Parser::new_ext(text, Options::ENABLE_TABLES)
}

/// The relative targets of links and images, each with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let events = parser(text).into_offset_iter();
    let targets = events.filter_map(|(event, range)| match event {
        Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. }) => {
            let line = text[..range.start].lines().count().max(1);
            Some((line + usize::from(text[..range.start].ends_with('\n')), dest_url.to_string()))
        }
        _ => None,
    });
    targets.filter(|(_, target)| !target.contains("://") && !target.starts_with("mailto:")).collect()
}

/// Checks that the file and the heading that `link` in `document` names exist.
fn resolve(
    root: &Path,
    document: &Path,
    link: &str,
    slugs: &mut HashMap<PathBuf, HashSet<String>>,
) -> Result<(), String> {
    let (file, anchor) = link.split_once('#').map_or((link, None), |(file, anchor)| (file, Some(anchor)));
    let path = if file.is_empty() {
        root.join(document)
    } else {
        root.join(document.parent().unwrap_or(Path::new(""))).join(file)
    };
    let path = path.canonicalize().map_err(|_| "no such file".to_string())?;
    let Some(anchor) = anchor else { return Ok(()) };
    let found = slugs.entry(path).or_insert_with_key(|path| {
        let text = fs::read_to_string(path).unwrap_or_default();
        headings(&text)
    });
    if found.contains(anchor) { Ok(()) } else { Err("no such heading".to_string()) }
}

/// The slugs that GitHub gives to the headings of a text.
fn headings(text: &str) -> HashSet<String> {
    let mut slugs = HashSet::new();
    let mut title = None;
    for event in parser(text) {
        match event {
            Event::Start(Tag::Heading { .. }) => title = Some(String::new()),
            Event::Text(part) | Event::Code(part) => {
                if let Some(title) = &mut title {
                    title.push_str(&part);
                }
            }
            Event::End(TagEnd::Heading(_)) => {
                let slug = slug(&title.take().unwrap_or_default());
                let numbered = (1..).map(|number| format!("{slug}-{number}"));
                let free = std::iter::once(slug.clone()).chain(numbered).find(|slug| !slugs.contains(slug));
                slugs.extend(free);
            }
            _ => {}
        }
    }
    slugs
}

/// A title in lower case, with `-` for spaces and without punctuation.
fn slug(title: &str) -> String {
    let kept = title.trim().to_lowercase();
    kept.chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

#[test]
fn the_readme_names_the_release_and_the_numbers_of_ops_and_bugs() {
    let readme = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md")).expect("readable");
    // The canary is an op that no campaign draws.
    let ops = snuffer::ops::ALL.len() - 1;
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let readme = words(&readme);
    // Another test keeps these up to date.
    let causes = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/causes.md");
    let causes = words(&std::fs::read_to_string(causes).expect("readable"));
    let number_before =
        |text: &str| causes.split_once(text).and_then(|(before, _)| before.rsplit(' ').next()).unwrap_or_default();
    let (bugs, proven) = (number_before(" bugs in "), number_before(" fixes are proven"));
    for figure in [
        format!(" {}, on the CPU and on CUDA", snuffer::CANDLE),
        format!(" for {ops} of candle's"),
        format!(
            " {bugs} [bugs](docs/causes.md) of candle {} are known, and {proven} have a proven fix",
            snuffer::CANDLE
        ),
    ] {
        assert!(readme.contains(&figure), "README.md does not say `{figure}`");
    }
}
