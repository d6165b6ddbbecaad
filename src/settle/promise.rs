//! What a simpler case must still be promised: a finding on a valid call stays a finding on a valid call.

use crate::ops::Contract;

/// Whether `simpler` is promised at least what `own` is: a valid call stays valid, and an invalid one invalid for the same
/// reason. An unspecified call may become either, since nothing was promised of it.
pub fn keeps(own: &Contract, simpler: &Contract) -> bool {
    match (own, simpler) {
        // An `Err` that was wrong must not become one that candle documents.
        (Contract::Accepts { refusal: None, .. }, Contract::Accepts { refusal, .. }) => refusal.is_none(),
        (Contract::Accepts { .. }, Contract::Accepts { .. }) | (Contract::Unspecified(_), _) => true,
        (Contract::Rejects(rule), Contract::Rejects(other)) => rule == other,
        (Contract::Accepts { .. } | Contract::Rejects(_), _) => false,
    }
}
