//! The queries of a history: signatures, campaigns, and any SQL.

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, Row, named_params};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{CauseRow, History, HistoryError, count};

/// The number of expected sightings from which none at all is significant: the chance is one in twenty.
const ENOUGH: f64 = 3.0;

/// Which rows to return.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only signatures of ops whose name matches.
    pub op: Option<String>,
    /// Only signatures of this kind, such as `assert` or `wrong value`.
    pub kind: Option<String>,
    /// Only signatures first seen (or gone) and campaigns begun since this date.
    pub since: Option<String>,
    /// Only signatures that are gone.
    pub gone: bool,
}

/// The result of a query.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The result of `snuffer history`.
    Signatures(Vec<SignatureRow>),
    /// The result of `snuffer history --causes`.
    Causes(Vec<CauseRow>),
    /// The result of `snuffer history --campaigns`.
    Campaigns(Vec<CampaignRow>),
    /// The result of `snuffer history --sql`.
    Table(Table),
}

/// A signature in all campaigns. Dates are in UTC.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignatureRow {
    /// The signature, as findings are named.
    pub signature: String,
    /// When the first campaign that saw it began.
    pub first_seen: String,
    /// That campaign.
    pub first_campaign: String,
    /// The version of candle that it ran.
    pub first_candle: String,
    /// The version of snuffer.
    pub first_snuffer: String,
    /// The devices to which it charged the failure.
    pub first_device: String,
    /// When the last campaign that saw it began.
    pub last_seen: String,
    /// That campaign.
    pub last_campaign: String,
    /// The version of candle that it ran.
    pub last_candle: String,
    /// How many campaigns saw it.
    pub campaigns: u64,
    /// How many cases failed with it.
    pub cases: u64,
    /// The expected number of sightings before the first one, at the failure rate since then.
    pub expected_before: f64,
    /// Whether that number is large enough to call it new.
    pub is_new: bool,
    /// The expected number of sightings since the last one, at the same failure rate.
    pub expected_since: f64,
    /// Whether that number is large enough to call it gone.
    pub is_gone: bool,
    /// When the first comparable campaign began that did not see it after it was last seen.
    pub missed_first: Option<String>,
    /// When the last such campaign began.
    pub missed_last: Option<String>,
    /// The finding's minimized case in one line, if a store has it.
    pub case: Option<String>,
    /// What is wrong with the case.
    pub detail: Option<String>,
}

/// A campaign.
#[derive(Debug, Serialize, JsonSchema)]
pub struct CampaignRow {
    /// Its name.
    pub name: String,
    /// Its shard, such as `1/4`; empty for all cases of its seed.
    pub shard: String,
    /// When it began, in UTC.
    pub begun: String,
    /// The version of snuffer.
    pub snuffer: String,
    /// The version of candle that it ran.
    pub candle: String,
    /// The seed.
    pub seed: String,
    /// Whether its cases were imported instead of drawn.
    pub imported: bool,
    /// The devices.
    pub devices: String,
    /// How many cases it ran.
    pub cases: u64,
    /// How many of them failed.
    pub failed: u64,
    /// Seconds of work.
    pub seconds: f64,
    /// Cases per second.
    pub rate: f64,
    /// Whether it ran to its end.
    pub finished: bool,
    /// How many signatures it saw.
    pub signatures: u64,
    /// How many of them no earlier campaign saw.
    pub new: u64,
}

/// The result of any SQL query.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows: a number, text or null for each column; a blob is text in hexadecimal.
    pub rows: Vec<Vec<Value>>,
}

impl History {
    /// The signatures, the most recently first seen ones first.
    pub fn signatures(&self, filter: &Filter) -> Result<Vec<SignatureRow>, HistoryError> {
        let ask = || -> rusqlite::Result<Vec<SignatureRow>> {
            let mut query = self.connection.prepare(
                "SELECT history.*, findings.\"case\", findings.detail FROM history LEFT JOIN findings USING (signature)
                 WHERE (:op IS NULL OR history.op GLOB :op) AND (:kind IS NULL OR kind = replace(lower(:kind), ' ', '-'))
                 AND (NOT :gone OR expected_since >= :enough)
                 AND (:since IS NULL OR iif(:gone, missed_first, first_seen) >= :since)
                 ORDER BY iif(:gone, missed_first, first_seen) DESC, signature",
            )?;
            let Filter { op, kind, since, gone } = filter;
            let params = named_params! { ":op": op, ":kind": kind, ":since": since, ":gone": gone, ":enough": ENOUGH };
            query.query_map(params, signature)?.collect()
        };
        ask().map_err(|error| self.explain(&error))
    }

    /// The campaigns, the latest first.
    pub fn campaigns(&self, since: Option<&str>) -> Result<Vec<CampaignRow>, HistoryError> {
        let ask = || -> rusqlite::Result<Vec<CampaignRow>> {
            let mut query = self.connection.prepare(
                "WITH sightings AS MATERIALIZED (SELECT signature, campaign, begun FROM seen),
                 debuts AS (SELECT signature, min(begun), campaign FROM sightings GROUP BY signature)
                 SELECT *, (SELECT count(*) FROM sightings WHERE campaign = id) AS signatures,
                     (SELECT count(*) FROM debuts WHERE campaign = id) AS new
                 FROM campaigns WHERE ?1 IS NULL OR begun >= ?1 ORDER BY begun DESC, name DESC, shard DESC",
            )?;
            query.query_map([since], campaign)?.collect()
        };
        ask().map_err(|error| self.explain(&error))
    }

    /// Runs the caller's own query. Use it on a history that is [`History::read_only`].
    pub fn sql(&self, text: &str) -> Result<Table, HistoryError> {
        let ask = || -> rusqlite::Result<Table> {
            let mut query = self.connection.prepare(text)?;
            let columns: Vec<String> = query.column_names().map(ToString::to_string).collect();
            let row = |row: &Row| (0..columns.len()).map(|index| Ok(json(row.get_ref(index)?))).collect();
            let rows = query.query_map([], row)?.collect::<Result<_, _>>()?;
            Ok(Table { columns, rows })
        };
        ask().map_err(|error| match error {
            error if error.sqlite_error_code() == Some(ErrorCode::AuthorizationForStatementDenied) => {
                HistoryError::Query("a query can only read; nothing was changed".to_string())
            }
            rusqlite::Error::SqlInputError { msg, sql, offset, .. } => {
                let near: String = sql.get(offset.max(0) as usize..).unwrap_or_default().chars().take(30).collect();
                HistoryError::Query(format!("{msg}, at `{near}`"))
            }
            rusqlite::Error::MultipleStatement => {
                HistoryError::Query("write one query, without a second after it".to_string())
            }
            rusqlite::Error::InvalidParameterCount(..) => {
                HistoryError::Query("a query has no parameters here; write the values".to_string())
            }
            rusqlite::Error::SqliteFailure(code, Some(message)) if !is_file_error(code.code) => {
                HistoryError::Query(message)
            }
            other => self.explain(&other),
        })
    }

    /// A date such as `2026-11-21`, or a number of days ago such as `30d`, in the stored format.
    pub fn date(&self, text: &str) -> Result<String, HistoryError> {
        let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
        let (from, change) = days.map_or((text, "+0 days".to_string()), |days| ("now", format!("-{days} days")));
        let date = self.connection.query_row("SELECT datetime(?1, ?2)", [from, &change], |row| row.get(0));
        let date: Option<String> = date.map_err(|error| self.explain(&error))?;
        date.ok_or_else(|| HistoryError::Query(format!("`{text}` is not a date; write `2026-11-21` or `30d`")))
    }
}

/// Whether the error is about the file and not about the query.
fn is_file_error(code: ErrorCode) -> bool {
    use ErrorCode::{CannotOpen, DatabaseBusy, DatabaseCorrupt, DatabaseLocked, NotADatabase, SystemIoFailure};
    matches!(code, CannotOpen | DatabaseBusy | DatabaseCorrupt | DatabaseLocked | NotADatabase | SystemIoFailure)
}

fn signature(row: &Row) -> rusqlite::Result<SignatureRow> {
    let (expected_before, expected_since): (f64, f64) = (row.get("expected_before")?, row.get("expected_since")?);
    Ok(SignatureRow {
        signature: row.get("signature")?,
        first_seen: row.get("first_seen")?,
        first_campaign: row.get("first_campaign")?,
        first_candle: row.get("first_candle")?,
        first_snuffer: row.get("first_snuffer")?,
        first_device: row.get("first_device")?,
        last_seen: row.get("last_seen")?,
        last_campaign: row.get("last_campaign")?,
        last_candle: row.get("last_candle")?,
        campaigns: count(row, "campaigns")?,
        cases: count(row, "cases")?,
        expected_before,
        is_new: expected_before >= ENOUGH,
        expected_since,
        is_gone: expected_since >= ENOUGH,
        missed_first: row.get("missed_first")?,
        missed_last: row.get("missed_last")?,
        case: row.get("case")?,
        detail: row.get("detail")?,
    })
}

fn campaign(row: &Row) -> rusqlite::Result<CampaignRow> {
    let (cases, seconds): (u64, f64) = (count(row, "cases")?, row.get("seconds")?);
    Ok(CampaignRow {
        name: row.get("name")?,
        shard: row.get("shard")?,
        begun: row.get("begun")?,
        snuffer: row.get("snuffer")?,
        candle: row.get("candle")?,
        seed: row.get("seed")?,
        imported: row.get("imported")?,
        devices: row.get("devices")?,
        cases,
        failed: count(row, "failed")?,
        seconds,
        rate: if seconds > 0.0 { cases as f64 / seconds } else { 0.0 },
        finished: row.get("finished")?,
        signatures: count(row, "signatures")?,
        new: count(row, "new")?,
    })
}

fn json(value: ValueRef) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        // JSON has no number for it.
        ValueRef::Real(number) if number.is_infinite() => number.to_string().into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => hexadecimal(bytes).into(),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
