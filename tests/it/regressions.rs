//! Every regression matches its snapshot, right or wrong, and fails where it is expected to: any change fails the test.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Build, Deadline, Executor, Limits};
use snuffer::ops;
use snuffer::oracle::{Evidence, judge};
use snuffer::report;
use snuffer::store::Platform;
use snuffer::store::regression::{Regression, read, surprises};

use crate::simulated;

#[test]
fn every_regression_matches_its_snapshot_and_its_status() {
    for Replayed { settings, texts } in replayed(&regressions(), |_, evidence| report::text(evidence, &judge(evidence)))
    {
        for (name, text) in texts {
            settings.bind(|| insta::assert_snapshot!(name, text));
        }
    }
}

/// The results of the cases on one device.
pub struct Replayed {
    /// The settings of the device's snapshots.
    pub settings: insta::Settings,
    /// The text of each case, by name.
    pub texts: Vec<(String, String)>,
}

/// Replays all `kept` cases on the CPU and, if it is built, on the simulated device, and renders each with `render`. Panics if a
/// case does not do what its status says.
pub fn replayed(kept: &[(String, Regression)], render: impl Fn(&Regression, &Evidence) -> String) -> Vec<Replayed> {
    // Little memory that fills quickly: the outcome must not depend on the speed of the machine.
    let limits = Limits { deadline: Duration::from_secs(20), memory_mib: 1024, ..Limits::default() };
    let (mut all, mut surprised) = (Vec::new(), Vec::new());
    for device in std::iter::once(Device::Cpu).chain(simulated::device()) {
        let mut executor = Executor::start(&[device], Build::Checked, limits).expect("a worker starts");
        let hardware = executor.hardware();
        let platform = |device| Platform::today(device, hardware.get(&device));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        if device != Device::Cpu {
            settings.set_snapshot_suffix("sim");
            simulated::filter_variable_parts(&mut settings);
        }
        let mut texts = Vec::new();
        for (name, regression) in kept {
            let op = ops::find(&regression.case.op).expect(name);
            // A known hang needs no long wait.
            let hangs = regression.signature.as_ref().is_some_and(|signature| signature.kind == "hang");
            let deadline = if hangs { Deadline::Short } else { Deadline::Full };
            let observations = executor.observe(&regression.case, deadline).expect("the harness survives");
            for surprise in surprises(regression, op, &observations, platform) {
                surprised.push(format!("{name} on {}: {}", surprise.device, surprise.what));
            }
            texts.push((name.clone(), render(regression, &Evidence::new(op, &regression.case, &observations))));
        }
        all.push(Replayed { settings, texts });
    }
    assert!(surprised.is_empty(), "{}", surprised.join("\n"));
    all
}

/// Every regression by name.
pub fn regressions() -> Vec<(String, Regression)> {
    let all = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("corpora/regressions")).expect("regressions");
    assert!(all.len() >= 20, "the regressions are gone: {} left", all.len());
    all
}
