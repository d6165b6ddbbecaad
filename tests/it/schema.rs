//! Printed JSON is valid under its schema, and a changed schema fails a snapshot.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::json::{check, schema, snuffer, valid};

/// The names of all schemas.
fn names() -> Vec<String> {
    snuffer(&["schema"]).lines().filter_map(|line| line.split(' ').next().map(ToString::to_string)).collect()
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
    assert_eq!(counts.map(Value::as_u64), [Some(2), Some(4), Some(0)], "{ends:?}");
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
