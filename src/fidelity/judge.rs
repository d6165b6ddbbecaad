//! Says of a difference whether the simulated device is wrong, the documents leave the result open, or only one device can know.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::difference::{Difference, compare};
use super::envelope::Envelope;
use super::latitude::{RANDOM, words};
use super::pair::Both;
use super::simulated::Simulated;
use super::values::Values;
use crate::case::Case;
use crate::outcome::{CudaError, Outcome};

/// What a difference means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Nothing documented allows it.
    SimulatorWrong,
    /// The documents leave it open.
    DocumentedLatitude,
    /// Only one device can do the case, or can tell what is wrong with it.
    HardwareOnly,
}

impl Standing {
    /// Each of them, the worst first.
    pub const ALL: [Self; 3] = [Self::SimulatorWrong, Self::DocumentedLatitude, Self::HardwareOnly];

    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::SimulatorWrong => "simulator wrong",
            Self::DocumentedLatitude => "documented latitude",
            Self::HardwareOnly => "hardware only",
        }
    }
}

/// A difference and what it means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// What it means.
    pub standing: Standing,
    /// How the outcomes differ.
    pub difference: Difference,
    /// What allows the difference, or what does not.
    pub why: String,
}

/// How many samples of the envelope are taken at first, and in all if those do not hold the result.
const SAMPLES: [usize; 3] = [16, 64, 256];

/// The difference of the two outcomes of `case`, and what it means; `None` if they agree. Counts their elements.
pub fn judge(device: &mut Simulated, case: &Case, both: &Both, counts: &mut Values) -> anyhow::Result<Option<Judged>> {
    let Both { simulated, other, launched } = both;
    let Some(difference) = compare(&simulated.outcome, &other.outcome, counts) else { return Ok(None) };
    // A device that does not repeat itself may agree in another of its runs.
    let agree = |left: &Outcome, right: &Outcome| compare(left, right, &mut Values::default()).is_none();
    let lefts = || std::iter::once(&simulated.outcome).chain(&simulated.again);
    if lefts().any(|left| std::iter::once(&other.outcome).chain(&other.again).any(|right| agree(left, right))) {
        return Ok(None);
    }
    let judged = |standing, why: String| Ok(Some(Judged { standing, difference: difference.clone(), why }));
    if let Some(why) = only_one_can(both) {
        return judged(Standing::HardwareOnly, why);
    }
    let names = device.latitudes(launched);
    let Outcome::Returned(base) = &simulated.outcome else {
        return judged(Standing::SimulatorWrong, "no documentation allows the devices to end differently".to_string());
    };
    if names.is_empty() {
        return judged(Standing::SimulatorWrong, "every instruction of these kernels is exact".to_string());
    }
    device.begin_samples()?;
    let mut envelope = Envelope::new(base);
    let mut samples = 0;
    for most in SAMPLES {
        while samples < most {
            let more = device.sample(case)?;
            samples += 2;
            for sample in more {
                envelope.add(sample);
            }
        }
        if envelope.holds(&other.outcome) {
            return judged(Standing::DocumentedLatitude, words(&names).join("; "));
        }
    }
    let why = format!("beyond what is left open by {}", words(&names).join("; "));
    judged(Standing::SimulatorWrong, why)
}

/// Why only one of the two devices can judge the case, if only one can.
fn only_one_can(Both { simulated, other, launched }: &Both) -> Option<String> {
    let unchecked = simulated.device_reports.only_checkers_tell(&simulated.outcome);
    let random = launched.libraries.iter().find(|function| function.starts_with(RANDOM));
    match (&simulated.outcome, &other.outcome) {
        (Outcome::Unsupported(what), _) => Some(format!("the simulated device does not support it: {what}")),
        (_, Outcome::Unsupported(what)) => Some(format!("only the simulated device supports it: {what}")),
        _ if random.is_some() => Some(format!("the simulated device draws different random numbers from {}", random?)),
        _ if unchecked.is_some() => unchecked,
        (Outcome::Rejected(refusal), _) if refusal.message.contains("CUDA_ERROR_OUT_OF_MEMORY") => {
            Some("the devices have different amounts of memory".to_string())
        }
        (Outcome::Faulted(fault), Outcome::TimedOut(_))
            if matches!(fault.kind, CudaError::Hang | CudaError::LaunchFailed) =>
        {
            Some(format!("the simulated device proves that the launch does not end: {}", fault.place))
        }
        _ => None,
    }
}
