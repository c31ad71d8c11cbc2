//! Waits until every line that an agent has printed so far is recorded.
//!
//! The output is read while the agent works, a moment later than it is printed. An agent that passes control on expects that the
//! next agent knows what it said before.

use std::time::Duration;

use tokio::sync::watch as signal;

/// The longest wait. A busy machine or a database that cannot be written must not hold up the transfer for longer.
const LONGEST: Duration = Duration::from_secs(2);

/// The connection between the follower of a run and those who wait for it. Readings are numbered.
#[derive(Debug)]
pub(super) struct Reading {
    asked: signal::Sender<u64>,
    done: signal::Sender<u64>,
}

impl Reading {
    pub fn new() -> Self {
        Self {
            asked: signal::Sender::new(0),
            done: signal::Sender::new(0),
        }
    }

    /// Returns the number of the last reading that somebody waits for.
    pub fn asked(&self) -> u64 {
        *self.asked.borrow()
    }

    /// Waits until somebody waits for a later reading.
    pub async fn until_asked(&self, known: u64) {
        let mut asked = self.asked.subscribe();
        // The sender lives as long as `self`.
        let _ = asked.wait_for(|asked| *asked > known).await;
    }

    /// Ends the wait for this reading: the output was read to its end.
    pub fn finish(&self, asked: u64) {
        self.done.send_replace(asked);
    }

    /// Asks for a reading and waits for it.
    pub async fn catch_up(&self) {
        let mut done = self.done.subscribe();
        let mut number = 0;
        self.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        let caught_up = done.wait_for(|done| *done >= number);
        if tokio::time::timeout(LONGEST, caught_up).await.is_err() {
            tracing::warn!("the output of an agent that passes control on is read too slowly");
        }
    }
}
