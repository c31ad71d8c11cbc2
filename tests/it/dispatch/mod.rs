//! The dispatcher starts approved requests in order and once, and recovers those whose agents die.

mod inside;
mod jobs;
mod offers;
mod order;
mod recovery;
mod torture;

use serde_json::{Value, json};

use crate::support::{Sandbox, Server};

fn kind_rule(kind: &str, agent: &str, rank: f64) -> Value {
    json!({ "kind": kind, "agent": agent, "rank": rank })
}

/// Starts a server that dispatches without delay.
fn serve(sandbox: &Sandbox, max_runs: u32) -> Server {
    sandbox.serve_with(max_runs, &["--port", "0", "--debounce-seconds", "0"])
}
