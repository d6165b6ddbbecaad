//! Findings and comparisons as SARIF 2.1.0, for code scanning.
//!
//! A result points to the line of candle's or its kernels' source that the finding names, or else to the line that its
//! contract cites. Paths start with the crate's name, relative to the base `CRATES`.

use serde_json::{Value, json};

use super::comparison::{Comparison, Difference};
use crate::causes::Explanation;
use crate::oracle::Rank;
use crate::outcome::Place;
use crate::store::Finding;
use crate::store::regression::{Status, TriageState};

/// The findings by stored name, each with who explains it.
pub fn sarif(findings: &[(String, Finding)], explanations: &[Explanation]) -> Value {
    let rules = findings.iter().map(|(_, finding)| (rule(finding), format!("candle: {}", finding.signature.kind)));
    let results = findings.iter().zip(explanations);
    let results: Vec<Value> =
        results.map(|((name, finding), explanation)| result(name, finding, explanation)).collect();
    log(rules.collect(), &results)
}

impl Comparison {
    /// The differences that somebody should look at.
    pub fn sarif(&self) -> Value {
        let differences = || self.differences.iter().filter(|difference| difference.class.needs_a_look());
        let rule = |it: &Difference| it.class.name().replace(' ', "-");
        let rules = differences().map(|it| (rule(it), format!("candle: {}", it.class.name())));
        let result = |it: &Difference| {
            let mut result = json!({
                "baselineState": "new",
                "ruleId": rule(it),
                "level": it.rank.map_or("warning", level),
                "message": { "text": format!("{}: {}; {}", it.what, it.detail, it.replay[1]) },
                "partialFingerprints": { "difference/v1": format!("{}: {}", it.class.name(), it.what) },
                "properties": { "case": it.case, "device": it.device },
            });
            locate(&mut result, location(&it.after));
            result
        };
        let results: Vec<Value> = differences().map(result).collect();
        log(rules.collect(), &results)
    }
}

/// A log of one run, with each of `rules` once: its id and what it is about.
fn log(mut rules: Vec<(String, String)>, results: &[Value]) -> Value {
    rules.sort_unstable();
    rules.dedup();
    let rule = |(id, about): &(String, String)| json!({ "id": id, "shortDescription": { "text": about } });
    let rules: Vec<Value> = rules.iter().map(rule).collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "snuffer",
                "version": env!("CARGO_PKG_VERSION"),
                "informationUri": env!("CARGO_PKG_REPOSITORY"),
                "rules": rules,
            }},
            "originalUriBaseIds": { "CRATES": { "description": { "text": "the sources of candle's crates" } } },
            "results": results,
        }],
    })
}

/// Says in a result where in the sources it is.
fn locate(result: &mut Value, place: Option<(&str, u32)>) {
    if let Some((file, line)) = place {
        result["locations"] = json!([{ "physicalLocation": {
            "artifactLocation": { "uri": file, "uriBaseId": "CRATES" },
            "region": { "startLine": line },
        }}]);
    }
}

/// The SARIF rule of a finding: its oracle and kind, whatever the op.
fn rule(finding: &Finding) -> String {
    format!("{}/{}", finding.signature.oracle, finding.signature.kind).replace(' ', "-")
}

/// The severity of a finding of this rank.
fn level(rank: Rank) -> &'static str {
    match rank {
        Rank::Memory | Rank::Wrong | Rank::Crash => "error",
        Rank::Refusal => "warning",
        Rank::Limit | Rank::Cost => "note",
    }
}

fn result(name: &str, finding: &Finding, explanation: &Explanation) -> Value {
    let mut result = json!({
        "baselineState": if explanation.is_known() { "unchanged" } else { "new" },
        "ruleId": rule(finding),
        "level": level(finding.signature.rank()),
        "message": { "text": format!("{}: {}", finding.signature, finding.violation.detail) },
        "partialFingerprints": { "signature/v1": name },
        "properties": { "case": finding.case.to_text(), "device": finding.violation.device.to_string() },
    });
    if let Some(cause) = explanation.cause {
        result["properties"]["cause"] = json!({ "name": cause.name, "title": cause.title, "upstream": cause.upstream });
    }
    if let TriageState::Known(regression) = explanation.state
        && matches!(regression.status, Status::ByDesign | Status::Flaky | Status::Wontfix)
    {
        let why = format!("{}: {}", regression.status, regression.reason.as_deref().unwrap_or_default());
        result["suppressions"] = json!([{ "kind": "external", "status": "accepted", "justification": why }]);
    }
    let promised = || finding.promise.split([',', ';', ' ']).find_map(location);
    let of_candle = |(file, _): &(&str, u32)| file.starts_with("candle-");
    let failed = finding.place().and_then(Place::file_and_line).filter(of_candle);
    locate(&mut result, failed.or_else(promised));
    result
}

/// The file and the line in `text`, such as `candle-core/src/backprop.rs:249-260`.
pub fn location(text: &str) -> Option<(&str, u32)> {
    let start = text.find("candle-")?;
    let (file, line) = text[start..].split_once(':')?;
    let digits = line.find(|c: char| !c.is_ascii_digit()).unwrap_or(line.len());
    Some((file, line[..digits].parse().ok()?))
}
