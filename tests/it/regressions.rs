//! Every kept case does today what its snapshot says, right or wrong, and fails where it is expected to: a change turns the
//! test red.

use std::path::Path;
use std::time::Duration;

use snuffer::device::Device;
use snuffer::exec::{Build, Deadline, Executor, Limits};
use snuffer::ops;
use snuffer::oracle::{Evidence, Kind, judge};
use snuffer::report;
use snuffer::store::Platform;
use snuffer::store::regression::{Regression, read, surprises};

use crate::simulated;

#[test]
fn every_regression_does_what_its_snapshot_and_its_status_say() {
    for Replayed { settings, texts } in replayed(&regressions(), |_, evidence| report::text(evidence, &judge(evidence)))
    {
        for (name, text) in texts {
            settings.bind(|| insta::assert_snapshot!(name, text));
        }
    }
}

/// What one device does with what is kept.
pub struct Replayed {
    /// Those of the device's snapshots.
    pub settings: insta::Settings,
    /// A text for each, by name.
    pub texts: Vec<(String, String)>,
}

/// Replays all that is `kept` on the CPU and, where it is built, on the simulated device, and tells of each. What does not do
/// what its status says there is red.
pub fn replayed(kept: &[(String, Regression)], tell: impl Fn(&Regression, &Evidence) -> String) -> Vec<Replayed> {
    // Little memory, which is soon filled: how it ends must not depend on how fast the machine is.
    let limits = Limits { deadline: Duration::from_secs(20), memory_mib: 1024, ..Limits::default() };
    let (mut all, mut surprised) = (Vec::new(), Vec::new());
    for device in std::iter::once(Device::Cpu).chain(simulated::device()) {
        let mut executor = Executor::start(&[device], Build::Checked, limits).expect("a worker starts");
        let hardware = executor.hardware();
        let place = |device| Platform::today(device, hardware.get(&device));
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path("../../snapshots");
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        if device != Device::Cpu {
            settings.set_snapshot_suffix("sim");
            simulated::without_what_varies(&mut settings);
        }
        let mut texts = Vec::new();
        for (name, regression) in kept {
            let op = ops::find(&regression.case.op).expect(name);
            // Nobody waits long for what is known to hang.
            let hangs = regression.signature.as_ref().is_some_and(|signature| signature.kind == Kind::Hang);
            let deadline = if hangs { Deadline::Short } else { Deadline::Full };
            let observations = executor.observe(&regression.case, deadline).expect("the harness survives");
            for surprise in surprises(regression, op, &observations, place) {
                surprised.push(format!("{name} on {}: {}", surprise.device, surprise.what));
            }
            texts.push((name.clone(), tell(regression, &Evidence::new(op, &regression.case, &observations))));
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
