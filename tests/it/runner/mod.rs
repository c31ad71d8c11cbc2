//! Agents as real processes, with scripts in place of models.

mod adoption;
mod agents;
mod cgroups;
mod chat;
mod copies;
mod demo;
mod enforcement;
mod failing_disk;
mod files;
mod masked;
mod nested;
mod outcomes;
mod prompts;
mod providers;
mod queue;
mod reading;
mod resume;
mod scheduling;
mod script;
mod sessions;
mod shortages;
mod stand_ins;
mod stopping;
mod transfers;
mod travel;
mod trees;
mod troubles;
mod worked_examples;
mod worked_session;

use chorus::client::{Client, ClientError};
use chorus::domain::Task;
use chorus::secret::Token;

use crate::support::{Events, Sandbox, Server, last_handoff_id};

const HANDOFF_SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/agent/handoff.sh");

/// Returns the path of a recorded output of an agent program.
fn fixture(name: &str) -> String {
    format!(
        "{}/tests/fixtures/agent-output/{name}",
        env!("CARGO_MANIFEST_DIR")
    )
}

/// Adds agents that print their token and then do nothing.
fn waiting_agents(names: &[&str]) -> Sandbox {
    names.iter().fold(Sandbox::new(), |sandbox, name| {
        sandbox.with_agent(
            name,
            "echo $CHORUS_HANDOFF_ID $CHORUS_TOKEN; exec sleep 600",
        )
    })
}

/// Waits until a waiting agent has printed its token, and returns a client with that token.
async fn client_of_run(server: &Server, events: &mut Events, task: &Task) -> Client {
    client_of_handoff(server, events, &last_handoff_id(task)).await
}

/// Waits until the waiting agent of a hand-off has printed its token, and returns a client with that token.
async fn client_of_handoff(server: &Server, events: &mut Events, handoff_id: &str) -> Client {
    let message = events.wait_for("message_added", handoff_id).await;
    let message = message["data"]["content"].as_str().unwrap().to_owned();
    let token = Token::given(message.split_once(' ').unwrap().1.to_owned());
    Client::new(&server.url, Some(token)).unwrap()
}

/// Returns the status, code and message of a refusal.
fn expect_refusal<T: std::fmt::Debug>(result: Result<T, ClientError>) -> (u16, String, String) {
    match result {
        Err(ClientError::Refused { status, error }) => {
            (status.as_u16(), error.code.clone(), error.message.clone())
        }
        other => panic!("not refused: {other:?}"),
    }
}
