//! A context that was passed on, and changed afterwards.

use serde_json::{Map, Value};

/// Carries a later change of a passed context over to a context that received `before`. A key that the receiver has itself, because
/// it was there before or has another value now, stays.
pub fn follow(
    own: &Map<String, Value>,
    before: &Map<String, Value>,
    after: &Map<String, Value>,
) -> Map<String, Value> {
    let mut followed = own.clone();
    for (key, value) in own {
        let is_passed = before.get(key) == Some(value);
        if is_passed && !after.contains_key(key) {
            followed.shift_remove(key);
        }
    }
    for (key, value) in after {
        if own.get(key) == before.get(key) {
            followed.insert(key.clone(), value.clone());
        }
    }
    followed
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_change_follows_and_the_keys_of_the_receiver_stay() {
        let before = map(json!({ "passed": 1, "gone": 2, "changed": 3, "removed": 4, "same": 5 }));
        let after = map(
            json!({ "passed": 10, "changed": 30, "removed": 40, "same": 5, "new": 6, "own": 70 }),
        );
        let own = map(json!({ "passed": 1, "gone": 2, "changed": 33, "same": 5, "own": 7 }));
        assert_eq!(
            Value::Object(follow(&own, &before, &after)),
            json!({ "passed": 10, "changed": 33, "same": 5, "own": 7, "new": 6 })
        );
        assert_eq!(follow(&map(json!({})), &map(json!({})), &after), after);
        assert_eq!(follow(&own, &after, &after), own);
    }
}
