//! What the server does for itself.

use std::path::Path;
use std::time::Duration;

use super::{Engine, Result};
use crate::domain::Timestamp;
use crate::ledger::{Tx, history, idempotency};

/// How long an idempotency key is remembered.
const KEYS_ARE_KEPT: Duration = Duration::from_hours(7 * 24);

/// How often old keys are looked for.
const ROUND: Duration = Duration::from_hours(1);

impl Engine {
    /// Lists what breaks the database's own rules.
    pub async fn problems(&self) -> Result<Vec<String>> {
        Ok(self.db.problems().await?)
    }

    /// Finds when the newest event happened.
    pub async fn newest_event_time(&self) -> Result<Option<Timestamp>> {
        self.read(|view| {
            let newest = history::after(view, history::last_number(view)? - 1, 1)?;
            Ok(newest.first().map(|event| event.timestamp))
        })
        .await
    }

    /// Writes a consistent copy of the database to a file that does not exist yet.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        Ok(self.db.backup(to).await?)
    }

    /// Forgets what is no longer needed, once an hour, until the server stops.
    pub async fn keep_house(self) {
        let mut rounds = tokio::time::interval(ROUND);
        loop {
            tokio::select! {
                () = self.stopping.cancelled() => return,
                _ = rounds.tick() => self.forget_old_keys().await,
            }
        }
    }

    async fn forget_old_keys(&self) {
        let millis = i64::try_from(KEYS_ARE_KEPT.as_millis()).expect("a week is not that long");
        let forget = move |tx: &mut Tx<'_>| idempotency::delete_older_than(tx, millis);
        match self.write(None, forget).await {
            Ok(0) => {}
            Ok(keys) => tracing::info!(keys, "forgot old idempotency keys"),
            Err(error) => tracing::warn!(%error, "cannot forget old idempotency keys"),
        }
    }
}
