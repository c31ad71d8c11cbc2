//! The parameters of operations: a consistent view of the ledger, and a transaction that may change it.

use std::ops::{ControlFlow, Deref};

use super::page::{Gathering, Item};
use super::row::Row;
use super::sql::Statement;
use super::value::Value;
use super::{Result, StoreError};
use crate::domain::{HandoffSpan, Page, Recorded, Rules, Timestamp};

/// An engine's connection inside a transaction.
pub trait Connection {
    /// Returns the number of changed rows.
    fn execute(&self, statement: &'static str, arguments: &[Value<'_>]) -> Result<usize>;
    /// Inserts one row. Returns its number.
    fn insert(&self, statement: &'static str, arguments: &[Value<'_>]) -> Result<i64>;
    /// Passes each row to a function until that returns `Break`.
    fn query(
        &self,
        statement: &'static str,
        arguments: &[Value<'_>],
        each: &mut dyn FnMut(&Row<'_>) -> Result<ControlFlow<()>>,
    ) -> Result<()>;
}

/// A consistent view of the ledger.
#[derive(Clone, Copy)]
pub struct View<'a> {
    connection: &'a dyn Connection,
    pub rules: &'a Rules,
}

impl<'a> View<'a> {
    pub(super) const fn new(connection: &'a dyn Connection, rules: &'a Rules) -> Self {
        Self { connection, rules }
    }

    /// Reads at most one row.
    pub fn row<const N: usize, T>(
        &self,
        statement: Statement<N>,
        arguments: &[Value<'_>; N],
        from_row: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<Option<T>> {
        let (mut from_row, mut found) = (Some(from_row), None);
        self.connection
            .query(statement.text(), arguments, &mut |row| {
                if let Some(from_row) = from_row.take() {
                    found = Some(from_row(row)?);
                }
                Ok(ControlFlow::Break(()))
            })?;
        Ok(found)
    }

    pub fn rows<const N: usize, T>(
        &self,
        statement: Statement<N>,
        arguments: &[Value<'_>; N],
        mut from_row: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.connection
            .query(statement.text(), arguments, &mut |row| {
                all.push(from_row(row)?);
                Ok(ControlFlow::Continue(()))
            })?;
        Ok(all)
    }

    /// Reads the row of a statement that always returns one.
    pub fn one<const N: usize, T>(
        &self,
        statement: Statement<N>,
        arguments: &[Value<'_>; N],
        from_row: impl FnOnce(&Row<'_>) -> Result<T>,
    ) -> Result<T> {
        self.row(statement, arguments, from_row)?.ok_or_else(|| {
            StoreError::inconsistent("a statement that always returns a row returned none")
        })
    }

    /// Whether the statement returns a row.
    pub fn has<const N: usize>(
        &self,
        statement: Statement<N>,
        arguments: &[Value<'_>; N],
    ) -> Result<bool> {
        Ok(self.row(statement, arguments, |_| Ok(()))?.is_some())
    }

    /// Reads rows until they have too many bytes, but at least one.
    pub fn rows_within<const N: usize, T>(
        &self,
        most_bytes: usize,
        statement: Statement<N>,
        arguments: &[Value<'_>; N],
        mut from_row: impl FnMut(&Row<'_>) -> Result<T>,
    ) -> Result<Vec<T>> {
        let (mut some, mut bytes) = (Vec::new(), 0);
        self.connection
            .query(statement.text(), arguments, &mut |row| {
                let read = from_row(row)?;
                bytes += row.bytes();
                if bytes > most_bytes && !some.is_empty() {
                    return Ok(ControlFlow::Break(()));
                }
                some.push(read);
                Ok(ControlFlow::Continue(()))
            })?;
        Ok(some)
    }

    /// Reads up to `limit` rows, or fewer if they are too large for one page. The statement must select one row more than
    /// `limit`, which shows that there is another page.
    pub fn page<const N: usize, T>(
        &self,
        statement: Statement<N>,
        arguments: &[Value<'_>; N],
        limit: u32,
        item: &Item<T>,
    ) -> Result<Page<T>> {
        let mut page = Gathering::new(item, limit);
        self.connection
            .query(statement.text(), arguments, &mut |row| page.take(row))?;
        Ok(page.into_page())
    }

    /// Reads the rows with given numbers, in their order, like [`View::page`]. Each row is read alone, because SQLite would hold
    /// all of them in memory to put them in order.
    pub fn page_of<T>(
        &self,
        statement: Statement<1>,
        numbers: &[i64],
        limit: u32,
        item: &Item<T>,
    ) -> Result<Page<T>> {
        let mut page = Gathering::new(item, limit);
        for number in numbers {
            if page.is_full() {
                page.note_more();
                break;
            }
            let arguments = [Value::Integer(*number)];
            self.connection
                .query(statement.text(), &arguments, &mut |row| page.take(row))?;
        }
        Ok(page.into_page())
    }
}

/// A transaction: a view that may change the ledger, with the events to publish after the commit.
pub struct Tx<'a> {
    view: View<'a>,
    /// The time of the whole transaction. It never goes back while the server runs.
    pub now: Timestamp,
    /// In the order of their rows.
    pub events: Vec<Recorded>,
    /// The hand-offs that ended.
    pub spans: Vec<HandoffSpan>,
}

impl<'a> Deref for Tx<'a> {
    type Target = View<'a>;

    fn deref(&self) -> &View<'a> {
        &self.view
    }
}

impl<'a> Tx<'a> {
    pub(super) const fn new(view: View<'a>, now: Timestamp) -> Self {
        Self {
            view,
            now,
            events: Vec::new(),
            spans: Vec::new(),
        }
    }

    /// Returns the number of changed rows.
    pub fn execute<const N: usize>(
        &self,
        statement: Statement<N>,
        arguments: &[Value<'_>; N],
    ) -> Result<usize> {
        self.view.connection.execute(statement.text(), arguments)
    }

    /// Inserts one row. Returns its number.
    pub fn insert<const N: usize>(
        &self,
        statement: Statement<N>,
        arguments: &[Value<'_>; N],
    ) -> Result<i64> {
        self.view.connection.insert(statement.text(), arguments)
    }
}
