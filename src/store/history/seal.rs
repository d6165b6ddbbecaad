//! The seal of a history: a checksum over all rows, so that a flipped bit in a value is no answer. `SQLite` itself checks the
//! structure of the file alone.

use std::hash::Hasher;

use rusqlite::Connection;
use rusqlite::types::ValueRef;
use siphasher::sip::SipHasher13;

/// Makes the table of the seal, for a history without rows.
pub(super) const TABLE: &str = include_str!("seal.sql");

/// Writes the seal. The rows and their seal belong in one transaction.
pub(super) fn write(connection: &Connection) -> rusqlite::Result<()> {
    let sum = sum(connection)?;
    connection.execute("UPDATE seal SET sum = ?1", [sum]).map(drop)
}

/// True if the rows are those that were sealed.
pub(super) fn is_whole(connection: &Connection) -> rusqlite::Result<bool> {
    let sealed: i64 = connection.query_row("SELECT sum FROM seal", [], |row| row.get(0))?;
    Ok(sealed == sum(connection)?)
}

/// A hash of the schema and of all rows of all tables but the seal.
fn sum(connection: &Connection) -> rusqlite::Result<i64> {
    // A hash that does not change with the release of Rust.
    let mut hasher = SipHasher13::new();
    hash(connection, "SELECT name, sql FROM sqlite_master ORDER BY name", &mut hasher)?;
    let named = "SELECT name FROM sqlite_master WHERE type = 'table' AND name <> 'seal' ORDER BY name";
    let tables: Vec<String> =
        connection.prepare(named)?.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    for table in tables {
        hash(connection, &format!("SELECT * FROM {table} NOT INDEXED"), &mut hasher)?;
    }
    Ok(hasher.finish().cast_signed())
}

fn hash(connection: &Connection, query: &str, hasher: &mut SipHasher13) -> rusqlite::Result<()> {
    let mut query = connection.prepare(query)?;
    let columns = query.column_count();
    let mut rows = query.query([])?;
    while let Some(row) = rows.next()? {
        for column in 0..columns {
            let (kind, bytes) = match row.get_ref(column)? {
                ValueRef::Null => (0, &[][..]),
                ValueRef::Integer(value) => (1, &value.to_le_bytes()[..]),
                ValueRef::Real(value) => (2, &value.to_bits().to_le_bytes()[..]),
                ValueRef::Text(bytes) => (3, bytes),
                ValueRef::Blob(bytes) => (4, bytes),
            };
            hasher.write_u8(kind);
            hasher.write_usize(bytes.len());
            hasher.write(bytes);
        }
    }
    Ok(())
}
