//! Values of arguments and columns, independent of the engine.

use crate::domain::{Text, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Value<'a> {
    Null,
    /// Also a boolean as 0 or 1, and a time in milliseconds.
    Integer(i64),
    Real(f64),
    Text(&'a str),
    Blob(&'a [u8]),
}

/// A type that can be bound to a placeholder.
pub trait ToValue {
    fn to_value(&self) -> Value<'_>;
}

pub fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("words, texts and objects are JSON")
}

/// Builds the arguments of a statement: one per placeholder, in the order of their numbers.
macro_rules! params {
    ($($argument:expr),* $(,)?) => {
        &[$($crate::store::value::ToValue::to_value(&$argument)),*]
    };
}

pub(crate) use params;

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, ToValue::to_value)
    }
}

macro_rules! integers {
    ($($type:ty),+) => {
        $(impl ToValue for $type {
            fn to_value(&self) -> Value<'_> {
                Value::Integer(i64::from(*self))
            }
        })+
    };
}

integers!(bool, u8, u32, i64);

impl ToValue for f64 {
    fn to_value(&self) -> Value<'_> {
        Value::Real(*self)
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self)
    }
}

impl ToValue for [u8; 32] {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl ToValue for Text {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self.as_str())
    }
}

impl ToValue for Timestamp {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.as_millis())
    }
}
