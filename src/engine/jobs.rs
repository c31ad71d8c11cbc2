//! Polls external jobs, started by the commands of asynchronous kind rules, until they end.
//!
//! Job ids are in the database, so polling continues after a restart.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use super::{Engine, Result};
use crate::domain::{Job, Outcome, RequestId, Text};
use crate::error::Error;
use crate::ledger::request;
use crate::runner::{JobState, poll_job};

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// After this many polls without an answer, a job counts as failed.
const UNANSWERED: u32 = 10;

/// The maximum number of poll commands that run concurrently.
const AT_ONCE: usize = 16;

#[derive(Default)]
struct Followed {
    jobs: Mutex<HashSet<(RequestId, Text)>>,
    /// Signals that a job is no longer followed. A new job may have the same id.
    left: Notify,
}

impl Followed {
    fn jobs(&self) -> MutexGuard<'_, HashSet<(RequestId, Text)>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Polls every job to its end, until the server stops.
    pub async fn follow_jobs(self) {
        let followed = Arc::new(Followed::default());
        let asking = Arc::new(Semaphore::new(AT_ONCE));
        let watch = self.feed().watch_requests();
        loop {
            let changed = watch.changed();
            let mut pause = Duration::MAX;
            match self.read(request::list_jobs).await {
                Ok(jobs) => {
                    for job in jobs {
                        self.follow_once(job, &followed, &asking);
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "cannot list the jobs; retrying");
                    pause = RETRY;
                }
            }
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = changed => {}
                () = followed.left.notified() => {}
                () = tokio::time::sleep(pause) => {}
            }
        }
    }

    /// Follows a job in the background, unless it is already followed.
    fn follow_once(&self, job: Job, followed: &Arc<Followed>, asking: &Arc<Semaphore>) {
        let key = (job.request_id.clone(), job.job_id.clone());
        if !followed.jobs().insert(key.clone()) {
            return;
        }
        let (engine, followed, asking) = (self.clone(), followed.clone(), asking.clone());
        tokio::spawn(async move {
            if let Err(error) = engine.follow_job(job, &asking).await {
                tracing::error!(%error, request_id = %key.0, "cannot follow a job; retrying");
                tokio::time::sleep(RETRY).await;
            }
            followed.jobs().remove(&key);
            followed.left.notify_one();
        });
    }

    async fn follow_job(&self, mut job: Job, asking: &Semaphore) -> Result<()> {
        let watch = self.feed().watch_request(&job.request_id);
        let mut unanswered = 0;
        loop {
            let changed = watch.changed();
            let state = {
                let _turn = asking.acquire().await.map_err(Error::internal)?;
                poll_job(&job).await
            };
            let end = match state {
                JobState::Running => None,
                JobState::Finished(response) => Some((Outcome::Completed, response)),
                JobState::Failed(reason) => Some((Outcome::Failed, reason)),
                JobState::Unknown(reason) => {
                    unanswered += 1;
                    tracing::warn!(request_id = %job.request_id, job_id = %job.job_id, reason, "cannot poll a job; check the poll command of its kind");
                    (unanswered >= UNANSWERED).then_some((Outcome::Failed, reason))
                }
            };
            if let Some((outcome, output)) = end {
                let output = Text::lossy(output);
                self.write(None, move |tx| request::end_job(tx, &job, outcome, &output))
                    .await?;
                return Ok(());
            }
            let pause = Duration::from_secs(job.poll_seconds.max(1).into());
            tokio::select! {
                () = self.stopping.cancelled() => return Ok(()),
                () = changed => {}
                () = tokio::time::sleep(pause) => {}
            }
            // The job may have been ended, or its kind rule changed.
            let id = job.request_id.clone();
            match self.read(move |view| request::find_job(view, &id)).await? {
                Some(current) if current.job_id == job.job_id => job = current,
                _ => return Ok(()),
            }
        }
    }
}
