//! Maintenance: integrity check, backup, and removal of old idempotency keys.

use std::path::Path;
use std::time::Duration;

use super::{Engine, Result};
use crate::domain::Timestamp;
use crate::ledger::{Tx, history, idempotency, installation};

const KEYS_ARE_KEPT: Duration = Duration::from_hours(7 * 24);

const ROUND: Duration = Duration::from_hours(1);

impl Engine {
    /// Fails unless the database can be written and is not known to be damaged.
    pub async fn check_ready(&self) -> Result<()> {
        self.write(None, installation::check_ready).await?;
        Ok(self.db.check_damage().await?)
    }

    /// Returns the reason why queued runs are not started for now.
    pub fn runs_paused(&self) -> Option<String> {
        self.runner.get()?.pause_reason()
    }

    /// Lists violations of the database's integrity rules.
    pub async fn problems(&self) -> Result<Vec<String>> {
        Ok(self.db.problems().await?)
    }

    pub async fn newest_event_time(&self) -> Result<Option<Timestamp>> {
        self.read(|view| {
            let newest = history::after(view, history::last_number(view)? - 1, 1, 0)?;
            Ok(newest.first().map(|event| event.timestamp))
        })
        .await
    }

    /// Writes a consistent copy of the database to a file that does not exist yet.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        Ok(self.db.backup(to).await?)
    }

    /// Deletes old idempotency keys once an hour until the server stops.
    pub async fn expire_idempotency_keys(self) {
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
            Ok(keys) => tracing::info!(keys, "deleted old idempotency keys"),
            Err(error) => {
                tracing::warn!(%error, "cannot delete old idempotency keys; retrying in an hour");
            }
        }
    }
}
