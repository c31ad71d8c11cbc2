//! What agents tell those who come after them, in bounds.

use serde_json::{Map, Value};

use super::{AgentName, Problems, Report, ReportResult, Role, Text};

/// How many bytes agents may tell each other on a task.
pub const LARGEST: usize = 64 * 1024;

/// The keys that are told first when there is not room for all.
const FIRST: [&str; 6] = [
    "previousAgent",
    "testStatus",
    "attempts",
    "knownIssues",
    "workCompleted",
    "filesModified",
];

/// The key that says that something was left out.
const CUT: &str = "cut";

/// How many bytes of a final message stand for what was done, where its agent says nothing else.
const WORK: usize = 1000;

/// How much room is worth to tell the beginning of something.
const WORTH_IT: usize = 24;

/// Checks the keys of a context that have a meaning.
pub(super) fn check_context(context: &Map<String, Value>, largest: usize, problems: &mut Problems) {
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

/// Checks the keys of instructions that have a meaning.
pub(super) fn check_instructions(
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

/// How deep values may be nested: readers give up a little above a hundred.
const DEEPEST: usize = 64;

/// Says that something is nested too deep.
pub const TOO_DEEP: &str = "must not be nested deeper than 64 levels";

/// Tells whether a value is nested too deep to be stored.
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

/// Returns what a hand-off leaves behind: what was there, who worked, what was done, and what came out.
pub fn after_handoff(
    context: &Map<String, Value>,
    agent_name: &AgentName,
    role: Option<&Role>,
    report: Option<&Report>,
    // The final message; none if the agent itself has said what it did.
    output: Option<&Text>,
) -> Map<String, Value> {
    let mut after = context.clone();
    let summary = report
        .map(|report| &report.summary)
        .filter(|summary| !summary.is_blank());
    if let Some(work) = summary.or(output).filter(|_| output.is_some()) {
        let work = Text::lossy(work.as_str().trim().to_owned()).beginning(WORK);
        after.insert("workCompleted".to_owned(), work.into_string().into());
    }
    if role.is_some_and(Role::makes) {
        after.insert("testStatus".to_owned(), "pending".into());
    }
    if let (Some(report), true) = (report, role.is_some_and(Role::judges)) {
        after.insert("testStatus".to_owned(), report.result.as_str().into());
        let issues = match report.result {
            ReportResult::Passed => Vec::new(),
            ReportResult::Failed | ReportResult::Blocked => report.issues(),
        };
        after.insert("knownIssues".to_owned(), issues.into());
    }
    if let Some(told) = report.and_then(|report| report.agent_context.as_ref()) {
        after.extend(told.clone());
    }
    // Who worked is not for them to say.
    after.insert("previousAgent".to_owned(), agent_name.as_str().into());
    after
}

/// Returns as much of a context as has room, written as JSON, and says what is left out. What matters most comes first.
pub fn bounded(context: &Map<String, Value>, budget: usize, show: &str) -> Map<String, Value> {
    let whole = size(context);
    if whole <= budget {
        return context.clone();
    }
    let note = Value::String(format!(
        "cut to fit {budget} of {whole} bytes; `{show}` shows all"
    ));
    let mut left = budget.saturating_sub(2 + entry_size(CUT, &note));
    let share = left / 3;
    let mut kept = Map::new();
    for (key, value) in in_order(context) {
        let room = left
            .saturating_sub(entry_size(key, &Value::Null))
            .min(share);
        if let Some(value) = shortened(value, room) {
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

fn in_order(context: &Map<String, Value>) -> impl Iterator<Item = (&String, &Value)> {
    let first = FIRST.iter().filter_map(|key| context.get_key_value(*key));
    let rest = context
        .iter()
        .filter(|(key, _)| !FIRST.contains(&key.as_str()) && *key != CUT);
    first.chain(rest)
}

/// Returns a value, or the beginning of it, that has at most so many bytes as JSON.
fn shortened(value: &Value, room: usize) -> Option<Value> {
    if json_size(value) <= room {
        return Some(value.clone());
    }
    if room < WORTH_IT {
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
            let mut left = room - WORTH_IT.min(room);
            for item in items {
                let Some(item) = shortened(item, left) else {
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

/// Counts the bytes of an object as JSON.
pub fn size(object: &Map<String, Value>) -> usize {
    let entries: usize = object
        .iter()
        .map(|(key, value)| entry_size(key, value))
        .sum();
    2 + entries.saturating_sub(1)
}

/// Counts the bytes of a key, its value, and what stands between.
fn entry_size(key: &str, value: &Value) -> usize {
    let key = serde_json::to_string(key).expect("a key is JSON").len();
    key + json_size(value) + 2
}

fn json_size(value: &Value) -> usize {
    serde_json::to_string(value).expect("a value is JSON").len()
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
        fn a_bounded_context_fits_and_says_what_is_missing(
            context in proptest::collection::btree_map("[a-z\"]{0,30}", any_value(), 0..20),
            budget in 0..4096_usize,
        ) {
            let context: Map<_, _> = context.into_iter().collect();
            let written = |map: &Map<String, Value>| serde_json::to_string(map).unwrap().len();
            prop_assert_eq!(size(&context), written(&context));
            let kept = bounded(&context, budget, "chorus task show x --full");
            prop_assert!(written(&kept) <= budget.max(2));
            if written(&context) <= budget {
                prop_assert_eq!(&kept, &context);
            } else if budget >= 200 {
                prop_assert!(kept.contains_key(CUT));
            }
            prop_assert_eq!(&bounded(&kept, budget, ""), &kept, "what is cut stays as it is");
        }
    }

    #[test]
    fn what_matters_most_is_told_first() {
        let context = map(json!({
            "noise": "n".repeat(5000), "workCompleted": "w".repeat(5000), "knownIssues": ["first", "x".repeat(5000)],
            "previousAgent": "ada", "testStatus": "failed", "attempts": 3,
        }));
        let kept = bounded(&context, 2048, "show");
        assert_eq!(kept["previousAgent"], "ada");
        assert_eq!(kept["testStatus"], "failed");
        assert_eq!(kept["attempts"], 3);
        assert_eq!(kept["knownIssues"][0], "first");
        assert!(kept["workCompleted"].as_str().unwrap().ends_with('…'));
        assert!(kept[CUT].as_str().unwrap().contains("`show` shows all"));
    }

    #[test]
    fn a_hand_off_leaves_what_came_out_of_it() {
        let agent = AgentName::parse("tess").unwrap();
        let testing = Role::parse("testing").unwrap();
        let report: Report = serde_json::from_value(
            json!({ "result": "failed", "summary": "Two of nine fail", "details": { "log": "boom" } }),
        )
        .unwrap();
        let output: Text = "I ran it".parse().unwrap();
        let before = map(json!({ "filesModified": ["a.rs"], "workCompleted": "Wrote it" }));
        let after = after_handoff(
            &before,
            &agent,
            Some(&testing),
            Some(&report),
            Some(&output),
        );
        assert_eq!(
            Value::Object(after),
            json!({
                "filesModified": ["a.rs"], "workCompleted": "Two of nine fail", "previousAgent": "tess",
                "testStatus": "failed", "knownIssues": ["Two of nine fail", "{\"log\":\"boom\"}"],
            })
        );
        let maker = Role::parse("fixing").unwrap();
        let own = after_handoff(&before, &agent, Some(&maker), None, None);
        assert_eq!(own["workCompleted"], "Wrote it");
        assert_eq!(own["testStatus"], "pending");
    }

    #[test]
    fn what_is_nested_too_deep_is_seen() {
        let nested = |depth: usize| (0..depth).fold(json!(1), |inner, _| json!([{ "x": inner }]));
        assert!(!is_too_deep(&nested(DEEPEST / 2)));
        assert!(is_too_deep(&nested(DEEPEST / 2 + 1)));
    }

    #[test]
    fn keys_with_a_meaning_have_their_form() {
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
