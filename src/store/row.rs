//! Rows: the columns that a statement names, read in the order in which it names them.
//!
//! [`columns!`](columns) makes a struct, the list of columns that a statement selects for it, and the reading of a row, all of
//! one list; no position is counted by hand.

use std::ops::RangeFrom;

use serde::de::DeserializeOwned;

use super::value::Value;
use super::{Result, StoreError};
use crate::domain::Timestamp;

/// The columns of an engine's row.
pub trait Columns {
    /// Returns the value of a column.
    fn value(&self, column: usize) -> Result<Value<'_>>;
}

/// A row. A NULL where a value must be is an error, not an empty value.
pub struct Row<'a>(&'a dyn Columns);

/// Why a value is not one of the type that it is read as.
pub type Mismatch = String;

/// A type that can be read from a column.
pub trait FromValue: Sized {
    /// Reads a value.
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch>;
}

/// A struct that is read from a row.
pub trait FromRow: Sized {
    /// Reads a row, beginning with its first column.
    fn from_row(row: &Row<'_>) -> Result<Self>;
}

impl<'a> Row<'a> {
    /// Makes a row of an engine's row.
    pub(super) const fn new(columns: &'a dyn Columns) -> Self {
        Self(columns)
    }

    /// Reads a column.
    pub fn get<T: FromValue>(&self, column: usize) -> Result<T> {
        T::from_value(self.0.value(column)?)
            .map_err(|what| StoreError::inconsistent(format!("column {column}: {what}")))
    }

    /// Reads the next column.
    pub fn next<T: FromValue>(&self, columns: &mut RangeFrom<usize>) -> Result<T> {
        self.get(columns.next().unwrap_or_default())
    }
}

/// A value that is stored as JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Json<T>(pub T);

impl<T: DeserializeOwned> FromValue for Json<T> {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
        match value {
            Value::Text(json) => serde_json::from_str(json)
                .map(Self)
                .map_err(|error| error.to_string()),
            other => Err(unexpected("JSON", other)),
        }
    }
}

/// Says that a value is of another type.
pub(super) fn unexpected(wanted: &str, value: Value<'_>) -> Mismatch {
    let found = match value {
        Value::Null => "NULL",
        Value::Integer(_) => "an integer",
        Value::Real(_) => "a number",
        Value::Text(_) => "text",
        Value::Blob(_) => "bytes",
    };
    format!("{found} where {wanted} must be")
}

impl<T: FromValue> FromValue for Option<T> {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
        match value {
            Value::Null => Ok(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl FromValue for i64 {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
        match value {
            Value::Integer(number) => Ok(number),
            other => Err(unexpected("an integer", other)),
        }
    }
}

macro_rules! integers {
    ($($type:ty),+) => {
        $(impl FromValue for $type {
            fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
                let number = i64::from_value(value)?;
                Self::try_from(number).map_err(|_| format!("{number} is out of range"))
            }
        })+
    };
}

integers!(u32, u64, usize);

impl FromValue for bool {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
        Ok(i64::from_value(value)? != 0)
    }
}

impl FromValue for f64 {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
        match value {
            Value::Real(number) => Ok(number),
            other => Err(unexpected("a number", other)),
        }
    }
}

impl FromValue for Timestamp {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
        i64::from_value(value).map(Self::from_millis)
    }
}

impl FromValue for String {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
        match value {
            Value::Text(text) => Ok(text.to_owned()),
            other => Err(unexpected("text", other)),
        }
    }
}

impl FromValue for [u8; 32] {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch> {
        match value {
            Value::Blob(bytes) => bytes.try_into().map_err(|_| "not 32 bytes".to_owned()),
            other => Err(unexpected("bytes", other)),
        }
    }
}

/// Makes a struct of the columns that a statement selects.
///
/// `COLUMNS` is their list, to be written between `SELECT` and `FROM`; [`FromRow`] reads them.
macro_rules! columns {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_meta:meta])* $field_visibility:vis $field:ident: $type:ty = $column:expr),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        $visibility struct $name {
            $($(#[$field_meta])* $field_visibility $field: $type),+
        }

        impl $name {
            /// The columns, in the order of the fields.
            pub const COLUMNS: &'static str = $crate::store::row::columns!(@list $($column),+);
        }

        impl $crate::store::row::FromRow for $name {
            fn from_row(row: &$crate::store::row::Row<'_>) -> $crate::store::Result<Self> {
                let mut columns = 0..;
                $(let $field: $type = row.next(&mut columns)?;)+
                Ok(Self { $($field),+ })
            }
        }
    };
    (@list $first:expr $(, $column:expr)*) => {
        $crate::store::sql::text!($first $(, ", ", $column)*)
    };
}

/// Makes a struct of rows that are packed into one column, as a JSON array of arrays.
///
/// `PACKED` is that column: an aggregate over the rows. They come in any order: an ORDER BY inside of an aggregate makes SQLite
/// build a temporary tree for every row around it.
macro_rules! packed {
    (
        $(#[$meta:meta])*
        $visibility:vis struct $name:ident {
            $($field_visibility:vis $field:ident: $type:ty = $column:expr),+ $(,)?
        }
    ) => {
        $(#[$meta])*
        #[derive(serde::Deserialize)]
        $visibility struct $name {
            $($field_visibility $field: $type),+
        }

        impl $name {
            /// The column that holds all of them.
            pub const PACKED: &'static str = $crate::store::sql::text!(
                "json_group_array(json_array(",
                $crate::store::row::columns!(@list $($column),+),
                "))"
            );
        }
    };
}

pub(crate) use {columns, packed};

/// The most bytes of text that one page has, but for its first item.
pub(super) const LARGEST_PAGE: usize = 16 * 1024 * 1024;

/// What a page is made of.
pub struct Item<T> {
    /// Reads one.
    pub from_row: fn(&Row<'_>) -> Result<T>,
    /// Counts the bytes of its texts.
    pub size: fn(&T) -> usize,
    /// Returns the cursor of the page behind it.
    pub name: fn(&T) -> String,
}
