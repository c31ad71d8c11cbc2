//! Follows jobs elsewhere, that the commands of asynchronous routes have started, to their ends.
//!
//! A job is known by its id, which is in the database: after a restart it is asked after again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};

use super::{Engine, Result};
use crate::domain::{Job, Outcome, RequestId, Text};
use crate::error::Error;
use crate::ledger::request;
use crate::runner::{JobState, ask_after_job};

/// How long to wait before a list that cannot be read is read again.
const RETRY: Duration = Duration::from_secs(1);

/// How often in a row a command may be unable to answer before its job counts as failed.
const UNANSWERED: u32 = 10;

/// How many commands are asked at the same time.
const AT_ONCE: usize = 16;

/// The jobs that are being followed.
#[derive(Default)]
struct Followed {
    jobs: Mutex<HashSet<(RequestId, Text)>>,
    /// Says that one is no longer followed, and another may have its name.
    left: Notify,
}

impl Followed {
    fn jobs(&self) -> MutexGuard<'_, HashSet<(RequestId, Text)>> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Engine {
    /// Follows every job to its end, until the server stops.
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
                    tracing::error!(%error, "cannot find the jobs; trying again");
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

    /// Follows a job in the background, unless somebody does already.
    fn follow_once(&self, job: Job, followed: &Arc<Followed>, asking: &Arc<Semaphore>) {
        let key = (job.request_id.clone(), job.job_id.clone());
        if !followed.jobs().insert(key.clone()) {
            return;
        }
        let (engine, followed, asking) = (self.clone(), followed.clone(), asking.clone());
        tokio::spawn(async move {
            if let Err(error) = engine.follow_job(job, &asking).await {
                tracing::error!(%error, request_id = %key.0, "cannot follow a job; trying again");
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
                ask_after_job(&job).await
            };
            let end = match state {
                JobState::Running => None,
                JobState::Finished(response) => Some((Outcome::Completed, response)),
                JobState::Failed(reason) => Some((Outcome::Failed, reason)),
                JobState::Unknown(reason) => {
                    unanswered += 1;
                    tracing::warn!(request_id = %job.request_id, job_id = %job.job_id, reason, "cannot ask after a job");
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
            // Somebody may have ended it, or changed its route.
            let id = job.request_id.clone();
            match self.read(move |view| request::find_job(view, &id)).await? {
                Some(current) if current.job_id == job.job_id => job = current,
                _ => return Ok(()),
            }
        }
    }
}
