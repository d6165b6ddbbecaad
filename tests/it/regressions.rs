//! Every kept case does today what its snapshot says: right or wrong, a change turns the test red.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Build, Executor, Limits};
use snuffer::ops;
use snuffer::oracle::{Evidence, Verdict, judge};
use snuffer::regression::{Regression, Status};
use snuffer::report;

use crate::simulated;

#[test]
fn every_regression_does_what_its_snapshot_says() {
    let limits = Limits { deadline: Duration::from_secs(10), ..Limits::default() };
    for device in std::iter::once(Device::Cpu).chain(simulated::device()) {
        let mut executor = Executor::start(&[device], Build::Checked, limits).expect("a worker starts");
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        if device != Device::Cpu {
            settings.set_snapshot_suffix("sim");
            // Where an allocation lies depends on those before it.
            settings.add_filter("0x[0-9a-f]+", "0x…");
        }
        for (name, regression) in regressions() {
            let op = ops::find(&regression.case.op).expect(&name);
            let observations = executor.observe(&regression.case).expect("the harness survives");
            let evidence = Evidence::new(op, &regression.case, &observations);
            let verdict = judge(&evidence);
            if regression.devices.contains(&device.to_string()) {
                let signature = match &verdict {
                    Verdict::Fail(violation) => Some(violation.signature(op.name)),
                    Verdict::Pass | Verdict::Skip(_) => None,
                };
                assert_eq!(signature, regression.signature, "{name}: today's violation on {device}");
                assert_eq!(regression.status == Status::Open, signature.is_some(), "{name}: the status, and {device}");
            }
            settings.bind(|| insta::assert_snapshot!(name, report::text(&evidence, &verdict)));
        }
    }
}

/// Every regression by name.
pub fn regressions() -> Vec<(String, Regression)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/regressions");
    let mut paths: Vec<_> =
        walkdir::WalkDir::new(folder).into_iter().map(|entry| entry.expect("readable").into_path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    assert!(paths.len() >= 20, "the regressions are gone: {} left", paths.len());
    let read = |path: &std::path::PathBuf| {
        let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
        let regression = Regression::parse(&std::fs::read_to_string(path).expect("readable")).expect(&name);
        (name, regression)
    };
    paths.iter().map(read).collect()
}
