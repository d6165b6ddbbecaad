//! The labels of our programs: rows stand for many runs each, and every run with a bug has one without.

use std::collections::BTreeMap;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

/// The name of the variant without a bug, and of the class without an error.
const NONE: &str = "none";

/// The rows as they are written down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows {
    /// The inputs of a template whose product is the size of a run.
    size: BTreeMap<String, Vec<String>>,
    row: Vec<Row>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    template: String,
    bugs: Vec<String>,
    class: String,
    #[serde(default)]
    also: Vec<String>,
    inputs: BTreeMap<String, Vec<toml::Value>>,
}

/// Labels as `snuffer detectors` reads them.
#[derive(Debug, Serialize)]
pub struct Labels {
    run: Vec<Label>,
}

/// One run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Label {
    pub command: String,
    pub arguments: Vec<String>,
    pub class: String,
    also: Vec<String>,
    pub template: String,
    pub bug: String,
    size: i64,
}

/// The runs of all rows. A run that several rows have must have one label.
pub fn labels(text: &str) -> anyhow::Result<Labels> {
    let Rows { size, row: rows } = toml::from_str(text)?;
    let mut runs: BTreeMap<(String, Vec<String>), Label> = BTreeMap::new();
    for row in &rows {
        let of_size = size.get(&row.template).with_context(|| format!("no size of {}", row.template))?;
        for inputs in combinations(&row.inputs) {
            let size = of_size.iter().map(|key| inputs.get(key.as_str()).and_then(|value| value.as_integer()));
            let size: i64 = size.product::<Option<i64>>().with_context(|| format!("{}: no such size", row.template))?;
            for bug in row.bugs.iter().map(String::as_str).chain([NONE]) {
                let label = label(row, bug, &inputs, size);
                let key = (label.command.clone(), label.arguments.clone());
                let known = runs.entry(key).or_insert_with(|| label.clone());
                ensure!(*known == label, "{} {:?} has two labels", label.command, label.arguments);
            }
        }
    }
    Ok(Labels { run: runs.into_values().collect() })
}

fn label(row: &Row, bug: &str, inputs: &BTreeMap<&str, &toml::Value>, size: i64) -> Label {
    let (class, also) = if bug == NONE { (NONE, Vec::new()) } else { (row.class.as_str(), row.also.clone()) };
    let text = |value: &toml::Value| value.as_str().map_or_else(|| value.to_string(), str::to_string);
    let arguments = inputs.iter().map(|(key, value)| format!("{key}={}", text(value)));
    Label {
        command: format!("./{}", row.template),
        arguments: [bug.to_string()].into_iter().chain(arguments).collect(),
        class: class.to_string(),
        also,
        template: row.template.clone(),
        bug: bug.to_string(),
        size,
    }
}

/// Every choice of one value for each input.
fn combinations(inputs: &BTreeMap<String, Vec<toml::Value>>) -> Vec<BTreeMap<&str, &toml::Value>> {
    inputs.iter().fold(vec![BTreeMap::new()], |chosen, (key, values)| {
        let with = |value| {
            chosen.iter().cloned().map(move |mut one: BTreeMap<_, _>| {
                one.insert(key.as_str(), value);
                one
            })
        };
        values.iter().flat_map(with).collect()
    })
}

/// The folder of our programs.
#[cfg(test)]
fn folder() -> std::path::PathBuf {
    std::path::Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace").join(super::SOURCES)
}

/// The runs of our programs.
#[cfg(test)]
pub fn ours() -> Vec<Label> {
    labels(&std::fs::read_to_string(folder().join("runs.toml")).expect("the rows")).expect("labels").run
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::fs;

    use super::{Label, NONE, folder, labels, ours};

    const ROW: &str = "[size]\nsum = [\"blocks\", \"threads\"]\n[[row]]\ntemplate = \"sum\"\nbugs = [\"a\", \"b\"]\n\
                       class = \"race\"\ninputs = { blocks = [1, 2], threads = [3] }\n";

    #[test]
    fn a_row_is_each_bug_with_each_input_and_a_twin_of_each() {
        let runs = labels(ROW).expect("labels").run;
        let shown = |run: &Label| format!("{} {}: {} {}", run.command, run.arguments.join(" "), run.class, run.size);
        let expected = [
            "./sum a blocks=1 threads=3: race 3",
            "./sum a blocks=2 threads=3: race 6",
            "./sum b blocks=1 threads=3: race 3",
            "./sum b blocks=2 threads=3: race 6",
            "./sum none blocks=1 threads=3: none 3",
            "./sum none blocks=2 threads=3: none 6",
        ];
        assert_eq!(runs.iter().map(shown).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_run_with_two_labels_is_refused() {
        let other = ROW.replace("[size]\nsum = [\"blocks\", \"threads\"]\n", "").replace("race", "scope");
        let refused = labels(&format!("{ROW}{other}")).expect_err("two labels").to_string();
        assert!(refused.contains("./sum") && refused.contains("two labels"), "{refused}");
    }

    #[test]
    fn our_runs_cover_every_bug_of_every_program() {
        let mut run: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        let ours = ours();
        assert!(ours.len() > 600, "only {} runs", ours.len());
        for label in ours {
            run.entry(label.template).or_default().insert(label.bug);
        }
        let mut programs = BTreeMap::new();
        for entry in fs::read_dir(folder()).expect("the programs") {
            let path = entry.expect("a file").path();
            if path.extension().is_some_and(|extension| extension == "cu") {
                let text = fs::read_to_string(&path).expect("readable");
                let (_, list) = text.split_once("choose<Program, ").expect("a list of bugs");
                let list = list.split_once('>').expect("its end").0;
                let bugs = list.split(',').map(|bug| bug.trim().trim_start_matches("Bug::").to_string());
                let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
                programs.insert(name, bugs.collect::<BTreeSet<_>>());
            }
        }
        assert_eq!(run, programs);
    }

    #[test]
    fn a_third_of_the_runs_without_an_error_are_of_variants_with_a_bug() {
        let without: Vec<Label> = ours().into_iter().filter(|label| label.class == NONE).collect();
        let decoys = without.iter().filter(|label| label.bug != NONE).count();
        assert!(decoys * 3 > without.len(), "{decoys} of {}", without.len());
    }
}
