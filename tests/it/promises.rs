//! Every reason for which a contract leaves a result open is in `src/ops/reasons.toml`, and no other.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;

#[derive(Deserialize)]
struct Reasons {
    reason: Vec<Reason>,
}

#[derive(Deserialize)]
struct Reason {
    name: String,
    because: String,
    ground: Option<String>,
    says: Option<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn table() -> Vec<Reason> {
    let reasons: Reasons = toml::from_str(&read("src/ops/reasons.toml")).expect("a table of reasons");
    reasons.reason
}

/// The Rust files below a folder.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let paths = fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").path());
    paths.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] }).collect()
}

/// The text constants of `ops::why` and the ids of `ops::rule`, by name.
fn constants() -> Vec<(String, String)> {
    let (why, rules) = (read("src/ops.rs"), read("src/ops/rule.rs"));
    let lines = why.lines().filter_map(|line| line.trim().strip_prefix("pub const "));
    let named = lines.filter_map(|line| line.split_once(": &str = \""));
    let reasons = named.map(|(name, rest)| (format!("why::{name}"), rest.trim_end_matches("\";").to_string()));
    let listed = rules.lines().filter_map(|line| line.trim().split_once(" = \""));
    let ids = listed.filter_map(|(name, rest)| Some((format!("rule::{name}.id"), rest.split_once('"')?.0.to_string())));
    reasons.chain(ids).collect()
}

/// What is between an open parenthesis, where `rest` begins, and its end.
fn arguments(rest: &str) -> &str {
    let (mut depth, mut in_text) = (1, false);
    let end = rest.find(|c| {
        in_text ^= c == '"';
        depth += i32::from(c == '(' && !in_text) - i32::from(c == ')' && !in_text);
        depth == 0
    });
    &rest[..end.unwrap_or(rest.len())]
}

/// The reasons in the code: the last argument of each `Unspecified(…)` and `may_refuse(…)`.
fn in_the_code() -> BTreeSet<String> {
    let constants = constants();
    let reason = |arguments: &str| {
        let arguments = arguments.trim_end().trim_end_matches(',');
        if let Some(text) = arguments.strip_suffix('"') {
            return text.rsplit_once('"').map(|(_, text)| text.to_string());
        }
        constants.iter().find(|(name, _)| arguments.ends_with(name.as_str())).map(|(_, text)| text.clone())
    };
    let mut found = BTreeSet::new();
    for path in ["src/ops", "src/oracle"].iter().flat_map(|folder| sources(&root().join(folder))) {
        let text = fs::read_to_string(&path).expect("readable");
        let calls = ["Unspecified(", "may_refuse(", "nonempty_contract(", "Partly("]
            .into_iter()
            .flat_map(|call| text.split(call).skip(1));
        found.extend(calls.filter_map(|rest| reason(arguments(rest))));
    }
    found
}

#[test]
fn each_reason_in_the_code_is_in_the_table_and_no_other() {
    let table: BTreeSet<String> = table().into_iter().map(|reason| reason.name).collect();
    let code = in_the_code();
    assert!(code.len() > 100, "{code:?}");
    let difference: Vec<&String> = table.symmetric_difference(&code).collect();
    assert!(difference.is_empty(), "only in src/ops or only in src/ops/reasons.toml: {difference:#?}");
}

#[test]
fn each_reason_says_why_and_on_what_it_stands() {
    let grounds = ["call", "elsewhere", "documentation", "format", "nothing", "rounding", "cost"];
    for Reason { name, because, ground, says } in table() {
        assert!(!because.is_empty() && says != Some(String::new()), "{name}");
        let stands = match ground {
            Some(ground) => says.is_none() && grounds.contains(&ground.as_str()),
            None => says.is_some(),
        };
        assert!(stands, "{name}: either `torch` with `says`, or one of {grounds:?} as `ground`");
    }
}
