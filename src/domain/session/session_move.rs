//! Moves of a conversation to another agent, validated with all errors at once.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::history::{ConversationHistory, TEXT_PART};
use super::id::SessionId;
use crate::domain::{Agent, AgentName, Problems, Text, match_agent_name};

/// The limit of messages whose problems are listed one by one.
const NAMED_MESSAGES: usize = 20;

/// The nesting limit of a history. Every JSON parser can read it.
const DEEPEST: usize = 64;

const LONGEST_TRACE: usize = 200;

/// The limit of the reason and of the user's goal, in bytes.
const LONGEST_REMARK: usize = 64 * 1024;

const HISTORY: &str = "conversationHistory";

const ROLES: [&str; 4] = ["system", "user", "assistant", "tool"];

/// A valid request to move a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionMove {
    pub session_id: SessionId,
    pub from_agent: AgentName,
    pub to_agent: AgentName,
    pub reason: Text,
    pub user_intent: Text,
    pub conversation_history: ConversationHistory,
    pub harness_trace_id: Option<Text>,
    /// Whether Chorus runs the target.
    pub invoke: bool,
}

const KEYS: [&str; 7] = [
    "fromAgent",
    "toAgent",
    "reason",
    "userIntent",
    "conversationHistory",
    "harnessTraceId",
    "invoke",
];

impl SessionMove {
    /// Validates a request body and reports all errors at once. The history is kept byte for byte.
    pub fn read(
        session_id: &str,
        mut body: BTreeMap<String, Box<RawValue>>,
        agents: &[Agent],
    ) -> Result<Self, Problems> {
        let mut problems = Problems::default();
        let history = body.remove(HISTORY);
        let body = plain_fields(&body, &mut problems);
        let session_id = SessionId::parse(session_id)
            .inspect_err(|error| problems.add("sessionId", error.to_string()));
        let from = required_text(&body, "fromAgent", &mut problems);
        let to = required_text(&body, "toAgent", &mut problems);
        let from_agent = known_agent(from.as_ref(), "fromAgent", agents, &mut problems);
        let to_agent = known_agent(to.as_ref(), "toAgent", agents, &mut problems);
        if let Some(agent) = to_agent.filter(|agent| !agent.available) {
            problems.add("toAgent", format!("{} is not available", agent.name));
        }
        let is_same = match (from_agent, to_agent) {
            (Some(from), Some(to)) => from.name == to.name,
            _ => from.is_some() && from == to,
        };
        if is_same {
            problems.add("toAgent", "must differ from fromAgent");
        }
        let reason = required_text(&body, "reason", &mut problems);
        let user_intent = required_text(&body, "userIntent", &mut problems);
        for (field, text) in [("reason", &reason), ("userIntent", &user_intent)] {
            if text
                .as_ref()
                .is_some_and(|text| text.as_str().len() > LONGEST_REMARK)
            {
                problems.add(
                    field,
                    format!("must not be longer than {LONGEST_REMARK} bytes"),
                );
            }
        }
        let harness_trace_id = match body.get("harnessTraceId") {
            None | Some(Value::Null) => None,
            Some(value) => text(value, "harnessTraceId", &mut problems),
        };
        if let Some(trace) = &harness_trace_id
            && trace.as_str().len() > LONGEST_TRACE
        {
            let message = format!("must not be longer than {LONGEST_TRACE} bytes");
            problems.add("harnessTraceId", message);
        }
        let invoke = match body.get("invoke") {
            None | Some(Value::Null) => true,
            Some(Value::Bool(invoke)) => *invoke,
            Some(_) => {
                problems.add("invoke", "must be true or false");
                true
            }
        };
        check_history(history.as_deref(), &mut problems);
        for key in body.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            problems.add(key, "is not a known field");
        }
        match (
            session_id,
            from_agent,
            to_agent,
            reason,
            user_intent,
            history,
        ) {
            (
                Ok(session_id),
                Some(from),
                Some(to),
                Some(reason),
                Some(user_intent),
                Some(history),
            ) => problems.into_result(|| Self {
                session_id,
                from_agent: from.name.clone(),
                to_agent: to.name.clone(),
                reason,
                user_intent,
                conversation_history: ConversationHistory::from_raw(history),
                harness_trace_id,
                invoke,
            }),
            _ => Err(problems),
        }
    }
}

fn text(value: &Value, field: &str, problems: &mut Problems) -> Option<Text> {
    match value.as_str().map(str::parse::<Text>) {
        Some(Ok(text)) => Some(text),
        Some(Err(error)) => {
            problems.add(field, error.to_string());
            None
        }
        None => {
            problems.add(field, "must be a string");
            None
        }
    }
}

/// Reads a required text that must not be blank.
fn required_text(body: &Map<String, Value>, field: &str, problems: &mut Problems) -> Option<Text> {
    match body.get(field) {
        None | Some(Value::Null) => problems.add(field, "is required and must not be empty"),
        Some(value) => match text(value, field, problems) {
            Some(text) if text.is_blank() => problems.add(field, "must not be empty"),
            text => return text,
        },
    }
    None
}

fn known_agent<'a>(
    asked: Option<&Text>,
    field: &str,
    agents: &'a [Agent],
    problems: &mut Problems,
) -> Option<&'a Agent> {
    let asked = asked?.as_str();
    let names: Vec<_> = agents.iter().map(|agent| agent.name.clone()).collect();
    let found = match_agent_name(asked, &names)
        .and_then(|name| agents.iter().find(|agent| agent.name == *name));
    if found.is_none() {
        let names: Vec<_> = names.iter().map(AgentName::as_str).collect();
        problems.add(
            field,
            format!(
                "unknown agent {asked:?}; the agents are: {}",
                names.join(", ")
            ),
        );
    }
    found
}

/// Parses all fields except the history.
fn plain_fields(
    body: &BTreeMap<String, Box<RawValue>>,
    problems: &mut Problems,
) -> Map<String, Value> {
    let mut fields = Map::new();
    for (key, raw) in body {
        match serde_json::from_str(raw.get()) {
            Ok(value) => {
                fields.insert(key.clone(), value);
            }
            Err(error) => problems.add(key, format!("cannot be parsed: {error}")),
        }
    }
    fields
}

fn check_history(history: Option<&RawValue>, problems: &mut Problems) {
    let json = history.map_or("", RawValue::get);
    let Ok(messages) = serde_json::from_str::<Vec<&RawValue>>(json) else {
        return problems.add(HISTORY, "must be an array of messages");
    };
    if depth(json) > DEEPEST {
        return problems.add(
            HISTORY,
            format!("must not be nested deeper than {DEEPEST} levels"),
        );
    }
    let mut bad = 0;
    for (place, message) in messages.iter().enumerate() {
        let wrong = message_problems(message);
        if wrong.is_empty() {
            continue;
        }
        bad += 1;
        if bad <= NAMED_MESSAGES {
            for (key, message) in wrong {
                problems.add(format!("{HISTORY}[{place}]{key}"), message);
            }
        }
    }
    if bad > NAMED_MESSAGES {
        let more = bad - NAMED_MESSAGES;
        let messages = if more == 1 { "message" } else { "messages" };
        problems.add(HISTORY, format!("and {more} more {messages}"));
    }
}

/// Returns the nesting depth of a JSON text without parsing it.
fn depth(json: &str) -> usize {
    let (mut depth, mut deepest, mut is_text, mut is_escaped) = (0_usize, 0, false, false);
    for byte in json.bytes() {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_text,
            b'"' => is_text = !is_text,
            b'[' | b'{' if !is_text => {
                depth += 1;
                deepest = deepest.max(depth);
            }
            b']' | b'}' if !is_text => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    deepest
}

/// The validated keys of a message; others are ignored.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MessageForm {
    role: Option<Value>,
    #[serde(default, deserialize_with = "given")]
    content: Option<Value>,
    agent_id: Option<Value>,
    timestamp: Option<Value>,
}

/// The limit of the type of a part, in bytes.
const LONGEST_TYPE: usize = 100;

/// Returns the error of a message's content. `None` is an absent content, which differs from null.
fn content_problem(content: Option<Value>) -> Option<(&'static str, String)> {
    let parts = match content {
        Some(Value::String(_) | Value::Null) => return None,
        Some(Value::Array(parts)) => parts,
        _ => {
            let message = "must be a string, an array of parts, or null";
            return Some((".content", message.to_owned()));
        }
    };
    let mut found = parts.iter().enumerate();
    let (place, fault) = found.find_map(|(place, part)| Some((place, part_fault(part)?)))?;
    Some((".content", format!("part {place} {fault}")))
}

fn part_fault(part: &Value) -> Option<String> {
    let Some(part) = part.as_object() else {
        return Some("must be an object with `type`".to_owned());
    };
    match part.get("type").and_then(Value::as_str) {
        None | Some("") => Some("must have a `type`, a string that is not empty".to_owned()),
        Some(kind) if kind.len() > LONGEST_TYPE => Some(format!(
            "must have a `type` of at most {LONGEST_TYPE} bytes"
        )),
        Some(TEXT_PART) if !part.get(TEXT_PART).is_some_and(Value::is_string) => {
            Some("is a text and must have `text`, a string".to_owned())
        }
        Some(_) => None,
    }
}

/// Reads a field that may be null, so that null differs from an absent field.
fn given<'de, D: serde::Deserializer<'de>>(field: D) -> Result<Option<Value>, D::Error> {
    Value::deserialize(field).map(Some)
}

/// Lists the invalid keys of a message, each with its error.
fn message_problems(message: &RawValue) -> Vec<(&'static str, String)> {
    let is_object = message.get().starts_with('{');
    let form = serde_json::from_str(message.get())
        .ok()
        .filter(|_| is_object);
    let Some(MessageForm {
        role,
        content,
        agent_id,
        timestamp,
    }) = form
    else {
        return vec![("", "must be an object with `role` and `content`".to_owned())];
    };
    let mut wrong = Vec::new();
    match role.as_ref().and_then(Value::as_str) {
        Some(role) if ROLES.contains(&role) => {}
        Some(role) => wrong.push((
            ".role",
            format!("unknown role {role:?}; the roles are: {}", ROLES.join(", ")),
        )),
        None => wrong.push((".role", format!("must be one of {}", ROLES.join(", ")))),
    }
    wrong.extend(content_problem(content));
    if !agent_id.is_none_or(|agent| agent.is_string()) {
        wrong.push((".agentId", "must be a string".to_owned()));
    }
    if !timestamp.is_none_or(|time| time.is_i64() || time.is_u64() || time.is_string()) {
        wrong.push((
            ".timestamp",
            "must be milliseconds since the epoch, or text".to_owned(),
        ));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn agents() -> Vec<Agent> {
        ["dojo", "librarian", "asleep"]
            .iter()
            .map(|name| {
                serde_json::from_value(json!({
                    "name": name, "specPath": "", "allowedTools": "", "permissionMode": "",
                    "available": *name != "asleep",
                }))
                .unwrap()
            })
            .collect()
    }

    fn read(session: &str, body: &Value) -> Result<SessionMove, String> {
        let body = serde_json::from_str(&body.to_string()).unwrap();
        SessionMove::read(session, body, &agents()).map_err(|problems| problems.to_string())
    }

    fn good() -> Value {
        json!({
            "fromAgent": "dojo", "toAgent": "librarian", "reason": "r", "userIntent": "u",
            "conversationHistory": [
                { "role": "user", "content": "a\u{0}b\u{1b}", "timestamp": 5, "mood": "good" },
                { "role": "assistant", "content": "", "agentId": "dojo", "timestamp": "2026-01-01T00:00:00Z" },
            ],
        })
    }

    #[test]
    fn a_valid_move_keeps_every_key_of_its_history() {
        let asked = read("sess_1", &good()).unwrap();
        assert!(asked.invoke);
        assert_eq!(
            asked.conversation_history.as_json(),
            good()["conversationHistory"].to_string()
        );
        assert_eq!(
            asked.conversation_history.messages()[0].content.to_text(),
            "a\0b\u{1b}"
        );
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        let problems = read(
            " ",
            &json!({ "fromAgent": "", "toAgent": 3, "conversationHistory": {}, "invoke": "no", "x": 1 }),
        )
        .unwrap_err();
        assert_eq!(
            problems,
            "sessionId: must not be empty; fromAgent: must not be empty; toAgent: must be a string; \
             reason: is required and must not be empty; userIntent: is required and must not be empty; \
             invoke: must be true or false; conversationHistory: must be an array of messages; x: is not a known field"
        );
    }

    #[test]
    fn agents_must_be_known_available_and_different() {
        for (from, to, words) in [
            (
                "nobody",
                "librarian",
                "fromAgent: unknown agent \"nobody\"; the agents are: dojo, librarian, asleep",
            ),
            ("dojo", "nobody", "toAgent: unknown agent"),
            ("dojo", "Dojo", "toAgent: must differ from fromAgent"),
            ("x", "x", "toAgent: must differ from fromAgent"),
            ("dojo", "asleep", "toAgent: asleep is not available"),
        ] {
            let mut body = good();
            body["fromAgent"] = from.into();
            body["toAgent"] = to.into();
            let problems = read("s", &body).unwrap_err();
            assert!(problems.contains(words), "{problems}");
        }
    }

    #[test]
    fn messages_are_checked_one_by_one() {
        let mut body = good();
        body["conversationHistory"] = json!([
            { "role": "user", "content": "fine" }, 7, { "role": "wizard", "content": [{ "type": "text" }] },
            { "content": "x", "agentId": 1, "timestamp": 1.5 },
        ]);
        let problems = read("s", &body).unwrap_err();
        for words in [
            "conversationHistory[1]: must be an object",
            "conversationHistory[2].role: unknown role \"wizard\"; the roles are: system, user",
            "conversationHistory[2].content: part 0 is a text and must have `text`, a string",
            "conversationHistory[3].role: must be one of",
            "conversationHistory[3].agentId: must be a string",
            "conversationHistory[3].timestamp: must be milliseconds",
        ] {
            assert!(problems.contains(words), "{words}: {problems}");
        }
        body["conversationHistory"] = vec![json!(0); 50].into();
        let problems = read("s", &body).unwrap_err();
        assert!(problems.ends_with("and 30 more messages"), "{problems}");
    }

    #[test]
    fn a_history_is_kept_byte_for_byte() {
        let history = r#"[ {"role":"user", "content":"x","big":123456789012345678901234567890,"huge":1e999,"dup":1,"dup":2 }
]"#;
        let mut body: BTreeMap<String, Box<RawValue>> =
            serde_json::from_str(&good().to_string()).unwrap();
        let raw = RawValue::from_string(history.to_owned()).unwrap();
        body.insert(HISTORY.to_owned(), raw);
        let asked = SessionMove::read("s", body, &agents()).unwrap();
        assert_eq!(asked.conversation_history.as_json(), history);
        assert_eq!(asked.conversation_history.messages().len(), 1);
    }

    #[test]
    fn deep_nesting_is_refused() {
        assert_eq!(depth(r#"[{"a":"[[[\"[[","b":[1]}]"#), 3);
        let mut body = good();
        let mut deep = json!(1);
        for _ in 0..80 {
            deep = json!([deep]);
        }
        body["conversationHistory"][0]["more"] = deep;
        let problems = read("s", &body).unwrap_err();
        assert!(problems.contains("nested deeper than 64"), "{problems}");
    }
}
