//! The canary of a comparison: faults that are planted on one device only must come back as differences.

use super::Plan;
use super::judge::{Standing, judge};
use super::pair::Pair;
use super::values::Values;
use crate::ops::canary::case;

/// The planted faults: a wrong value, and other ends.
const FAULTS: [&str; 4] = ["wrong value", "panic", "abort", "canary_assert"];

/// Plants faults on the second device, and none on the first. Returns those that were not noticed; a harmless case must agree.
pub fn missed(plan: &Plan) -> anyhow::Result<Vec<String>> {
    let mut pair = Pair::start(plan)?;
    let harmless = case("none");
    let mut notices = |planted| {
        let both = pair.run_two(&harmless, &case(planted))?;
        let judged = judge(&mut pair.simulated, &harmless, &both, &mut Values::default())?;
        anyhow::Ok(judged.is_some_and(|judged| judged.standing == Standing::SimulatorWrong))
    };
    let mut missed = Vec::new();
    for fault in FAULTS {
        if !notices(fault)? {
            missed.push(format!("{fault} was planted on {} but not noticed", plan.devices[1]));
        }
    }
    if notices("none")? {
        missed.push("a harmless case was reported as a difference".to_string());
    }
    Ok(missed)
}
