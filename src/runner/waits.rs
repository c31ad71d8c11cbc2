//! Informs supervisors and guards about agents that wait for others, and stops the runs that were cancelled with them.
//!
//! # How it works
//! The ledger knows who waits for whom. After each start and end of a hand-off or run, one loop compares that with what it has told,
//! writes the file of each run whose waits changed, and wakes its supervisor and its guard. Before a run starts, the run that waits for it is told, so
//! that a server that dies right after the start leaves no waiting agent with running limits. The next server tells everything again.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::shortage::on_thread;
use super::{Guard, Runner};
use crate::domain::{RunId, RunState};
use crate::error::with_sources;
use crate::ledger::run::{self, Waiting};
use crate::store::{StoreError, View};
use crate::supervisor::{Order, Waits};

/// The pause between two looks at the ledger.
const PAUSE: Duration = Duration::from_millis(20);

/// The interval of looks without an event, for files that could not be written.
const TICK: Duration = Duration::from_secs(10);

/// The waits that supervisors were told.
#[derive(Debug, Default)]
pub(super) struct Told {
    runs: Mutex<HashMap<RunId, Waits>>,
    look: Notify,
}

impl Runner {
    /// Signals that a wait may have begun without an event.
    pub fn look_at_waits(&self) {
        self.0.told.look.notify_one();
    }

    /// Keeps supervisors and guards informed until the server stops.
    pub(super) async fn follow_waits(self) {
        let watch = self.0.db.feed().watch_slots();
        loop {
            let changed = watch.changed();
            if !self.live().is_empty() {
                match self.tell_waits().await {
                    Ok(()) => {}
                    Err(StoreError::Closed) => return,
                    Err(error) => {
                        tracing::warn!(error = %with_sources(&error), "cannot see which agents wait");
                    }
                }
            }
            tokio::select! {
                () = changed => {}
                () = self.0.told.look.notified() => {}
                () = tokio::time::sleep(TICK) => {}
                () = self.0.stopping.cancelled() => return,
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Compares the waits in the ledger with what the supervisors were told, tells them the changes, and stops cancelled runs.
    pub(super) async fn tell_waits(&self) -> Result<(), StoreError> {
        let live: Vec<_> = self.live().keys().cloned().collect();
        let asked = live.clone();
        let read = move |view: &View<'_>| Ok((run::waits(view)?, run::cancelled_of(view, &asked)?));
        let (waiting, cancelled) = self.0.db.read(read).await?;
        for run_id in cancelled {
            if let Some(guard) = self.guard_of(&run_id) {
                guard.stop();
            }
        }
        let mut wanted: HashMap<RunId, Waits> = live
            .into_iter()
            .map(|run_id| (run_id, Waits::default()))
            .collect();
        for wait in waiting {
            if let Some(waits) = wanted.get_mut(&wait.run_id) {
                add(waits, wait);
            }
        }
        self.told().retain(|run_id, _| wanted.contains_key(run_id));
        for (run_id, waits) in wanted {
            if let Some(guard) = self.guard_of(&run_id) {
                guard.set_waiting(!waits.is_empty());
            }
            if self.told().get(&run_id) != Some(&waits) {
                self.tell(run_id, waits).await;
            }
        }
        Ok(())
    }

    /// Writes the file of a run, and wakes its supervisor. A failed write is repeated with the next look.
    async fn tell(&self, run_id: RunId, waits: Waits) {
        let files = self.files(&run_id);
        let told = waits.clone();
        let write = move || {
            // A run that never waited has no file.
            if told.is_empty() && !files.waits().exists() {
                return Ok(false);
            }
            told.write(&files).map(|()| true)
        };
        match on_thread(write).await.and_then(|written| written) {
            Ok(is_written) => {
                if is_written {
                    self.order(&run_id, Order::Look);
                }
                self.told().insert(run_id, waits);
            }
            Err(error) => {
                tracing::warn!(%error, %run_id, "cannot tell a supervisor what its agent waits for");
            }
        }
    }

    fn guard_of(&self, run_id: &RunId) -> Option<std::sync::Arc<Guard>> {
        self.live().get(run_id).map(|live| live.guard.clone())
    }

    fn told(&self) -> std::sync::MutexGuard<'_, HashMap<RunId, Waits>> {
        let told = self.0.told.runs.lock();
        told.unwrap_or_else(PoisonError::into_inner)
    }
}

/// Adds a wait. Only a launched run has a lock from which its supervisor's end can be told.
fn add(waits: &mut Waits, wait: Waiting) {
    match (wait.awaited_run, wait.awaited_state, wait.is_launched) {
        (Some(run_id), Some(RunState::Running), true) => waits.runs.push(run_id.to_string()),
        _ => waits.others = true,
    }
}
