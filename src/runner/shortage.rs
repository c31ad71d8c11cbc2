//! Pauses while the system lacks something that runs need: descriptors, processes, memory, room on the disk, a writable store.
//!
//! # How it works
//! A shortage never ends a run. A run that could not start returns to the queue, and the scheduler pauses until a probe finds
//! enough of everything. A run at work is followed again as soon as possible. The pause has a reason, which `/readyz` shows and
//! the log says once.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{Resources, Runner};
use crate::error::with_sources;
use crate::ledger::installation;
use crate::ledger::run::{self, ClaimedRun};
use crate::store::{StoreError, Tx};
use crate::supervisor::may_pass;

/// The pause before the next attempt.
pub(super) const RETRY: Duration = Duration::from_millis(500);

/// The number of attempts at a write that fails for another reason than a fault of the store.
const MOST_ATTEMPTS: u32 = 10;

/// The first and the longest time between two probes.
const PROBE_AFTER: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(10));

/// A shortage within this time of the last one lengthens the time to the next probe.
const RECENT: Duration = Duration::from_secs(30);

/// The resources of a few runs.
const ENOUGH: Resources = Resources {
    bytes: 256 * 1024,
    descriptors: 24,
    threads: 6,
};

/// The pause of the scheduler.
#[derive(Debug, Default)]
pub(super) struct Pause(Mutex<Paused>);

#[derive(Debug, Default)]
struct Paused {
    reason: Option<String>,
    last: Option<Instant>,
    /// The time of the last line in the log. Short shortages in a row are one.
    told: Option<Instant>,
    probe_after: Duration,
}

/// The server stops, so the next server continues.
#[derive(Debug)]
pub(super) struct Stopping;

impl Pause {
    pub fn reason(&self) -> Option<String> {
        self.lock().reason.clone()
    }

    fn begin(&self, reason: String) {
        let mut paused = self.lock();
        let is_recent = paused.last.is_some_and(|last| last.elapsed() < RECENT);
        let (first, longest) = PROBE_AFTER;
        paused.probe_after = if is_recent {
            (paused.probe_after * 2).min(longest)
        } else {
            first
        };
        paused.last = Some(Instant::now());
        if paused.reason.is_none() && paused.told.is_none_or(|told| told.elapsed() > RECENT) {
            tracing::warn!(reason, "runs are paused");
            paused.told = Some(Instant::now());
        }
        paused.reason = Some(reason);
    }

    pub fn end(&self) {
        if self.lock().reason.take().is_some() {
            tracing::info!("runs continue");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Paused> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Runner {
    /// Returns the reason why queued runs are not started.
    pub fn pause_reason(&self) -> Option<String> {
        self.0.pause.reason()
    }

    /// Pauses the scheduler until a probe succeeds.
    pub(super) fn pause(&self, reason: String) {
        self.0.pause.begin(reason);
        self.wake();
    }

    /// Waits until the shortage is over.
    pub(super) async fn wait_for_resources(&self) -> Result<(), Stopping> {
        while self.pause_reason().is_some() {
            let probe_after = self.0.pause.lock().probe_after;
            self.rest(probe_after).await?;
            match self.probe().await {
                Ok(()) => return Ok(()),
                Err(reason) => self.0.pause.begin(reason),
            }
        }
        Ok(())
    }

    async fn probe(&self) -> Result<(), String> {
        let runs = self.0.options.data_dir.runs();
        let probe = move || {
            std::fs::create_dir_all(&runs)?;
            ENOUGH.probe(&runs)
        };
        let probed = on_thread(probe).await;
        probed
            .and_then(|probed| probed)
            .map_err(|error| error.to_string())?;
        let written = self.0.db.write(installation::check_ready).await;
        written.map_err(|error| with_sources(&error))
    }

    /// Returns a run that could not start to the queue, and pauses.
    pub(super) async fn requeue(&self, run: &ClaimedRun, reason: String) -> Result<(), Stopping> {
        self.pause(reason.clone());
        let id = run.identity.run_id.clone();
        self.write_patiently("return a run to the queue", move || {
            let (id, reason) = (id.clone(), reason.clone());
            move |tx: &mut Tx<'_>| run::requeue(tx, &id, &reason)
        })
        .await
        .map(|_| ())
    }

    /// Like [`Self::requeue`], for a run whose files alone show that its agent never began. Returns false if the run must end.
    pub(super) async fn requeue_unproven(
        &self,
        run: &ClaimedRun,
        reason: &str,
    ) -> Result<bool, Stopping> {
        let make = || {
            let (id, reason) = (run.identity.run_id.clone(), reason.to_owned());
            move |tx: &mut Tx<'_>| run::requeue_unproven(tx, &id, &reason)
        };
        let requeued = self.write_patiently("return a run to the queue", make);
        let is_requeued = requeued.await?.unwrap_or(false);
        if is_requeued {
            self.pause(reason.to_owned());
        }
        Ok(is_requeued)
    }

    /// Repeats a write while the store cannot be used. Returns `None` if the write fails for good.
    pub(super) async fn write_patiently<T: Send + 'static, F>(
        &self,
        what: &'static str,
        mut make: impl FnMut() -> F,
    ) -> Result<Option<T>, Stopping>
    where
        F: FnMut(&mut Tx<'_>) -> crate::store::Result<T> + Send + 'static,
    {
        let (mut is_told, mut attempts) = (false, 0);
        loop {
            match self.0.db.write(make()).await {
                Ok(value) => return Ok(Some(value)),
                Err(StoreError::Closed) => return Err(Stopping),
                Err(error) => {
                    let error_text = with_sources(&error);
                    attempts += 1;
                    if error.fault().is_none() && attempts == MOST_ATTEMPTS {
                        tracing::error!(error = error_text, "cannot {what}");
                        return Ok(None);
                    }
                    if !std::mem::replace(&mut is_told, true) {
                        tracing::warn!(error = error_text, "cannot {what}; retrying");
                    }
                }
            }
            self.rest(RETRY).await?;
        }
    }

    /// Repeats an attempt while the system lacks something for it.
    pub(super) async fn patiently<T>(
        &self,
        what: &'static str,
        attempt: impl FnMut() -> std::io::Result<T> + Send,
    ) -> Result<std::io::Result<T>, Stopping> {
        patiently(&self.0.stopping, what, attempt).await
    }

    pub(super) async fn rest(&self, time: Duration) -> Result<(), Stopping> {
        rest(&self.0.stopping, time).await
    }
}

/// Repeats an attempt while the system lacks something for it.
pub(super) async fn patiently<T>(
    stopping: &CancellationToken,
    what: &'static str,
    mut attempt: impl FnMut() -> std::io::Result<T> + Send,
) -> Result<std::io::Result<T>, Stopping> {
    let mut is_told = false;
    loop {
        match attempt() {
            Err(error) if may_pass(&error) => {
                if !std::mem::replace(&mut is_told, true) {
                    tracing::warn!(%error, "cannot {what}; retrying");
                }
            }
            result => return Ok(result),
        }
        rest(stopping, RETRY).await?;
    }
}

async fn rest(stopping: &CancellationToken, time: Duration) -> Result<(), Stopping> {
    tokio::select! {
        () = stopping.cancelled() => Err(Stopping),
        () = tokio::time::sleep(time) => Ok(()),
    }
}

/// Runs blocking work on a thread of its own. The pool of the async runtime panics if it cannot start a thread.
pub(super) async fn on_thread<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> std::io::Result<T> {
    let (sender, done) = oneshot::channel();
    std::thread::Builder::new()
        .name("chorus-work".into())
        .spawn(move || {
            // The receiver may be gone.
            let _ = sender.send(work());
        })?;
    done.await
        .map_err(|_| std::io::Error::other("the work panicked"))
}

#[cfg(test)]
mod tests {
    use std::io::{Error, ErrorKind};

    use rustix::io::Errno;

    use super::*;

    #[tokio::test]
    async fn an_attempt_that_a_shortage_prevents_is_repeated_until_the_server_stops() {
        let stopping = CancellationToken::new();
        let mut errors = vec![Error::from(Errno::MFILE)];
        let attempt = || errors.pop().map_or(Ok(7), Err);
        let done = patiently(&stopping, "try", attempt).await.unwrap();
        assert_eq!(done.unwrap(), 7);
        let failed: Result<std::io::Result<()>, _> =
            patiently(&stopping, "try", || Err(ErrorKind::NotFound.into())).await;
        assert_eq!(failed.unwrap().unwrap_err().kind(), ErrorKind::NotFound);
        let attempt = || {
            stopping.cancel();
            Err(Error::from(Errno::MFILE))
        };
        let stopped: Result<std::io::Result<()>, _> = patiently(&stopping, "try", attempt).await;
        assert!(stopped.is_err());
    }
}
