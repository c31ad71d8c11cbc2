//! Patience: requests are sent again while the server is away, such as during a restart, or cannot use its database for a while.

use std::time::Duration;

use tokio::time::Instant;

use super::{Client, ClientError};

/// The pause between two requests to a server that is away.
const PAUSE: Duration = Duration::from_millis(250);

/// The limits of waiting for a server.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// The longest absence of the server. A server that answers, but cannot use its database for now, is not absent.
    pub away: Duration,
    pub deadline: Option<Instant>,
    /// Is called once if the database of the server cannot be used for now.
    pub tell: fn(&ClientError),
}

impl Client {
    /// Returns a client that sends its requests again. Its changes carry an idempotency key, so that a change whose answer was lost
    /// does not happen twice.
    #[must_use]
    pub fn with_patience(&self, patience: impl Into<Option<Patience>>) -> Self {
        let mut client = self.clone();
        client.patience = patience.into();
        client
    }

    pub const fn patience(&self) -> Option<Patience> {
        self.patience
    }
}

/// A wait for the server since the first request that failed.
pub(super) struct Wait {
    patience: Option<Patience>,
    away_since: Option<Instant>,
    is_told: bool,
}

impl Wait {
    pub const fn new(patience: Option<Patience>) -> Self {
        Self {
            patience,
            away_since: None,
            is_told: false,
        }
    }

    /// Pauses before the next request. Returns false without a pause if the error is final or the patience has ended.
    pub async fn after(&mut self, error: &ClientError) -> bool {
        let Some(patience) = self.patience else {
            return false;
        };
        let now = Instant::now();
        if patience.deadline.is_some_and(|deadline| deadline <= now) {
            return false;
        }
        if let ClientError::Unreachable { .. } = error {
            let since = *self.away_since.get_or_insert(now);
            if now - since >= patience.away {
                return false;
            }
        } else if error.may_pass() {
            self.away_since = None;
            if !std::mem::replace(&mut self.is_told, true) {
                (patience.tell)(error);
            }
        } else {
            return false;
        }
        tokio::time::sleep(PAUSE).await;
        true
    }
}
