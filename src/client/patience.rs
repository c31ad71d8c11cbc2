//! Patience: requests are sent again while the server is away, such as during a restart, or cannot use its database for a while.

use std::time::Duration;

use tokio::time::Instant;

use super::{Client, ClientError};

/// The pause between two requests to a server that is away.
const PAUSE: Duration = Duration::from_millis(250);

/// The pause between two notices about the same wait.
const NOTICES: Duration = Duration::from_secs(15);

/// The limits of waiting for a server.
#[derive(Debug, Clone, Copy)]
pub struct Patience {
    /// The longest absence of the server. A server that answers, but cannot use its database for now, is not absent.
    pub away: Duration,
    /// The longest time for which the server answers, but cannot use its database, if there is no deadline.
    pub unusable: Duration,
    pub deadline: Option<Instant>,
    /// Is called at the start of a wait and now and then, with the rest of the time if it is limited.
    pub tell: fn(&ClientError, Option<Duration>),
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
    unusable_since: Option<Instant>,
    told_at: Option<Instant>,
}

impl Wait {
    pub const fn new(patience: Option<Patience>) -> Self {
        Self {
            patience,
            away_since: None,
            unusable_since: None,
            told_at: None,
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
        let rest = if let ClientError::Unreachable { .. } = error {
            let since = *self.away_since.get_or_insert(now);
            let rest = patience.away.saturating_sub(now - since);
            if rest.is_zero() {
                return false;
            }
            Some(rest)
        } else if error.may_pass() {
            self.away_since = None;
            let since = *self.unusable_since.get_or_insert(now);
            let rest = patience.unusable.saturating_sub(now - since);
            let is_limited = patience.deadline.is_none();
            if is_limited && rest.is_zero() {
                return false;
            }
            is_limited.then_some(rest)
        } else {
            return false;
        };
        if self.told_at.is_none_or(|told_at| now - told_at >= NOTICES) {
            self.told_at = Some(now);
            let left = patience.deadline.map(|deadline| deadline - now);
            (patience.tell)(error, rest.into_iter().chain(left).min());
        }
        tokio::time::sleep(PAUSE).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use reqwest::StatusCode;

    use super::*;
    use crate::api::ErrorBody;

    fn refused() -> ClientError {
        ClientError::Refused {
            status: StatusCode::SERVICE_UNAVAILABLE,
            error: Box::new(ErrorBody {
                code: "BUSY".to_owned(),
                message: "The server is busy".to_owned(),
                details: None,
            }),
        }
    }

    #[tokio::test]
    async fn a_server_that_cannot_use_its_database_is_not_waited_for_without_limit() {
        let patience = Patience {
            away: Duration::MAX,
            unusable: PAUSE,
            deadline: None,
            tell: |_, _| {},
        };
        let mut wait = Wait::new(Some(patience));
        assert!(wait.after(&refused()).await);
        // The pause was as long as the limit.
        assert!(!wait.after(&refused()).await);
        let mut wait = Wait::new(Some(Patience {
            unusable: Duration::from_mins(1),
            ..patience
        }));
        assert!(wait.after(&refused()).await && wait.after(&refused()).await);
    }
}
