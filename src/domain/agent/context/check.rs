//! Validation of `agentContext` and `handoffInstructions`.

use serde_json::{Map, Value};

use super::limits::{TOO_DEEP, is_too_deep, size};
use crate::domain::{Problems, Role};

/// Checks the types of the known keys; free keys may have any value.
pub(in crate::domain) fn check_context(
    context: &Map<String, Value>,
    largest: usize,
    problems: &mut Problems,
) {
    check(
        context,
        "agentContext",
        largest,
        problems,
        |key, value| match key {
            "previousAgent" | "workCompleted" | "testStatus" => is_text(value),
            "filesModified" => value
                .as_array()
                .filter(|files| files.iter().all(Value::is_string))
                .map(|_| ())
                .ok_or("must be an array of strings"),
            "knownIssues" => value.as_array().map(|_| ()).ok_or("must be an array"),
            "attempts" => value
                .as_u64()
                .map(|_| ())
                .ok_or("must be a number, 0 or more"),
            _ => Ok(()),
        },
    );
}

/// Checks the types of the known keys; free keys may have any value.
pub(in crate::domain) fn check_instructions(
    instructions: &Map<String, Value>,
    largest: usize,
    problems: &mut Problems,
) {
    check(
        instructions,
        "handoffInstructions",
        largest,
        problems,
        |key, value| match key {
            "nextRole" => match value {
                Value::Null => Ok(()),
                Value::String(role) if Role::parse(role.as_str()).is_ok() => Ok(()),
                _ => Err("must be a role such as `testing`"),
            },
            "expectedDuration" if value.is_number() => Ok(()),
            "testCommand" | "expectedDuration" => is_text(value),
            _ => Ok(()),
        },
    );
}

fn is_text(value: &Value) -> Result<(), &'static str> {
    if value.is_string() || value.is_null() {
        Ok(())
    } else {
        Err("must be a string")
    }
}

fn check(
    object: &Map<String, Value>,
    name: &str,
    largest: usize,
    problems: &mut Problems,
    check_key: impl Fn(&str, &Value) -> Result<(), &'static str>,
) {
    if size(object) > largest {
        problems.add(name, format!("must not be larger than {largest} bytes"));
    }
    if object.values().any(is_too_deep) {
        problems.add(name, TOO_DEEP);
    }
    for (key, value) in object {
        if let Err(message) = check_key(key, value) {
            problems.add(format!("{name}.{key}"), message);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn known_keys_have_fixed_types() {
        let mut problems = Problems::default();
        check_context(
            &map(
                json!({ "filesModified": "a.rs", "attempts": -1, "knownIssues": {}, "previousAgent": 3, "free": 3 }),
            ),
            1000,
            &mut problems,
        );
        check_instructions(
            &map(
                json!({ "nextRole": "No Role", "testCommand": ["x"], "expectedDuration": 15, "notes": [1] }),
            ),
            1000,
            &mut problems,
        );
        let fields: Vec<_> = problems.0.iter().map(|p| p.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "agentContext.filesModified",
                "agentContext.attempts",
                "agentContext.knownIssues",
                "agentContext.previousAgent",
                "handoffInstructions.nextRole",
                "handoffInstructions.testCommand",
            ]
        );
    }
}
