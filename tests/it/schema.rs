//! Printed JSON is valid under its schema, and a field or type that changes fails a snapshot.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::json::{check, schema, snuffer, valid};

/// The names of all schemas.
fn names() -> Vec<String> {
    snuffer(&["schema"]).lines().filter_map(|line| line.split(' ').next().map(ToString::to_string)).collect()
}

#[test]
fn fields_and_types_match_their_snapshot() {
    let mut seen = BTreeSet::new();
    let mut text = String::new();
    for name in names() {
        let schema = schema(&name);
        text += &format!("{name} = {}\n", outline(&schema));
        let types = schema["$defs"].as_object().into_iter().flatten();
        let lines = types.map(|(name, of)| format!("  {name} = {}\n", outline(of)));
        // Several outputs share a type.
        lines.filter(|line| seen.insert(line.clone())).for_each(|line| text += &line);
    }
    insta::with_settings!({ snapshot_path => "../../snapshots", prepend_module_to_snapshot => false, omit_expression => true }, {
        insta::assert_snapshot!("schemas", text);
    });
}

/// A schema in a line, without descriptions: `{ tried: [Release], since?: string | null }`, where `?` is a field that may be missing.
fn outline(schema: &Value) -> String {
    let Some(words) = schema.as_object() else { return "any".to_string() };
    let all = |list: &Value| list.as_array().into_iter().flatten().map(outline).collect::<Vec<_>>();
    let types: Vec<&str> = match &schema["type"] {
        Value::Array(all) => all.iter().filter_map(Value::as_str).collect(),
        one => one.as_str().into_iter().collect(),
    };
    let mut parts = Vec::new();
    for (word, rule) in words {
        match word.as_str() {
            "$ref" => parts.extend(rule.as_str().and_then(|path| path.rsplit('/').next()).map(ToString::to_string)),
            "const" => parts.push(rule.to_string()),
            "enum" => parts.push(words_of(rule)),
            "oneOf" | "anyOf" => parts.push(all(rule).join(" | ")),
            "prefixItems" => parts.push(format!("[{}]", all(rule).join(", "))),
            "items" => parts.push(format!("[{}]", outline(rule))),
            "additionalProperties" if rule.is_object() => parts.push(format!("{{ [string]: {} }}", outline(rule))),
            "properties" => parts.push(format!("{{ {} }}", fields(rule, &schema["required"]).join(", "))),
            "type" if schema["const"].is_null() && schema["enum"].is_null() => {
                parts.extend(plain(&types, &schema["format"]));
            }
            "$schema" | "$defs" | "title" | "description" | "default" | "additionalProperties" => {}
            "type" | "format" | "minimum" | "required" | "minItems" | "maxItems" | "uniqueItems" => {}
            other => panic!("the outline of schemas does not know `{other}`"),
        }
    }
    let whole = parts.join(" & ");
    let null = types.contains(&"null").then(|| "null".to_string());
    Some(whole).filter(|text| !text.is_empty()).into_iter().chain(null).collect::<Vec<_>>().join(" | ")
}

/// The words of an enum, as the outline of alternatives.
fn words_of(all: &Value) -> String {
    all.as_array().into_iter().flatten().map(Value::to_string).collect::<Vec<_>>().join(" | ")
}

/// The fields of an object.
fn fields(properties: &Value, required: &Value) -> Vec<String> {
    let is_required = |name: &str| required.as_array().into_iter().flatten().any(|one| one == name);
    let all = properties.as_object().into_iter().flatten();
    all.map(|(name, of)| format!("{name}{}: {}", if is_required(name) { "" } else { "?" }, outline(of))).collect()
}

/// The names of types without parts, such as `uint64`; other words describe objects and lists.
fn plain(types: &[&str], format: &Value) -> Option<String> {
    let name = |of: &str| match of {
        "object" | "array" | "null" => None,
        "integer" | "number" => Some(format.as_str().unwrap_or(of).to_string()),
        other => Some(other.to_string()),
    };
    let names: Vec<String> = types.iter().filter_map(|of| name(of)).collect();
    (!names.is_empty()).then(|| names.join(" | "))
}

/// The lines of the examples of a schema in the documentation.
fn examples(name: &str) -> String {
    let text = include_str!("../../docs/json.md");
    let section = text.split("\n## ").find(|section| section.starts_with(&format!("`{name}`")));
    let section = section.unwrap_or_else(|| panic!("docs/json.md does not mention {name}"));
    section.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect()
}

#[test]
fn every_schema_has_an_example_that_is_valid() {
    for name in names() {
        valid(&name, &examples(&name));
    }
}

/// The pointers to the words in `value` of fields that have only a few.
fn words_in(value: &Value, at: &str) -> Vec<String> {
    const FIELDS: [&str; 11] =
        ["event", "verdict", "status", "rank", "fix", "oracle", "blame", "behaviour", "class", "standing", "fate"];
    let below = |(name, inner): (String, &Value)| {
        let at = format!("{at}/{name}");
        if inner.is_string() && FIELDS.contains(&name.as_str()) { vec![at] } else { words_in(inner, &at) }
    };
    match value {
        Value::Object(fields) => fields.iter().flat_map(|(name, inner)| below((name.clone(), inner))).collect(),
        Value::Array(all) => all.iter().enumerate().flat_map(|(at, inner)| below((at.to_string(), inner))).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn a_schema_refuses_a_word_that_its_field_never_has() {
    let mut seen = BTreeSet::new();
    for name in names() {
        let schema = schema(&name);
        for line in examples(&name).lines() {
            let line: Value = serde_json::from_str(line).expect("JSON");
            for at in words_in(&line, "") {
                let mut wrong = line.clone();
                *wrong.pointer_mut(&at).expect("there") = "no such word".into();
                assert!(check(&schema, &schema, &wrong).is_err(), "{name} takes any {at}");
                seen.insert(at);
            }
        }
    }
    assert!(seen.contains("/verdict") && seen.contains("/status") && seen.contains("/signature/oracle"), "{seen:?}");
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
        ("failure", r#"{ "index": 1, "op": "o", "verdict": "failed", "why": "w" }"#),
        ("regression", r#"{ "name": "n", "title": "t", "status": "by-design", "rank": null, "upstream": null }"#),
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
    assert_eq!(counts.map(Value::as_u64), [Some(2), Some(6), Some(0)], "{ends:?}");
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
