//! Results as `JUnit` XML.

use std::collections::BTreeMap;
use std::time::Duration;

use quick_junit::{NonSuccessKind, Report, TestCase, TestCaseStatus, TestSuite};

use super::Summary;
use crate::arguments::FailOn;
use crate::test_result::{Outcome, TestResult};

impl Summary {
    /// One suite for each binary. A test fails if it fails by itself, or if the device saw what is as grave as `least`.
    pub fn junit(&self, least: FailOn) -> anyhow::Result<String> {
        let mut suites: BTreeMap<&str, TestSuite> = BTreeMap::new();
        for result in &self.results {
            let suite = suites.entry(&result.binary).or_insert_with(|| TestSuite::new(result.binary.as_str()));
            suite.add_test_case(self.case(result, least));
        }
        let mut report = Report::new("cargo snuffer");
        report.add_test_suites(suites.into_values());
        Ok(report.to_string()?)
    }

    fn case(&self, result: &TestResult, least: FailOn) -> TestCase {
        let name = result.name();
        let grave = self.findings.iter().find(|finding| finding.tests.contains(&name) && finding.reaches(least));
        let status = match (&result.outcome, grave) {
            (Outcome::Ignored, _) => TestCaseStatus::skipped(),
            (Outcome::Passed, None) => TestCaseStatus::success(),
            (outcome, grave) => {
                let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
                let why = match outcome {
                    Outcome::Failed(why) => why.clone(),
                    Outcome::TimedOut => "timed out".to_string(),
                    Outcome::Passed | Outcome::Ignored => "the device reports something".to_string(),
                };
                status.set_message(grave.map_or(why, |finding| finding.record.fault.title()));
                if let Some(finding) = grave {
                    status.set_type(finding.record.fault.kind.name()).set_description(finding.text().trim());
                }
                status
            }
        };
        let mut case = TestCase::new(result.test.as_deref().unwrap_or(&result.binary), status);
        case.set_classname(&result.binary).set_time(Duration::from_secs_f64(result.seconds));
        if !result.output.is_empty() {
            case.set_system_out(&result.output);
        }
        case
    }
}
