//! Waiting for the end of an increment.

use crate::cli::ui::{Failure, one_line};
use crate::cli::wait::patient;
use crate::client::{Client, Events, Reply};
use crate::domain::{IncrementState, IncrementTasks};

/// Waits until an increment is no longer active. Survives a restart of the server.
pub(super) async fn until_settled(
    client: &Client,
    id: &str,
) -> Result<Reply<IncrementTasks>, Failure> {
    let client = patient(client, None);
    loop {
        // Subscribing before the first look misses no event in between.
        let mut events = client.events().await?;
        loop {
            let reply = client.increments().get(id).await?;
            if reply.data()?.increment.state != IncrementState::Active {
                return Ok(reply);
            }
            if !next_change(&mut events, id).await {
                break;
            }
        }
    }
}

/// Waits for the next event of an increment. Returns false if the server has gone.
async fn next_change(events: &mut Events, id: &str) -> bool {
    while let Some(event) = events.next().await {
        let about = event.data.get("incrementId");
        if about.is_some_and(|about| about.as_str() == id) {
            return true;
        }
    }
    false
}

/// Builds the failure of a blocked increment.
pub(super) fn blocked(shown: &IncrementTasks) -> Failure {
    let increment = &shown.increment;
    let reason = increment.blocked_by.as_ref();
    let reason = reason.map_or_else(String::new, |reason| one_line(reason.as_str()));
    Failure::new(format!("increment {} is blocked: {reason}", increment.id)).with_hint(format!(
        "see `chorus increment show {0}`; then continue with `chorus increment retry {0}`",
        increment.id
    ))
}
