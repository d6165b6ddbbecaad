//! Every kept case does today what its snapshot says, right or wrong, and fails where it is expected to: a change turns the
//! test red.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Build, Executor, Limits};
use snuffer::ops;
use snuffer::oracle::{Evidence, judge};
use snuffer::regression::{Place, Regression, read, surprises};
use snuffer::report;

use crate::simulated;

#[test]
fn every_regression_does_what_its_snapshot_and_its_status_say() {
    // Little memory, which is soon filled: how it ends must not depend on how fast the machine is.
    let limits = Limits { deadline: Duration::from_secs(20), memory_mib: 1024, ..Limits::default() };
    let mut surprised = Vec::new();
    for device in std::iter::once(Device::Cpu).chain(simulated::device()) {
        let mut executor = Executor::start(&[device], Build::Checked, limits).expect("a worker starts");
        let hardware = executor.hardware();
        let place = |device| Place::today(device, hardware.get(&device));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        if device != Device::Cpu {
            settings.set_snapshot_suffix("sim");
            simulated::without_what_varies(&mut settings);
        }
        for (name, regression) in regressions() {
            let op = ops::find(&regression.case.op).expect(&name);
            let observations = executor.observe(&regression.case).expect("the harness survives");
            for surprise in surprises(&regression, op, &observations, place) {
                surprised.push(format!("{name} on {}: {}", surprise.device, surprise.what));
            }
            let evidence = Evidence::new(op, &regression.case, &observations);
            settings.bind(|| insta::assert_snapshot!(name, report::text(&evidence, &judge(&evidence))));
        }
    }
    assert!(surprised.is_empty(), "{}", surprised.join("\n"));
}

/// Every regression by name.
pub fn regressions() -> Vec<(String, Regression)> {
    let all = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/regressions")).expect("regressions");
    assert!(all.len() >= 20, "the regressions are gone: {} left", all.len());
    all
}
