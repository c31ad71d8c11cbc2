//! The API: every endpoint, shape and code. The tree mirrors the URLs.

mod agents;
mod alerts;
mod analytics;
mod attachments;
mod attention;
mod board;
mod bodies;
mod chat;
mod close;
mod connections;
mod dispatch;
mod docs;
mod events;
mod golden;
mod guard;
mod handoffs;
mod health;
mod idempotency;
mod ids;
mod intake;
mod mail;
mod messages;
mod newest;
mod openapi;
mod paging;
mod queue;
mod requests;
mod routing;
mod schema_rules;
mod sessions;
mod sizes;
mod spelling;
mod tasks;
mod tools;
mod waiting;
mod workspaces;

use serde_json::Value;

/// Returns the named fields of an object, for tests that are about these only.
fn pick(object: &Value, fields: &[&str]) -> Value {
    let picked = fields.iter().map(|field| {
        let value = object.get(field);
        let value = value.unwrap_or_else(|| panic!("no field {field} in {object}"));
        ((*field).to_owned(), value.clone())
    });
    Value::Object(picked.collect())
}
