//! What the device saw as SARIF 2.1.0, for code scanning: a result points to the user's own call, and beside it to the kernel's line.

use serde_json::{Value, json};

use super::{Finding, Summary, relative, short};
use crate::record::Calls;
use device_record::{Kind, Severity};

impl Summary {
    /// The log of one run.
    pub fn sarif(&self) -> anyhow::Result<String> {
        let results: Vec<Value> = self.findings.iter().filter_map(Finding::sarif).collect();
        let mut kinds: Vec<Kind> = self.findings.iter().map(|finding| finding.record.fault.kind).collect();
        kinds.sort_unstable_by_key(|kind| kind.name());
        kinds.dedup();
        let rules: Vec<Value> = kinds
            .iter()
            .map(|kind| {
                let [text, help] = [format!("CUDA: {kind}"), kind.help().to_string()];
                json!({ "id": kind, "shortDescription": { "text": text }, "help": { "text": help } })
            })
            .collect();
        let log = json!({
            "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
            "version": "2.1.0",
            "runs": [{
                "tool": { "driver": {
                    "name": "cargo snuffer",
                    "version": env!("CARGO_PKG_VERSION"),
                    "informationUri": env!("CARGO_PKG_REPOSITORY"),
                    "rules": rules,
                }},
                "results": results,
            }],
        });
        Ok(serde_json::to_string_pretty(&log)? + "\n")
    }
}

impl Finding {
    /// A result, unless it is of a call that was asked to fail.
    fn sarif(&self) -> Option<Value> {
        let level = match self.record.severity {
            Severity::Fault | Severity::Report => "error",
            Severity::Unsupported => "warning",
            Severity::Fact => "note",
            Severity::Injected => return None,
        };
        let location = |file: &str, line: u32| json!({ "physicalLocation": { "artifactLocation": { "uri": file }, "region": { "startLine": line } } });
        let own = self.record.own_frame();
        let called = own.and_then(|frame| Some(location(relative(frame)?.to_str()?, frame.line?)));
        let source = self.record.fault.place.source.as_ref();
        let kernel = source.map(|source| location(&short(&source.file), source.line));
        let mut result = json!({
            "ruleId": self.record.fault.kind,
            "level": level,
            "message": { "text": self.text().trim() },
        });
        if let Some(place) = called.as_ref().or(kernel.as_ref()) {
            result["locations"] = json!([place]);
        }
        if let (Some(_), Some(kernel)) = (called, kernel) {
            result["relatedLocations"] = json!([kernel]);
        }
        if let Some(reason) = &self.suppressed {
            result["suppressions"] = json!([{ "kind": "external", "justification": reason }]);
        }
        Some(result)
    }
}
