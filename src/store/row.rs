//! Rows, read column by column in the order of the statement.
//!
//! [`columns!`](columns) generates a struct, its list of columns and its reader from one list, so that nobody counts positions
//! by hand.

use std::cell::Cell;
use std::ops::RangeFrom;

use serde::de::DeserializeOwned;

use super::value::Value;
use super::{Result, StoreError};
use crate::domain::Timestamp;

/// A row of an engine.
pub trait Columns {
    fn value(&self, column: usize) -> Result<Value<'_>>;
}

/// A row. An unexpected NULL is an error, not an empty value.
pub struct Row<'a> {
    columns: &'a dyn Columns,
    bytes: Cell<usize>,
}

/// The reason why a value does not have the expected type.
pub type Mismatch = String;

pub trait FromValue: Sized {
    fn from_value(value: Value<'_>) -> std::result::Result<Self, Mismatch>;
}

pub trait FromRow: Sized {
    /// Reads a row from its first column on.
    fn from_row(row: &Row<'_>) -> Result<Self>;
}

impl<'a> Row<'a> {
    pub(super) const fn new(columns: &'a dyn Columns) -> Self {
        Self {
            columns,
            bytes: Cell::new(0),
        }
    }

    /// Counts the bytes of the columns that were read.
    pub const fn bytes(&self) -> usize {
        self.bytes.get()
    }

    pub fn get<T: FromValue>(&self, column: usize) -> Result<T> {
        let value = self.columns.value(column)?;
        let size = match value {
            Value::Text(text) => text.len(),
            Value::Blob(bytes) => bytes.len(),
            Value::Null | Value::Integer(_) | Value::Real(_) => size_of::<i64>(),
        };
        self.bytes.set(self.bytes.get() + size);
        T::from_value(value)
            .map_err(|what| StoreError::inconsistent(format!("column {column}: {what}")))
    }

    pub fn next<T: FromValue>(&self, columns: &mut RangeFrom<usize>) -> Result<T> {
        self.get(columns.next().unwrap_or_default())
    }
}

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

pub(super) fn unexpected(wanted: &str, value: Value<'_>) -> Mismatch {
    let found = match value {
        Value::Null => "NULL",
        Value::Integer(_) => "an integer",
        Value::Real(_) => "a number",
        Value::Text(_) => "text",
        Value::Blob(_) => "bytes",
    };
    format!("found {found}, expected {wanted}")
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

/// Declares a struct with one field per selected column.
///
/// `COLUMNS` is the list for the SELECT clause; [`FromRow`] reads it.
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

/// Declares a struct for rows that are packed into one column, as a JSON array of arrays.
///
/// `PACKED` is that column: an aggregate over the rows. The rows are unordered, because an ORDER BY inside an aggregate makes
/// SQLite build a temporary b-tree for every outer row.
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
            /// The aggregate column with all rows.
            pub const PACKED: &'static str = $crate::store::sql::text!(
                "json_group_array(json_array(",
                $crate::store::row::columns!(@list $($column),+),
                "))"
            );
        }
    };
}

pub(crate) use {columns, packed};
