//! The questions that a history answers: signatures, campaigns, and whatever SQL says.

use rusqlite::types::ValueRef;
use rusqlite::{ErrorCode, Row, named_params};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use super::{History, HistoryError};

/// From how many expected sightings on it says something that there was none: by chance one time in twenty.
const ENOUGH: f64 = 3.0;

/// Which rows are wanted.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    /// Only signatures of ops whose name matches.
    pub op: Option<String>,
    /// Only signatures of this kind, such as `assert` or `wrong value`.
    pub kind: Option<String>,
    /// Only what happened since: signatures first seen, or gone, and campaigns begun.
    pub since: Option<String>,
    /// Only signatures that are gone.
    pub gone: bool,
}

/// What a history answers.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// Of `snuffer history`.
    Signatures(Vec<SignatureRow>),
    /// Of `snuffer history --campaigns`.
    Campaigns(Vec<CampaignRow>),
    /// Of `snuffer history --sql`.
    Table(Table),
}

/// A signature in all campaigns. Dates are in UTC.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SignatureRow {
    /// The signature, as findings are named.
    pub signature: String,
    /// When the first campaign that met it began.
    pub first_seen: String,
    /// That campaign.
    pub first_campaign: String,
    /// The candle that it ran.
    pub first_candle: String,
    /// The snuffer that it was.
    pub first_snuffer: String,
    /// The devices that it charged the failure to.
    pub first_device: String,
    /// When the last campaign that met it began.
    pub last_seen: String,
    /// That campaign.
    pub last_campaign: String,
    /// The candle that it ran.
    pub last_candle: String,
    /// How many campaigns met it.
    pub campaigns: u64,
    /// In how many cases.
    pub cases: u64,
    /// How often it would have been met before it first was, had it failed as often as since.
    pub expected_before: f64,
    /// Whether that is often enough to say that it is new.
    pub is_new: bool,
    /// How often it would have been met since it last was, had it gone on to fail as often.
    pub expected_since: f64,
    /// Whether that is often enough to say that it is gone.
    pub is_gone: bool,
    /// When the first campaign began that hunted its op alike after it was last seen, and did not meet it.
    pub missed_first: Option<String>,
    /// When the last such campaign began.
    pub missed_last: Option<String>,
    /// The finding's minimized case in one line, where a store has it.
    pub case: Option<String>,
    /// What is wrong with it.
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
    /// The snuffer that it was.
    pub snuffer: String,
    /// The candle that it ran.
    pub candle: String,
    /// The seed.
    pub seed: String,
    /// Whether its cases were given and not drawn.
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
    /// Whether it ended by itself.
    pub finished: bool,
    /// How many signatures it met.
    pub signatures: u64,
    /// How many of them no campaign before it did.
    pub new: u64,
}

/// Rows of any query.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Table {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// A row has a number, text or null for each of them; a blob is its bytes in hexadecimal.
    pub rows: Vec<Vec<Value>>,
}

impl History {
    /// The signatures, those first that were first seen last.
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
            let given = named_params! { ":op": op, ":kind": kind, ":since": since, ":gone": gone, ":enough": ENOUGH };
            query.query_map(given, signature)?.collect()
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

    /// What a query of the caller's answers. Ask it of a history that is [`History::read_only`].
    pub fn sql(&self, text: &str) -> Result<Table, HistoryError> {
        let ask = || -> rusqlite::Result<Table> {
            let mut query = self.connection.prepare(text)?;
            let columns: Vec<String> = query.column_names().map(ToString::to_string).collect();
            let row = |row: &Row| (0..columns.len()).map(|index| Ok(json(row.get_ref(index)?))).collect();
            let rows = query.query_map([], row)?.collect::<Result<_, _>>()?;
            Ok(Table { columns, rows })
        };
        ask().map_err(|error| match error {
            rusqlite::Error::SqlInputError { msg, sql, offset, .. } => {
                let near: String = sql.get(offset.max(0) as usize..).unwrap_or_default().chars().take(30).collect();
                HistoryError::Question(format!("{msg}, at `{near}`"))
            }
            rusqlite::Error::SqliteFailure(code, Some(message)) if !is_of_the_file(code.code) => {
                HistoryError::Question(message)
            }
            other => self.explain(&other),
        })
    }

    /// A day, such as `2026-11-21`, or one that is days ago, `30d`, as dates are stored.
    pub fn date(&self, text: &str) -> Result<String, HistoryError> {
        let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
        let (from, change) = days.map_or((text, "+0 days".to_string()), |days| ("now", format!("-{days} days")));
        let date = self.connection.query_row("SELECT datetime(?1, ?2)", [from, &change], |row| row.get(0));
        let date: Option<String> = date.map_err(|error| self.explain(&error))?;
        date.ok_or_else(|| HistoryError::Question(format!("`{text}` is no date; write `2026-11-21` or `30d`")))
    }
}

/// Whether an error is the file's, and not one of the query.
fn is_of_the_file(code: ErrorCode) -> bool {
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

/// `SQLite`'s integers have a sign; no count is below 0.
fn count(row: &Row, column: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}

fn json(value: ValueRef) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(number) => number.into(),
        ValueRef::Real(number) => number.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => hexadecimal(bytes).into(),
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}
