//! Checks printed JSON against the schemas that `snuffer schema` prints.

use std::process::Command;

use serde_json::Value;

use crate::place;

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

/// The schema of this name.
pub fn schema(name: &str) -> Value {
    serde_json::from_str(&snuffer(&["schema", name])).expect("JSON")
}

/// What `snuffer` prints.
pub fn snuffer(args: &[&str]) -> String {
    let mut command = Command::new(place::snuffer());
    let output = command.args(args).env("SNUFFER_DEVICES", "cpu").current_dir(place::root()).output();
    let output = output.expect("snuffer starts");
    assert_ne!(output.status.code(), Some(1), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("text")
}

/// Checks a value against a schema within `root`. Supports the keywords that our schemas use and panics at others. A complete
/// library is 25 crates, and would change the features of candle's dependencies in tests.
pub fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{value} is not {what}"));
    let Some(words) = schema.as_object() else { return if schema == true { Ok(()) } else { wrong("allowed") } };
    for (word, rule) in words {
        let all = || rule.as_array().expect("a list");
        match word.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => {}
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
            // It says nothing of what is no number.
            "minimum" if value.is_number() && value.as_f64() < rule.as_f64() => {
                return wrong(&format!("{rule} or more"));
            }
            "minItems" if value.as_array().map(Vec::len) < rule.as_u64().map(|least| least as usize) => {
                return wrong(&format!("of {rule} items"));
            }
            "maxItems" if value.as_array().map(Vec::len) > rule.as_u64().map(|most| most as usize) => {
                return wrong(&format!("of {rule} items"));
            }
            "uniqueItems"
                if value.as_array().is_some_and(|all| (1..all.len()).any(|at| all[..at].contains(&all[at]))) =>
            {
                return wrong("without duplicates");
            }
            "minimum" | "minItems" | "maxItems" | "uniqueItems" => {}
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
