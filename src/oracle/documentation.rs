//! Where candle's code does what its documentation does not say, or what PyTorch would call a bug, and the contract follows the code
//! because candle's tests say that it is meant, or because other libraries do the same. Somebody should write it down, or change it.
//!
//! Some arguments mean something special. The documentation mentions -1 as an index of `one_hot`. It does not mention that a temperature
//! of 0 or less means no sampling in `gumbel_softmax`; that 0 switches `softcap` and `max_bias` off in attention, as in ggml and
//! flash-attention; and that the largest id of its dtype reads zeros and writes nothing. The last two are not below: 0 is what others
//! take, and candle's maintainers decided on the id (candle PR 2940).

use super::{Evidence, Kind, OracleName, Site, Verdict, fail};
use crate::case::Case;
use crate::ops::{Rule, rule};
use crate::outcome::{Observation, Outcome};

/// Calls that return something which only the code tells.
struct Departure {
    /// The ops.
    ops: &'static [&'static str],
    /// What candle does in such a call.
    rule: &'static Rule,
    /// What candle does, what its documentation says, and what PyTorch does.
    about: &'static str,
    /// Whether a case is such a call.
    applies: fn(&Case) -> bool,
}

static DEPARTURES: &[Departure] = &[
    Departure {
        ops: &["tensor.round"],
        rule: &rule::HALVES_AWAY,
        about: "candle's tests expect this, and its documentation is silent; PyTorch rounds halves to even, as IEEE 754 does",
        applies: |case| {
            let is_odd_half = |x: &f64| x.fract().abs() == 0.5 && x.round() != x.round_ties_even();
            case.tensor("x").is_some_and(|x| x.floats().iter().any(is_odd_half))
        },
    },
    Departure {
        ops: &["random.gumbel_softmax"],
        rule: &rule::NO_TEMPERATURE,
        about: "its documentation is silent; PyTorch divides by the temperature, which makes NaN of 0 and turns the order around below it",
        applies: |case| case.float("temperature") <= 0.0,
    },
];

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let applies = |departure: &&Departure| {
        departure.ops.contains(&evidence.case.op.as_str()) && (departure.applies)(evidence.case)
    };
    let Some(departure) = DEPARTURES.iter().find(applies) else { return Verdict::Pass };
    let Outcome::Returned(_) = &seen.outcome else { return Verdict::Skip("nothing returned") };
    let site = Site::Rule(departure.rule);
    fail(OracleName::Documentation, Kind::Undocumented, site, seen, departure.about.to_string())
}
