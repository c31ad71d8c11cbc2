//! Rules of the OpenAPI document that the derived schemas cannot state: rules across fields, distinct items, forbidden paths.
//!
//! A schema cannot state a rule that depends on the installation (existing agents and tasks, the data directory), or on another
//! parameter. The descriptions say these.

use serde_json::{Value, json};
use utoipa::openapi::OpenApi;

/// Returns the document as JSON, with the rules.
pub(super) fn with_rules(document: &OpenApi) -> Value {
    let mut json = serde_json::to_value(document).expect("an OpenAPI document is JSON");
    merge(&mut json["components"]["schemas"], rules());
    json
}

/// Adds the keys of one value to another, on all levels.
fn merge(into: &mut Value, from: Value) {
    match (into, from) {
        (Value::Object(into), Value::Object(from)) => {
            for (key, value) in from {
                merge(into.entry(key).or_insert(Value::Null), value);
            }
        }
        (into, from) => *into = from,
    }
}

/// The rules, by the name of their schema.
fn rules() -> Value {
    let workspace = json!({ "not": { "pattern": r"^[/.]*$|(^|/)\.\.(/|$)|^[/.]*/proc(/|$)" } });
    let dependencies = json!({ "uniqueItems": true });
    json!({
        "TaskInput": { "properties": { "agentWorkspace": workspace, "dependsOn": dependencies } },
        "NeedsChange": { "properties": { "agentWorkspace": workspace, "dependsOn": dependencies } },
        "IncrementInput": { "properties": { "agentWorkspace": workspace } },
        "RequestInput": { "properties": { "agentWorkspace": workspace, "source": source() } },
        "Route": route(),
        "AgentChange": spec_path(),
        "StatusInput": { "properties": { "status": { "not": message_without_failure() } } },
        // A reply joins the thread of its mail.
        "MailInput": { "not": both_given("threadId", "inReplyTo") },
    })
}

/// The source of a request has what its type names, and nothing else.
fn source() -> Value {
    let has = |kind: &str| json!({ "type": "object", "properties": { "sourceType": { "const": kind } }, "required": ["sourceType"] });
    let absent = json!({ "type": "null" });
    json!({ "allOf": [
        { "if": has("task"), "then": { "properties": { "taskId": { "type": "string" } } },
          "else": { "properties": { "taskId": absent } } },
        { "if": has("file"), "then": { "properties": { "file": { "type": "string", "pattern": r"\S" } } },
          "else": { "properties": { "file": absent, "line": absent } } },
    ] })
}

/// A kind rule has commands exactly if it starts external jobs, and only agents take requests together.
fn route() -> Value {
    let has = |mode: &str| json!({ "properties": { "mode": { "const": mode } } });
    let commands =
        |schema: Value| json!({ "properties": { "startCommand": schema, "pollCommand": schema } });
    let program = json!({ "type": "array", "prefixItems": [{ "pattern": "\\S" }] });
    json!({ "allOf": [
        { "if": has("async"), "then": commands(program), "else": commands(json!({ "type": "null" })) },
        { "if": has("agent"), "else": { "properties": { "batch": { "const": false } } } },
    ] })
}

/// Only a command works without a spec.
fn spec_path() -> Value {
    json!({
        "if": {
            "properties": { "provider": { "not": { "const": "command" } } },
            "required": ["provider"],
        },
        "then": { "properties": { "specPath": { "pattern": r"[^/]\.[mM][dD]$" } } },
    })
}

/// Only a failed task has a message.
fn message_without_failure() -> Value {
    json!({
        "type": "object",
        "properties": { "type": { "not": { "const": "failed" } }, "message": { "type": "string" } },
        "required": ["type", "message"],
    })
}

fn both_given(first: &str, second: &str) -> Value {
    let given = json!({ "type": "string" });
    json!({ "properties": { first: given, second: given }, "required": [first, second] })
}
