//! Bodies that may come from a file.

use serde::Serialize;
use serde_json::value::RawValue;

/// A typed input, or the JSON of a file as it is written: the server names every problem of it, the parser only the first.
#[derive(Debug, Serialize)]
#[serde(untagged)]
pub enum Input<T> {
    Typed(T),
    Json(Box<RawValue>),
}
