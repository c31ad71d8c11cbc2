//! Connections to one SQLite file.

use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use rusqlite::types::{ToSql, ToSqlOutput, ValueRef};
use rusqlite::{Connection, OpenFlags, params_from_iter};

use crate::store::row::{Columns, Row};
use crate::store::value::Value;
use crate::store::{Result, StoreError, tx};

/// The time that a connection waits for a lock.
pub(super) const BUSY: Duration = Duration::from_secs(30);

/// The time that the writer waits for a lock. Shorter than the patience of clients, who learn the reason instead.
const WRITER_BUSY: Duration = Duration::from_secs(5);

/// The size of a connection's statement cache.
const PREPARED: usize = 256;

/// Opens a connection with durable commits and enforced foreign keys.
pub(super) fn open(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags)?;
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(PREPARED);
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "full")?;
    connection.pragma_update(None, "foreign_keys", "on")?;
    Ok(connection)
}

pub(super) fn open_writer(path: &Path) -> rusqlite::Result<Connection> {
    let connection = open(path)?;
    connection.busy_timeout(WRITER_BUSY)?;
    // A checkpoint delays the next commit; fewer, larger ones cost less.
    connection.pragma_update(None, "wal_autocheckpoint", 4000)?;
    Ok(connection)
}

pub(super) fn open_reader(path: &Path) -> rusqlite::Result<Connection> {
    let connection = open(path)?;
    connection.pragma_update(None, "query_only", "on")?;
    Ok(connection)
}

impl tx::Connection for Connection {
    fn execute(&self, statement: &'static str, arguments: &[Value<'_>]) -> Result<usize> {
        let mut statement = self.prepare_cached(statement)?;
        Ok(statement.execute(params_from_iter(arguments))?)
    }

    fn insert(&self, statement: &'static str, arguments: &[Value<'_>]) -> Result<i64> {
        let mut statement = self.prepare_cached(statement)?;
        Ok(statement.insert(params_from_iter(arguments))?)
    }

    fn query(
        &self,
        statement: &'static str,
        arguments: &[Value<'_>],
        each: &mut dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()> {
        let mut statement = self.prepare_cached(statement)?;
        let mut rows = statement.query(params_from_iter(arguments))?;
        while let Some(row) = rows.next()? {
            if each(&Row::new(row))?.is_break() {
                break;
            }
        }
        Ok(())
    }
}

impl ToSql for Value<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(ToSqlOutput::Borrowed(match *self {
            Value::Null => ValueRef::Null,
            Value::Integer(number) => ValueRef::Integer(number),
            Value::Real(number) => ValueRef::Real(number),
            Value::Text(text) => ValueRef::Text(text.as_bytes()),
            Value::Blob(bytes) => ValueRef::Blob(bytes),
        }))
    }
}

impl Columns for rusqlite::Row<'_> {
    fn value(&self, column: usize) -> Result<Value<'_>> {
        Ok(match self.get_ref(column)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::Integer(number),
            ValueRef::Real(number) => Value::Real(number),
            ValueRef::Text(text) => {
                Value::Text(std::str::from_utf8(text).map_err(StoreError::inconsistent)?)
            }
            ValueRef::Blob(bytes) => Value::Blob(bytes),
        })
    }
}
