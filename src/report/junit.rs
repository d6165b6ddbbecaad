//! Campaigns as `JUnit` XML: a test for each op, which fails by its findings.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::findings::{Finding, Tally};

/// The ops of `tally` with the findings that they have in `findings`.
pub fn junit(tally: &Tally, findings: &[(String, Finding)]) -> anyhow::Result<String> {
    let mut by_op: BTreeMap<&str, Vec<&(String, Finding)>> =
        tally.ops.keys().map(|op| (op.as_str(), Vec::new())).collect();
    for finding in findings {
        by_op.entry(finding.1.signature.op.as_str()).or_default().push(finding);
    }
    let mut suite = TestSuite::new("snuffer");
    for (op, findings) in by_op {
        suite.add_test_case(test(op, tally, &findings));
    }
    let mut report = Report::new("snuffer");
    report.add_test_suite(suite);
    Ok(report.to_string()?)
}

fn test(op: &str, tally: &Tally, findings: &[&(String, Finding)]) -> TestCase {
    let status = if findings.is_empty() {
        TestCaseStatus::success()
    } else {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        let shown = |(name, finding): &&(String, Finding)| {
            format!("{}\n  {}\n  {name}", finding.signature, finding.violation.detail)
        };
        status.set_message(format!("{} findings", findings.len()));
        status.set_description(findings.iter().map(shown).collect::<Vec<_>>().join("\n"));
        status
    };
    let mut test = TestCase::new(op, status);
    if let Some(counts) = tally.ops.get(op) {
        test.set_system_out(format!(
            "{} cases: {} passed, {} skipped, {} failed",
            counts.cases, counts.passed, counts.skipped, counts.failed
        ));
    }
    test
}
