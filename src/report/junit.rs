//! Campaigns as `JUnit` XML: a test for each op, which fails on unexpected findings.

use std::collections::BTreeMap;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use crate::causes::Explanation;
use crate::store::{Finding, Tally};

/// A finding, and who explains it.
type Found<'a> = (&'a (String, Finding), &'a Explanation<'a>);

/// The report: each op of `tally` with its findings, each with who explains it.
pub fn junit(tally: &Tally, findings: &[(String, Finding)], explanations: &[Explanation]) -> anyhow::Result<String> {
    let mut by_op: BTreeMap<&str, Vec<Found>> = tally.ops.keys().map(|op| (op.as_str(), Vec::new())).collect();
    for found in findings.iter().zip(explanations) {
        by_op.entry(found.0.1.signature.op.as_str()).or_default().push(found);
    }
    let mut suite = TestSuite::new("snuffer");
    for (op, findings) in by_op {
        suite.add_test_case(test(op, tally, &findings));
    }
    let mut report = Report::new("snuffer");
    report.add_test_suite(suite);
    Ok(report.to_string()?)
}

fn test(op: &str, tally: &Tally, findings: &[Found]) -> TestCase {
    let (news, known): (Vec<&Found>, Vec<&Found>) =
        findings.iter().partition(|(_, explanation)| !explanation.is_known());
    let shown = |found: &[&Found]| {
        let line = |((name, finding), explanation): &&Found| {
            let (status, cause) = (explanation.status(), explanation.cause);
            let cause = cause.map_or_else(String::new, |cause| format!("\n  cause: {}", cause.title));
            format!("{} ({status})\n  {}{cause}\n  {name}", finding.signature, finding.violation.detail)
        };
        found.iter().map(line).collect::<Vec<_>>().join("\n")
    };
    let status = if news.is_empty() {
        TestCaseStatus::success()
    } else {
        let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
        status.set_message(format!("{} new findings", news.len()));
        status.set_description(shown(&news));
        status
    };
    let mut test = TestCase::new(op, status);
    if let Some(counts) = tally.ops.get(op) {
        test.set_system_out(format!(
            "{} cases: {} passed, {} partly judged, {} skipped, {} failed\n{} known findings\n{}",
            counts.cases,
            counts.passed,
            counts.partly,
            counts.skipped,
            counts.failed,
            known.len(),
            shown(&known)
        ));
    }
    test
}
