//! Checks invariants of outputs, which hold even where the reference does not know a value: the range of a function, its order, no
//! NaN of finite inputs, one of several sources.

use super::{Evidence, Kind, OracleName, Site, Verdict, violation};
use crate::ops::{Contract, invariants};
use crate::outcome::{Observation, Outcome};

pub fn judge(evidence: &Evidence, seen: &Observation) -> Verdict {
    let (Outcome::Returned(returned), false) = (&seen.outcome, matches!(evidence.contract, Contract::Rejects(_)))
    else {
        return Verdict::Skip("nothing returned");
    };
    let Some(output) = returned.outputs.first() else { return Verdict::Skip("no output") };
    let case = evidence.op.complete(evidence.case);
    let broken = invariants(&case).filter_map(|invariant| {
        let broken = invariant.law.first_broken(&case, output)?;
        let detail = format!("{broken} ({})", invariant.source);
        let site = Site::Rule(invariant.law.rule());
        Some(violation(OracleName::Invariant, Kind::WrongValue, site, seen, detail))
    });
    Verdict::of(broken.collect(), Verdict::Pass)
}
