//! Limits of a context: bytes and depth.

use serde_json::{Map, Value};

/// How many bytes agents may tell each other on a task.
pub const LARGEST: usize = 64 * 1024;

/// How deep values may be nested: readers give up a little above a hundred.
const DEEPEST: usize = 64;

/// The problem of a value that is nested too deep.
pub const TOO_DEEP: &str = "must not be nested deeper than 64 levels";

/// Checks the nesting of a value against the limit of stored JSON.
pub fn is_too_deep(value: &Value) -> bool {
    fn fits(value: &Value, room: usize) -> bool {
        match value {
            Value::Array(items) => room > 0 && items.iter().all(|item| fits(item, room - 1)),
            Value::Object(map) => room > 0 && map.values().all(|value| fits(value, room - 1)),
            _ => true,
        }
    }
    !fits(value, DEEPEST)
}

/// Counts the bytes of an object as JSON.
pub fn size(object: &Map<String, Value>) -> usize {
    let entries: usize = object
        .iter()
        .map(|(key, value)| entry_size(key, value))
        .sum();
    2 + entries.saturating_sub(1)
}

/// Counts the bytes of a key, its value, and what stands between.
pub(super) fn entry_size(key: &str, value: &Value) -> usize {
    let key = serde_json::to_string(key).expect("a key is JSON").len();
    key + json_size(value) + 2
}

pub(super) fn json_size(value: &Value) -> usize {
    serde_json::to_string(value).expect("a value is JSON").len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_nested_too_deep_is_seen() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([{ "x": inner }]));
        assert!(!is_too_deep(&nested(DEEPEST / 2)));
        assert!(is_too_deep(&nested(DEEPEST / 2 + 1)));
    }
}
