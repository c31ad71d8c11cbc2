//! Limits of an agent context: bytes and nesting.

use serde_json::{Map, Value};

/// The default limit of `agentContext` and of `handoffInstructions` in bytes.
pub const LARGEST: usize = 64 * 1024;

/// Many JSON parsers stop a little above a depth of 100.
const DEEPEST: usize = 64;

pub const TOO_DEEP: &str = "must not be nested deeper than 64 levels";

/// Whether a value is nested too deep to be stored.
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

/// Counts the bytes of an object as compact JSON.
pub fn size(object: &Map<String, Value>) -> usize {
    let entries: usize = object
        .iter()
        .map(|(key, value)| entry_size(key, value))
        .sum();
    2 + entries.saturating_sub(1)
}

/// Counts the bytes of an entry with its colon and comma.
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
    fn deep_nesting_is_detected() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([{ "x": inner }]));
        assert!(!is_too_deep(&nested(DEEPEST / 2)));
        assert!(is_too_deep(&nested(DEEPEST / 2 + 1)));
    }
}
