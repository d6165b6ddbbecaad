//! The root causes in a history: when campaigns first and last saw each.

use rusqlite::Row;
use schemars::JsonSchema;
use serde::Serialize;

use super::{History, HistoryError, count};

/// A root cause in all campaigns, or a signature without a known one. Dates are in UTC.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CauseRow {
    /// The cause in words, or the signature.
    pub name: String,
    /// Whether the cause is known.
    pub is_known: bool,
    /// When the first campaign that saw it began.
    pub first_seen: String,
    /// When the last campaign that saw it began.
    pub last_seen: String,
    /// How many signatures have it.
    pub signatures: u64,
    /// How many cases failed because of it.
    pub cases: u64,
}

impl History {
    /// The root causes of the findings that stores have, the most recently first seen ones first; those first seen `since` a date.
    pub fn causes(&self, since: Option<&str>) -> Result<Vec<CauseRow>, HistoryError> {
        let ask = || -> rusqlite::Result<Vec<CauseRow>> {
            let mut query = self.connection.prepare(
                "SELECT name, cause IS NOT NULL AS is_known, first_seen, last_seen, signatures, cases FROM causes
                 WHERE ?1 IS NULL OR first_seen >= ?1 ORDER BY first_seen DESC, is_known, name",
            )?;
            query.query_map([since], cause)?.collect()
        };
        ask().map_err(|error| self.explain(&error))
    }
}

fn cause(row: &Row) -> rusqlite::Result<CauseRow> {
    Ok(CauseRow {
        name: row.get("name")?,
        is_known: row.get("is_known")?,
        first_seen: row.get("first_seen")?,
        last_seen: row.get("last_seen")?,
        signatures: count(row, "signatures")?,
        cases: count(row, "cases")?,
    })
}
