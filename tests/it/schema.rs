//! Printed JSON is valid under its schema, and a changed schema fails a snapshot.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn snuffer(args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_snuffer"));
    let output = command.args(args).env("SNUFFER_DEVICES", "cpu").current_dir(env!("CARGO_MANIFEST_DIR")).output();
    let output = output.expect("snuffer starts");
    assert_ne!(output.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Checks a value against a schema within `root`. Supports the keywords that our schemas use and panics at others. A complete
/// library is 25 crates, and would change the features of candle's dependencies in tests.
fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{value} is not {what}"));
    let Some(words) = schema.as_object() else { return if schema == true { Ok(()) } else { wrong("allowed") } };
    for (word, rule) in words {
        let all = || rule.as_array().expect("a list");
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" => {}
            "$ref" => check(root, root.pointer(&rule.as_str().expect("a path")[1..]).expect("there"), value)?,
            "type" => {
                let types = rule.as_array().map_or_else(|| vec![rule], |types| types.iter().collect());
                if !types.iter().any(|one| is_a(value, one.as_str().expect("a type"))) {
                    return wrong(&rule.to_string());
                }
            }
            "const" if value != rule => return wrong(&rule.to_string()),
            "enum" if !all().contains(value) => return wrong(&rule.to_string()),
            "const" | "enum" => {}
            "minimum" if value.as_f64() < rule.as_f64() => return wrong(&format!("{rule} or more")),
            "minItems" if value.as_array().map(Vec::len) < rule.as_u64().map(|least| least as usize) => {
                return wrong(&format!("of {rule} items"));
            }
            "maxItems" if value.as_array().map(Vec::len) > rule.as_u64().map(|most| most as usize) => {
                return wrong(&format!("of {rule} items"));
            }
            "minimum" | "minItems" | "maxItems" => {}
            "required" => {
                let missing = all().iter().find(|name| value.get(name.as_str().expect("a name")).is_none());
                missing.map_or(Ok(()), |name| wrong(&format!("with {name}")))?;
            }
            "properties" => {
                let known = rule.as_object().expect("properties").iter();
                known
                    .filter_map(|(name, of)| Some((of, value.get(name)?)))
                    .try_for_each(|(of, it)| check(root, of, it))?;
            }
            "additionalProperties" => {
                let named = |name: &str| words.get("properties").is_some_and(|known| known.get(name).is_some());
                let rest = value.as_object().into_iter().flatten().filter(|(name, _)| !named(name));
                rest.map(|(_, it)| it).try_for_each(|it| check(root, rule, it))?;
            }
            "propertyNames" => {
                let names = value.as_object().into_iter().flatten().map(|(name, _)| Value::from(name.as_str()));
                names.into_iter().try_for_each(|name| check(root, rule, &name))?;
            }
            "prefixItems" => {
                let mut pairs = all().iter().zip(value.as_array().into_iter().flatten());
                pairs.try_for_each(|(of, it)| check(root, of, it))?;
            }
            "items" => value.as_array().into_iter().flatten().try_for_each(|it| check(root, rule, it))?,
            "oneOf" | "anyOf" => {
                let fitting = all().iter().filter(|one| check(root, one, value).is_ok()).count();
                if fitting == 0 || (word == "oneOf" && fitting > 1) {
                    return wrong(&format!("one of {} alternatives: {fitting} fit", all().len()));
                }
            }
            other => panic!("the check of schemas does not know `{other}`"),
        }
    }
    Ok(())
}

fn is_a(value: &Value, name: &str) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the check of schemas does not know the type `{other}`"),
    }
}

/// The names of all schemas.
fn names() -> Vec<String> {
    snuffer(&["schema"]).lines().filter_map(|line| line.split(' ').next().map(ToString::to_string)).collect()
}

fn schema(name: &str) -> Value {
    serde_json::from_str(&snuffer(&["schema", name])).expect("JSON")
}

/// Checks every line against a schema, and returns the lines.
pub fn valid(name: &str, lines: &str) -> Vec<Value> {
    let schema = schema(name);
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    for line in &lines {
        let checked = check(&schema, &schema, line);
        assert_eq!(checked, Ok(()), "{name}: {line}");
    }
    assert!(!lines.is_empty(), "{name}: nothing was printed");
    lines
}

#[test]
fn the_schemas_match_their_snapshot() {
    let all = names().iter().map(|name| format!("{name}\n{:#}\n", schema(name))).collect::<Vec<_>>().join("\n");
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("schemas", all);
    });
}

#[test]
fn every_schema_has_an_example_that_is_valid() {
    let text = include_str!("../../docs/json.md");
    for name in names() {
        let section = text.split("\n## ").find(|section| section.starts_with(&format!("`{name}`")));
        let section = section.unwrap_or_else(|| panic!("docs/json.md does not mention {name}"));
        let examples: Vec<&str> =
            section.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        assert!(!examples.is_empty(), "{name} has no example");
        for lines in examples {
            valid(&name, lines);
        }
    }
}

#[test]
fn a_schema_refuses_other_json() {
    for (name, line) in [
        ("hunt", r#"{ "event": "known" }"#),
        ("hunt", r#"{ "event": "unheard", "signature": "s" }"#),
        ("failure", r#"{ "index": -1, "op": "o", "verdict": "fail", "why": "w" }"#),
        (
            "matrix",
            r#"{ "versions": "v", "cases": 32, "rows": [{ "op": "o", "device": "cpu", "cells": { "f32": 1 } }] }"#,
        ),
        ("history", r#"{ "table": { "columns": ["a"] } }"#),
        ("bisect", r#"{ "today": "Ok", "fails": "no" }"#),
        ("doctor", r#"{ "versions": "v", "devices": [] }"#),
    ] {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let schema = schema(name);
        assert!(check(&schema, &schema, &line).is_err(), "{name} takes {line}");
    }
}

#[test]
fn hunts_and_histories_print_valid_json() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().to_str().expect("a path");
    let args = ["hunt", "--ops", "op.softmax_last_dim", "--cases", "300", "--seed", "1", "--jobs", "1", "--json"];
    // The second hunt knows the findings of the first one.
    let lines = [(); 2].map(|()| snuffer(&[&args[..], &["--store", store]].concat())).concat();
    let lines = valid("hunt", &lines);
    for event in ["started", "canary", "found", "known", "finished"] {
        assert!(lines.iter().any(|line| line["event"] == event), "no `{event}`");
    }
    let ends: Vec<&Value> = lines.iter().filter(|line| line["event"] == "finished").collect();
    let counts = [&ends[0]["found"]["ranks"]["wrong"], &ends[0]["found"]["known"], &ends[1]["found"]["findings"]];
    assert_eq!(counts.map(Value::as_u64), [Some(1), Some(3), Some(0)], "{ends:?}");
    let shown = valid("finding", &snuffer(&["findings", "show", "gradient--missing", "--json", "--store", store]));
    assert_eq!((shown.len(), &shown[0]["rank"]), (1, &"wrong".into()));
    let campaigns = folder.path().join("campaigns");
    let is_list = |path: &Path| path.extension().is_some_and(|extension| extension == "jsonl");
    let mut paths = fs::read_dir(campaigns).expect("a folder").map(|entry| entry.expect("readable").path());
    let failures = fs::read_to_string(paths.find(|path| is_list(path)).expect("a list")).expect("readable");
    assert!(valid("failure", &failures).iter().any(|line| line["verdict"] == "fail"));
    for more in [&[][..], &["--campaigns"], &["--sql", "SELECT * FROM signatures"]] {
        let answer = snuffer(&[&["history", "--store", store, "--json"], more].concat());
        let rows = valid("history", &answer)[0].clone();
        assert!(rows.to_string().contains("softmax") || !rows["campaigns"].is_null(), "{rows}");
    }
    // Current records fill all columns.
    let known = "SELECT (SELECT count(*) FROM outcomes WHERE op = 'op.softmax_last_dim' AND dtype = 'f32') > 0, \
                 (SELECT count(*) FROM outcomes WHERE op = ''), (SELECT count(*) FROM signatures WHERE device <> 'cpu')";
    let known = snuffer(&["history", "--store", store, "--json", "--sql", known]);
    assert_eq!(valid("history", &known)[0]["table"]["rows"], serde_json::json!([[1, 0, 0]]));
}

#[test]
fn a_replay_the_matrix_and_the_doctor_print_valid_json() {
    let replayed = valid("replay", &snuffer(&["replay", "op.softmax_last_dim/gradient-missing", "--json"]));
    assert_eq!((&replayed[0]["verdict"], &replayed[0]["signature"]["kind"]), (&"fail".into(), &"missing".into()));
    assert!(replayed[0]["why"].as_str().is_some_and(|why| why.contains("no gradient of x")), "{}", replayed[0]);
    let matrix = valid("matrix", &snuffer(&["ops", "tensor.exp", "--matrix", "--json"]));
    assert!(matrix[0]["rows"][0]["cells"]["f32"]["works"].as_u64() > Some(0), "{}", matrix[0]);
    let machine = valid("doctor", &snuffer(&["doctor", "--json"]));
    assert_eq!(
        (&machine[0]["devices"][0]["device"], &machine[0]["devices"][0]["ready"]),
        (&"cpu".into(), &true.into())
    );
}
