//! Approved requests are started by themselves, in order, once; and what dies is found.

mod inside;
mod jobs;
mod order;
mod recovery;
mod torture;

use serde_json::{Value, json};

/// Makes a route of a kind to an agent.
fn route(kind: &str, agent: &str, rank: f64) -> Value {
    json!({ "kind": kind, "agent": agent, "rank": rank })
}
