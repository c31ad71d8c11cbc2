//! Reads a row of sqlx or of rusqlite by the same code.

use futures_util::{Stream, TryStreamExt};
use serde::de::DeserializeOwned;
use sqlx::Row as _;
use sqlx::sqlite::SqliteRow;

use crate::domain::{Text, Timestamp};
use crate::store::{Page, Result, StoreError};

/// The columns of a row, by place. A NULL where a value must be is an error, not an empty value.
pub(super) trait Columns {
    /// Reads text that may be NULL.
    fn optional_string(&self, column: usize) -> Result<Option<String>>;
    /// Reads an integer that may be NULL.
    fn optional_integer(&self, column: usize) -> Result<Option<i64>>;
    /// Reads a number that may be NULL.
    fn optional_real(&self, column: usize) -> Result<Option<f64>>;

    /// Reads text.
    fn string(&self, column: usize) -> Result<String> {
        self.optional_string(column)?.ok_or_else(|| null(column))
    }

    /// Reads an integer.
    fn integer(&self, column: usize) -> Result<i64> {
        self.optional_integer(column)?.ok_or_else(|| null(column))
    }

    /// Reads a count that may be NULL.
    fn optional_unsigned(&self, column: usize) -> Result<Option<u32>> {
        self.optional_integer(column)?
            .map(|number| u32::try_from(number).map_err(StoreError::inconsistent))
            .transpose()
    }

    /// Reads a count.
    fn unsigned(&self, column: usize) -> Result<u32> {
        self.optional_unsigned(column)?.ok_or_else(|| null(column))
    }

    /// Reads text without NUL characters that may be NULL.
    fn optional_text(&self, column: usize) -> Result<Option<Text>> {
        self.optional_string(column)?
            .map(|text| Text::try_from(text).map_err(StoreError::inconsistent))
            .transpose()
    }

    /// Reads text without NUL characters.
    fn text(&self, column: usize) -> Result<Text> {
        self.optional_text(column)?.ok_or_else(|| null(column))
    }

    /// Reads a time that may be NULL.
    fn optional_timestamp(&self, column: usize) -> Result<Option<Timestamp>> {
        Ok(self.optional_integer(column)?.map(Timestamp::from_millis))
    }

    /// Reads a time.
    fn timestamp(&self, column: usize) -> Result<Timestamp> {
        self.integer(column).map(Timestamp::from_millis)
    }

    /// Reads text that has a form of its own and may be NULL.
    fn optional_parsed<T: TryFrom<String, Error: std::fmt::Display>>(
        &self,
        column: usize,
    ) -> Result<Option<T>> {
        self.optional_string(column)?
            .map(|text| T::try_from(text).map_err(StoreError::inconsistent))
            .transpose()
    }

    /// Reads text that has a form of its own.
    fn parsed<T: TryFrom<String, Error: std::fmt::Display>>(&self, column: usize) -> Result<T> {
        self.optional_parsed(column)?.ok_or_else(|| null(column))
    }

    /// Reads a word of a closed list that may be NULL.
    fn optional_word<T>(&self, column: usize, parse: fn(&str) -> Option<T>) -> Result<Option<T>> {
        self.optional_string(column)?
            .map(|word| {
                parse(&word)
                    .ok_or_else(|| StoreError::inconsistent(format!("unknown word {word:?}")))
            })
            .transpose()
    }

    /// Reads a word of a closed list.
    fn word<T>(&self, column: usize, parse: fn(&str) -> Option<T>) -> Result<T> {
        self.optional_word(column, parse)?
            .ok_or_else(|| null(column))
    }

    /// Reads JSON that may be NULL.
    fn optional_json<T: DeserializeOwned>(&self, column: usize) -> Result<Option<T>> {
        self.optional_string(column)?
            .map(|json| serde_json::from_str(&json).map_err(StoreError::inconsistent))
            .transpose()
    }

    /// Reads JSON.
    fn json<T: DeserializeOwned>(&self, column: usize) -> Result<T> {
        self.optional_json(column)?.ok_or_else(|| null(column))
    }
}

fn null(column: usize) -> StoreError {
    StoreError::inconsistent(format!("NULL in column {column}"))
}

impl Columns for rusqlite::Row<'_> {
    fn optional_string(&self, column: usize) -> Result<Option<String>> {
        Ok(self.get(column)?)
    }

    fn optional_integer(&self, column: usize) -> Result<Option<i64>> {
        Ok(self.get(column)?)
    }

    fn optional_real(&self, column: usize) -> Result<Option<f64>> {
        Ok(self.get(column)?)
    }
}

impl Columns for sqlx::sqlite::SqliteRow {
    fn optional_string(&self, column: usize) -> Result<Option<String>> {
        Ok(self.try_get(column)?)
    }

    fn optional_integer(&self, column: usize) -> Result<Option<i64>> {
        Ok(self.try_get(column)?)
    }

    fn optional_real(&self, column: usize) -> Result<Option<f64>> {
        Ok(self.try_get(column)?)
    }
}

/// Turns rows into what they stand for.
pub(super) fn all<R, T>(rows: &[R], from_row: fn(&R) -> Result<T>) -> Result<Vec<T>> {
    rows.iter().map(from_row).collect()
}

/// How many bytes of text one page has, but for its first item.
const PAGE_BYTES: usize = 16 * 1024 * 1024;

/// What a page is made of.
pub(super) struct Item<T> {
    /// Reads one.
    pub from_row: fn(&SqliteRow) -> Result<T>,
    /// Counts the bytes of its texts.
    pub size: fn(&T) -> usize,
    /// Names it, for the page behind it.
    pub name: fn(&T) -> String,
}

impl<T> Item<T> {
    /// Takes rows until there are so many, or their texts are too large for one answer. One row more than that must come to
    /// tell that there is more.
    pub async fn page(
        &self,
        mut rows: impl Stream<Item = sqlx::Result<SqliteRow>> + Unpin,
        limit: u32,
    ) -> Result<Page<T>> {
        let (mut items, mut bytes) = (Vec::new(), 0);
        while let Some(row) = rows.try_next().await? {
            if items.len() == limit as usize || bytes > PAGE_BYTES {
                let next = items.last().map(self.name);
                return Ok(Page { items, next });
            }
            let item = (self.from_row)(&row)?;
            bytes += (self.size)(&item);
            items.push(item);
        }
        Ok(Page { items, next: None })
    }
}
