//! Follows jobs elsewhere, that the commands of asynchronous routes have started, to their ends.
//!
//! A job is known by its id, which is in the database: after a restart it is asked after again.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Engine, Result};
use crate::domain::{Outcome, RequestId, Text};
use crate::runner::{JobState, ask_after_job};
use crate::store::Job;

/// How long to wait before a list that cannot be read is read again.
const RETRY: Duration = Duration::from_secs(1);

/// How often in a row a command may be unable to answer before its job counts as failed.
const UNANSWERED: u32 = 10;

/// The requests whose jobs are being followed.
type Followed = Arc<Mutex<HashSet<RequestId>>>;

impl Engine {
    /// Follows every job to its end, until the server stops.
    pub async fn follow_jobs(self) {
        let followed = Followed::default();
        let watch = self.feed().watch_requests();
        loop {
            let changed = watch.changed();
            let mut soon = None;
            match self.store.jobs().await {
                Ok(jobs) => {
                    for job in jobs {
                        self.follow_once(job, &followed);
                    }
                }
                Err(error) => {
                    tracing::error!(%error, "cannot find the jobs; trying again");
                    soon = Some(RETRY);
                }
            }
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = changed => {}
                () = tokio::time::sleep(soon.unwrap_or(Duration::MAX)) => {}
            }
        }
    }

    /// Follows a job in the background, unless somebody does already.
    fn follow_once(&self, job: Job, followed: &Followed) {
        let lock = |followed: &Followed, id: &RequestId, begin: bool| {
            let mut followed = followed.lock().unwrap_or_else(PoisonError::into_inner);
            if begin {
                followed.insert(id.clone())
            } else {
                followed.remove(id)
            }
        };
        if !lock(followed, &job.request_id, true) {
            return;
        }
        let (engine, followed) = (self.clone(), followed.clone());
        tokio::spawn(async move {
            let request_id = job.request_id.clone();
            if let Err(error) = engine.follow_job(job).await {
                tracing::error!(%error, %request_id, "cannot follow a job");
            }
            lock(&followed, &request_id, false);
        });
    }

    async fn follow_job(&self, mut job: Job) -> Result<()> {
        let watch = self.feed().watch_request(&job.request_id);
        let mut unanswered = 0;
        loop {
            let changed = watch.changed();
            let end = match ask_after_job(&job).await {
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
                self.store
                    .end_job(job, outcome, Text::lossy(output))
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
            let jobs = self.store.jobs().await?;
            match jobs
                .into_iter()
                .find(|other| (&other.request_id, &other.job_id) == (&job.request_id, &job.job_id))
            {
                Some(current) => job = current,
                None => return Ok(()),
            }
        }
    }
}
