//! The documented keys of `agentContext` and `handoffInstructions`, which may also be written in `snake_case`.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Documented keys of several words, in camelCase.
const DOCUMENTED: [&str; 20] = [
    "estimatedDuration",
    "estimatedDurationMinutes",
    "estimatedTestDuration",
    "expectedDuration",
    "filesModified",
    "implementationNotes",
    "knownIssues",
    "nextRole",
    "notesFromImplementer",
    "potentialIssues",
    "previousAgent",
    "previousAttempts",
    "previousFailures",
    "reproductionSteps",
    "requiredSkills",
    "testCommand",
    "testScript",
    "testStatus",
    "workCompleted",
    "workDetails",
];

/// A documented key that one object has in both spellings.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("has both `{snake}` and `{camel}`, which are the same key; give one of them")]
pub struct SpelledTwice {
    snake: String,
    camel: &'static str,
}

/// Renames documented keys from `snake_case` to camelCase. Other keys, and nested objects, stay as they are.
pub fn canonical(object: Map<String, Value>) -> Result<Map<String, Value>, SpelledTwice> {
    let is_camel = |key: &String| documented(key).is_none();
    if object.keys().all(is_camel) {
        return Ok(object);
    }
    let written: Vec<_> = object.keys().cloned().collect();
    let mut renamed = Map::new();
    for (key, value) in object {
        match documented(&key) {
            Some(camel) if written.iter().any(|other| other == camel) => {
                return Err(SpelledTwice { snake: key, camel });
            }
            Some(camel) => drop(renamed.insert(camel.to_owned(), value)),
            None => drop(renamed.insert(key, value)),
        }
    }
    Ok(renamed)
}

/// Returns the `snake_case` spelling of a key, if that is another spelling of the same documented key.
pub(in crate::domain) fn other_spelling(key: &str) -> Option<String> {
    DOCUMENTED.contains(&key).then(|| snake(key))
}

/// Returns the camelCase spelling of a documented key in `snake_case`.
fn documented(key: &str) -> Option<&'static str> {
    if !key.contains('_') {
        return None;
    }
    DOCUMENTED.into_iter().find(|camel| snake(camel) == key)
}

fn snake(camel: &str) -> String {
    let mut snake = String::new();
    for letter in camel.chars() {
        if letter.is_ascii_uppercase() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

/// Reads an object with documented keys in either spelling.
pub(crate) fn either_spelling<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Map<String, Value>, D::Error> {
    let object = Map::deserialize(deserializer)?;
    canonical(object).map_err(D::Error::custom)
}

/// Reads an object that may be absent; an explicit null is refused.
pub(in crate::domain) fn present_in_either_spelling<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Map<String, Value>>, D::Error> {
    either_spelling(deserializer).map(Some)
}

/// Reads an object that may be absent or null.
pub(in crate::domain) fn optional_in_either_spelling<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Map<String, Value>>, D::Error> {
    let object = Option::<Map<String, Value>>::deserialize(deserializer)?;
    object.map(canonical).transpose().map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn documented_keys_have_one_spelling_and_keep_their_order() {
        let read = canonical(map(json!({
            "previous_agent": "me", "free_key": 1, "workCompleted": "X", "files_modified": [], "known_issues": [{ "test_status": 1 }],
            "attempts": 2, "_": 0, "work__completed": 3, "Work_Completed": 4, "next_role": "testing",
        })))
        .unwrap();
        assert_eq!(
            serde_json::to_string(&read).unwrap(),
            r#"{"previousAgent":"me","free_key":1,"workCompleted":"X","filesModified":[],"knownIssues":[{"test_status":1}],"attempts":2,"_":0,"work__completed":3,"Work_Completed":4,"nextRole":"testing"}"#
        );
    }

    #[test]
    fn both_spellings_of_one_key_are_refused() {
        for both in [
            json!({ "workCompleted": "a", "work_completed": "b" }),
            json!({ "work_completed": "a", "x": 1, "workCompleted": "a" }),
        ] {
            let refused = canonical(map(both)).unwrap_err();
            assert_eq!(
                refused.to_string(),
                "has both `work_completed` and `workCompleted`, which are the same key; give one of them"
            );
        }
    }

    #[test]
    fn each_documented_key_has_one_other_spelling() {
        for key in DOCUMENTED {
            let snake = other_spelling(key).unwrap();
            assert_eq!(documented(&snake), Some(key));
        }
        assert_eq!(other_spelling("notes"), None);
    }
}
