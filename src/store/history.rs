//! The history of campaigns: an `SQLite` index of their records, to query many campaigns at once.
//! The records and findings are the source of truth; the index can be rebuilt from them at any time.

mod causes;
mod import;
mod query;
mod seal;

use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::{Connection, ErrorCode, OpenFlags, Row, TransactionBehavior};
use thiserror::Error;

pub use causes::CauseRow;
pub use query::{Answer, CampaignRow, Filter, SignatureRow, Table};

/// Marks an `SQLite` database as a history: `snuf`, in its header.
const APPLICATION: i64 = 0x736E_7566;

/// The version of the schema.
const VERSION: i64 = 3;

/// All of the schema.
const SCHEMA: [&str; 3] = [include_str!("history/schema.sql"), CAUSES, seal::TABLE];

/// What version 2 added.
const CAUSES: &str = include_str!("history/causes.sql");

/// How long one process waits for a lock of another.
const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Why a query failed.
#[derive(Debug, Error)]
pub enum HistoryError {
    /// The query is wrong.
    #[error("{0}")]
    Query(String),
    /// The file cannot be used; the message says what to do.
    #[error("{0}")]
    File(String),
}

/// An open history.
#[derive(Debug)]
pub struct History {
    path: PathBuf,
    connection: Connection,
}

impl History {
    /// Opens the history at `path`, and creates it if it is missing.
    pub fn open(path: &Path) -> Result<Self, HistoryError> {
        Self::with(path, OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE)
    }

    /// Opens the history at `path`, which must exist, for queries that cannot change it.
    pub fn read_only(path: &Path) -> Result<Self, HistoryError> {
        if !path.is_file() {
            return Err(HistoryError::Query(format!("there is no history at {}", path.display())));
        }
        let mut history = Self::with(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        // A connection that only reads may still write other files, such as with `VACUUM INTO`.
        history.connection.authorizer(Some(only_reads)).map_err(|error| explain(path, &error))?;
        Ok(history)
    }

    fn with(path: &Path, flags: OpenFlags) -> Result<Self, HistoryError> {
        let connect = || -> rusqlite::Result<Connection> {
            let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
            connection.busy_timeout(LOCK_TIMEOUT)?;
            connection.pragma_update(None, "foreign_keys", true)?;
            Ok(connection)
        };
        let connection = connect().map_err(|error| explain(path, &error))?;
        let mut history = Self { path: path.to_path_buf(), connection };
        history.check()?;
        let may_write = flags.contains(OpenFlags::SQLITE_OPEN_READ_WRITE);
        match history.version()? {
            VERSION => history.check_rows()?,
            0 => history.create()?,
            earlier if may_write => history.upgrade(earlier)?,
            earlier => {
                let advice = "name a store with `--store` to update it";
                let path = path.display();
                return Err(HistoryError::File(format!("{path} is a history of version {earlier}: {advice}")));
            }
        }
        Ok(history)
    }

    /// Checks the pages of the file: a damaged index may answer wrongly.
    fn check(&self) -> Result<(), HistoryError> {
        let found: rusqlite::Result<String> = self.connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0));
        match found.map_err(|error| self.explain(&error))?.as_str() {
            "ok" => Ok(()),
            why => Err(damaged(&self.path, &why.replace('\n', " "))),
        }
    }

    /// Checks the rows against their seal.
    fn check_rows(&mut self) -> Result<(), HistoryError> {
        // Another process may write between the two.
        let check = |connection: &mut Connection| seal::is_whole(&*connection.transaction()?);
        let is_whole = check(&mut self.connection).map_err(|error| self.explain(&error))?;
        if is_whole { Ok(()) } else { Err(damaged(&self.path, "its rows do not match their checksum")) }
    }

    /// The version of the schema that the file has; 0 if it is empty, and an error if it holds something else.
    fn version(&self) -> Result<i64, HistoryError> {
        let query = "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master) \
                     FROM pragma_application_id, pragma_user_version";
        let found = self.connection.query_row(query, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)));
        let path = self.path.display();
        match found.map_err(|error| self.explain(&error))? {
            (APPLICATION, version @ 1..=VERSION, _) => Ok(version),
            (0_i64, 0_i64, 0_i64) => Ok(0),
            (APPLICATION, version, _) => Err(HistoryError::File(format!(
                "{path} is a history of version {version}, but this build of snuffer supports {VERSION}: use the snuffer that \
                 wrote it, or another file"
            ))),
            _ => Err(HistoryError::File(format!("{path} is a database, but not a history"))),
        }
    }

    fn create(&mut self) -> Result<(), HistoryError> {
        let make = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another process may have been faster.
            let tables: i64 = transaction.query_row("SELECT count(*) FROM sqlite_master", [], |row| row.get(0))?;
            if tables == 0 {
                transaction.execute_batch(&SCHEMA.concat())?;
                seal::write(&transaction)?;
                transaction.pragma_update(None, "application_id", APPLICATION)?;
                transaction.pragma_update(None, "user_version", VERSION)?;
            }
            transaction.commit()
        };
        make(&mut self.connection).map_err(|error| self.explain(&error))
    }

    /// Adds what an `earlier` version lacks. After version 1, findings are read again, for their causes.
    fn upgrade(&mut self, earlier: i64) -> Result<(), HistoryError> {
        let change = |connection: &mut Connection| -> rusqlite::Result<()> {
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            // Another process may have been faster.
            let version: i64 = transaction.query_row("PRAGMA user_version", [], |row| row.get(0))?;
            if version != earlier {
                return transaction.commit();
            }
            if version == 1 {
                transaction.execute_batch("ALTER TABLE findings ADD COLUMN cause TEXT")?;
                transaction.execute_batch(CAUSES)?;
                transaction.execute("DELETE FROM files WHERE path LIKE '%finding.toml'", [])?;
            }
            transaction.execute_batch(seal::TABLE)?;
            seal::write(&transaction)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
            transaction.commit()
        };
        change(&mut self.connection).map_err(|error| self.explain(&error))
    }

    fn explain(&self, error: &rusqlite::Error) -> HistoryError {
        explain(&self.path, error)
    }
}

/// Allows what a query needs: to read, to compute, and to ask which tables and columns there are.
fn only_reads(asked: AuthContext) -> Authorization {
    const ABOUT_TABLES: [&str; 3] = ["table_info", "table_list", "table_xinfo"];
    match asked.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Function { .. } | AuthAction::Recursive => {
            Authorization::Allow
        }
        AuthAction::Pragma { pragma_name, .. } if ABOUT_TABLES.contains(&pragma_name) => Authorization::Allow,
        _ => Authorization::Deny,
    }
}

/// An error of `SQLite` with the file at `path`, with advice.
fn explain(path: &Path, error: &rusqlite::Error) -> HistoryError {
    // A message may quote a query of several lines.
    let why = error.to_string().replace('\n', " ");
    let shown = path.display();
    HistoryError::File(match error.sqlite_error_code() {
        Some(ErrorCode::NotADatabase | ErrorCode::DatabaseCorrupt) => return damaged(path, &why),
        Some(ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => {
            format!("cannot write {shown} ({why}); is the disk full?")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::CannotOpen | ErrorCode::PermissionDenied) => {
            format!("cannot open {shown} for writing ({why}); `--history FILE` keeps the history elsewhere")
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            format!("{shown} is locked by another process; try again")
        }
        _ => format!("{shown}: {why}"),
    })
}

fn damaged(path: &Path, why: &str) -> HistoryError {
    let advice = "it is only an index of campaign records: delete it, and it is rebuilt";
    HistoryError::File(format!("{} is damaged ({why}); {advice}", path.display()))
}

/// `SQLite` has signed integers only; counts are never negative.
fn count(row: &Row, column: &str) -> rusqlite::Result<u64> {
    row.get::<_, i64>(column).map(i64::unsigned_abs)
}
