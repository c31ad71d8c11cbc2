//! Excerpts of an agent context that fit a budget.

use serde_json::{Map, Value};

use super::limits::{entry_size, json_size, size};
use crate::domain::Text;

/// The keys that are kept first, in this order.
const FIRST: [&str; 6] = [
    "previousAgent",
    "testStatus",
    "attempts",
    "knownIssues",
    "workCompleted",
    "filesModified",
];

/// The key with the note about the cut.
const CUT: &str = "cut";

/// The smallest room, in bytes, in which a shortened value is still useful.
const MIN_ROOM: usize = 24;

/// The budget and the full size of a context in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cut {
    pub budget: usize,
    pub whole: usize,
}

/// Returns the part of a context that fits the budget as JSON, most important keys first. `note` describes the cut, if
/// there is one.
pub fn excerpt(
    context: &Map<String, Value>,
    budget: usize,
    note: impl FnOnce(Cut) -> String,
) -> Map<String, Value> {
    let whole = size(context);
    if whole <= budget {
        return context.clone();
    }
    let note = Value::String(note(Cut { budget, whole }));
    let mut left = budget.saturating_sub(2 + entry_size(CUT, &note));
    let share = left / 3;
    let mut kept = Map::new();
    for (key, value) in by_importance(context) {
        let room = left
            .saturating_sub(entry_size(key, &Value::Null))
            .min(share);
        if let Some(value) = shorten(value, room) {
            left -= entry_size(key, &value).min(left);
            kept.insert(key.clone(), value);
        }
    }
    kept.insert(CUT.to_owned(), note);
    if size(&kept) > budget {
        return Map::new();
    }
    kept
}

fn by_importance(context: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let first = FIRST.iter().filter_map(|key| context.get_key_value(*key));
    let rest = context
        .iter()
        .filter(|(key, _)| !FIRST.contains(&key.as_str()) && *key != CUT);
    first.chain(rest)
}

/// Shortens a value to at most `room` bytes of JSON.
fn shorten(value: &Value, room: usize) -> Option<Value> {
    if json_size(value) <= room {
        return Some(value.clone());
    }
    if room < MIN_ROOM {
        return None;
    }
    match value {
        Value::String(text) => {
            let text = Text::lossy(text.clone());
            let mut bytes = room;
            loop {
                let beginning = Value::String(text.beginning(bytes).into_string());
                if json_size(&beginning) <= room {
                    return Some(beginning);
                }
                bytes = bytes.checked_sub(bytes / 8 + 1)?;
            }
        }
        Value::Array(items) => {
            let mut kept = Vec::new();
            let mut left = room - MIN_ROOM.min(room);
            for item in items {
                let Some(item) = shorten(item, left) else {
                    break;
                };
                left = left.saturating_sub(json_size(&item) + 1);
                kept.push(item);
            }
            let more = items.len() - kept.len();
            if more > 0 {
                kept.push(format!("… and {more} more").into());
            }
            Some(Value::Array(kept)).filter(|kept| json_size(kept) <= room)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        serde_json::from_value(value).unwrap()
    }

    fn any_value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<i64>().prop_map(Value::from),
            ".{0,200}".prop_map(Value::from),
            "[\"\\\\\n]{0,200}".prop_map(Value::from),
        ];
        leaf.prop_recursive(3, 40, 10, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..10).prop_map(Value::from),
                proptest::collection::btree_map(".{0,20}", inner, 0..5)
                    .prop_map(|map| Value::Object(map.into_iter().collect())),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_excerpt_fits_the_budget_and_notes_the_cut(
            context in proptest::collection::btree_map("[a-z\"]{0,30}", any_value(), 0..20),
            budget in 0..4096_usize,
        ) {
            let context: Map<_, _> = context.into_iter().collect();
            let written = |map: &Map<String, Value>| serde_json::to_string(map).unwrap().len();
            prop_assert_eq!(size(&context), written(&context));
            let note = |cut| format!("{cut:?} and some advice that is about as long as this sentence");
            let kept = excerpt(&context, budget, note);
            prop_assert!(written(&kept) <= budget.max(2));
            if written(&context) <= budget {
                prop_assert_eq!(&kept, &context);
            } else if budget >= 200 {
                prop_assert!(kept.contains_key(CUT));
            }
            prop_assert_eq!(&excerpt(&kept, budget, |_| String::new()), &kept, "an excerpt of an excerpt is the same");
        }
    }

    #[test]
    fn important_keys_are_kept_first() {
        let context = map(json!({
            "noise": "n".repeat(5000), "workCompleted": "w".repeat(5000), "knownIssues": ["first", "x".repeat(5000)],
            "previousAgent": "ada", "testStatus": "failed", "attempts": 3,
        }));
        let whole = size(&context);
        let kept = excerpt(&context, 2048, |cut| {
            format!("{} of {}", cut.budget, cut.whole)
        });
        assert_eq!(kept["previousAgent"], "ada");
        assert_eq!(kept["testStatus"], "failed");
        assert_eq!(kept["attempts"], 3);
        assert_eq!(kept["knownIssues"][0], "first");
        assert!(kept["workCompleted"].as_str().unwrap().ends_with('…'));
        assert_eq!(kept[CUT], format!("2048 of {whole}"));
    }
}
