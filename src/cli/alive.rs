//! Signs of life, on standard error while a command waits for an agent. Some programs stop a command that prints nothing for minutes.

use std::time::Duration;

use tokio::sync::watch;

use super::progress::Followed;
use super::ui::{Ui, duration};
use crate::client::Client;
use crate::domain::{Handoff, HandoffId, LiveHandoff, RunState, Timestamp};

/// The most agents of a chain of waiting agents that are named.
const LONGEST_CHAIN: usize = 10;

/// The interval of the signs. A test may shorten it; release builds ignore the variable.
#[cfg(debug_assertions)]
fn interval() -> Duration {
    let millis = std::env::var("CHORUS_TEST_ALIVE_MILLIS").ok();
    let millis = millis.and_then(|millis| millis.parse().ok());
    millis.map_or(Duration::from_secs(30), Duration::from_millis)
}

#[cfg(not(debug_assertions))]
const fn interval() -> Duration {
    Duration::from_secs(30)
}

/// Reports now and then who works, until the future is dropped. A server that is away is no news here.
pub(super) async fn report(ui: Ui, client: &Client, current: &watch::Sender<Followed>) -> ! {
    let client = client.with_patience(None);
    loop {
        tokio::time::sleep(interval()).await;
        let id = current.borrow().handoff.clone();
        if let Some(sign) = sign(&client, &id).await {
            ui.notice(sign);
        }
    }
}

/// Follows the agents that wait for each other down to the one that works.
async fn sign(client: &Client, id: &HandoffId) -> Option<String> {
    let mut chain = Vec::new();
    let mut id = id.clone();
    loop {
        let reply = client.handoffs().get(id.as_str(), 0).await.ok()?;
        let answer = reply.answer().ok()?;
        let (handoff, now) = (answer.data, answer.meta.timestamp);
        let live = handoff.live.as_ref()?;
        match live.waits_for.first() {
            Some(next) if chain.len() < LONGEST_CHAIN => {
                chain.push(format!(
                    "{} waits for {}",
                    handoff.agent_name, next.agent_name
                ));
                id = next.id.clone();
            }
            _ => {
                chain.push(at_work(&handoff, live, now));
                return Some(chain.join("; "));
            }
        }
    }
}

fn at_work(handoff: &Handoff, live: &LiveHandoff, now: Timestamp) -> String {
    let since = |time: Timestamp| duration(now.as_millis() - time.as_millis());
    let (agent, began) = (&handoff.agent_name, since(handoff.started_at));
    match live.run_state {
        Some(RunState::Queued) => format!("{agent} has waited for a free slot for {began}"),
        _ => format!(
            "{agent} has worked for {began}; last progress {} ago",
            since(live.last_progress_at)
        ),
    }
}
