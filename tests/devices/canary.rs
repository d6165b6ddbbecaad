//! Planted faults: each device reports every one of them as what it is, and charges none to another case.

use snuffer::device::Device;
use snuffer::hunt::check_canary;
use snuffer::ops::canary;

use crate::plan::{Test, tests};

pub const TESTS: &[Test] = tests![Each: every_planted_fault_is_noticed_and_charged_to_its_case];

fn every_planted_fault_is_noticed_and_charged_to_its_case(device: Device) {
    let checked = check_canary(&[device], None).expect("the harness survives");
    assert_eq!(checked.missed, Vec::<String>::new());
    let least = match device {
        Device::Cpu => 13,
        Device::Cuda(_) => 14,
        Device::Sim(_) => 16,
    };
    assert_eq!((checked.faults, canary::faults(&[device]).len()), (least, least));
    assert!(checked.overflow_checks, "the worker for {device} has no overflow checks");
}
