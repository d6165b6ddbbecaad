//! A finding to test with.

use std::collections::BTreeMap;

use snuffer::device::Device;
use snuffer::ops::canary;
use snuffer::oracle::{Kind, OracleName, Site, Violation};
use snuffer::outcome::{Observation, Outcome, Phase};
use snuffer::store::{Finding, Origin, Reproduction, Unchecked};

/// A finding that hangs.
pub fn finding(site: &str) -> Finding {
    let violation = Violation {
        oracle: OracleName::Contract,
        site: Site::parse(OracleName::Contract, &Kind::Hang, site),
        kind: Kind::Hang,
        device: Device::Cpu,
        also_on: Vec::new(),
        detail: "expected Ok".into(),
    };
    Finding {
        signature: violation.signature("canary"),
        violation,
        promise: "a test".into(),
        reproduction: Reproduction { tries: 3, failed: 3, unchecked: Unchecked::Same },
        origin: Origin {
            versions: "a test".into(),
            hardware: BTreeMap::new(),
            sanitizer: None,
            kernels: None,
            candle: None,
            seed: 1,
            index: 2,
            attempts: 3,
            minimal: true,
        },
        case: canary::case("hang"),
        observations: vec![Observation::new(Device::Cpu, Outcome::TimedOut(Phase::Forward))],
    }
}
