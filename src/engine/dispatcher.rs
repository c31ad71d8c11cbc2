//! Starts approved requests.
//!
//! # How it works
//! All state is in the database. A round expires abandoned claims, renews the leases of agents that this server runs, and starts
//! approved requests. It starts them only after a quiet period without new approvals (the debounce), so that requests approved
//! together are compared and the most urgent goes first. It starts no more requests than there are free slots, so that a
//! more urgent request approved later can overtake. The claim, the task and the hand-off are one transaction: after a crash, a request
//! is either still waiting or claimed by a recorded hand-off. The outcome of a request is decided in the transaction that ends
//! its hand-off. A round runs on an event or when the next deadline is due, never as a poll.

use std::collections::HashSet;
use std::time::Duration;

use futures_util::future::join_all;

use super::{DispatcherOptions, Engine, Result, dispatch_prompt, templates};
use crate::domain::{
    Door, Due, HandoffId, Idempotency, KindRule, Request, RequestId, RequestQuery, RequestState,
    TaskId, Timestamp,
};
use crate::error::{Error, with_sources};
use crate::ledger::request::{self, Dispatch, Overview, kind_rules};
use crate::ledger::run;
use crate::runner::follow_in_tmux;

/// The maximum number of requests in one hand-off.
const LARGEST_BATCH: u32 = 20;

/// The maximum number of requests that are started concurrently.
const MOST_AT_ONCE: u32 = 64;

/// A request waits for at most this many debounces while new approvals keep arriving.
const PATIENCE: u32 = 10;

/// The pause when nothing is due.
const LONG: Duration = Duration::from_hours(1);

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// The result of starting requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start {
    /// The requests are handed off.
    Done,
    /// The requests keep waiting.
    Left,
    /// An error occurred; the next round retries.
    Failed,
}

/// When the next round is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Round {
    pub next: Duration,
    /// Whether a freed slot should start the next round early.
    pub waits_for_slot: bool,
}

/// The dispatcher and the requests that concern it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DispatcherStatus {
    pub enabled: bool,
    pub max_runs: u32,
    pub debounce: Duration,
    pub requests: Overview,
}

impl DispatcherOptions {
    /// Whether approved requests are started. Without run slots, their hand-offs would never run.
    const fn starts(&self) -> bool {
        self.enabled && self.max_runs > 0
    }
}

impl Engine {
    /// Starts approved requests and expires abandoned claims until the server stops.
    pub async fn dispatch_requests(self, options: DispatcherOptions) {
        // An error means that the dispatcher is already running.
        let _ = self.dispatcher.set(options.clone());
        let (requests, slots) = (self.feed().watch_requests(), self.feed().watch_slots());
        loop {
            let (changed, freed) = (requests.changed(), slots.changed());
            let round = match self.dispatch_round(&options).await {
                Ok(round) => round,
                Err(error) => {
                    tracing::error!(error = %with_sources(&error), "cannot start approved requests; retrying");
                    Round {
                        next: RETRY,
                        waits_for_slot: false,
                    }
                }
            };
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = changed => {}
                () = freed, if round.waits_for_slot => {}
                () = tokio::time::sleep(round.next) => {}
            }
        }
    }

    /// Does everything that is due now.
    pub async fn dispatch_round(&self, options: &DispatcherOptions) -> Result<Round> {
        let now = self.clock().now();
        let mut due = self.read(request::due).await?;
        if due.lease.is_some_and(|lease| lease <= now) {
            while self.write(None, request::expire_leases).await? > 0 {}
            due = self.read(request::due).await?;
        }
        let lease = Duration::from_secs(self.limits().lease);
        if let Some(kept) = due.kept_lease
            && until(kept, now) < lease / 2
        {
            self.write(None, move |tx| request::renew_leases(tx, millis(lease)))
                .await?;
            due = self.read(request::due).await?;
        }
        let mut next = LONG;
        let mut waits_for_slot = false;
        if let Some(ends) = due.lease {
            next = next.min(until(ends, now));
        }
        if let Some(ends) = due.kept_lease {
            next = next.min(until(ends, now).saturating_sub(lease / 2));
        }
        if let Some(starts) = starts_at(&due, options.debounce)
            && options.starts()
        {
            if starts <= now {
                waits_for_slot = true;
                if self.start_requests(options).await? == Start::Failed {
                    next = next.min(RETRY);
                }
            } else {
                next = next.min(until(starts, now));
            }
        }
        Ok(Round {
            next,
            waits_for_slot,
        })
    }

    /// Starts waiting requests while slots are free. If no slot is free, one request is queued for the next slot.
    async fn start_requests(&self, options: &DispatcherOptions) -> Result<Start> {
        let rules = self.read(kind_rules::list).await?;
        loop {
            let max_runs = options.max_runs;
            let slots = self
                .read(move |view| run::free_slots(view, max_runs, Door::Request))
                .await?;
            let wanted = match slots.free {
                0 if slots.queued == 0 => 1,
                free => free.min(MOST_AT_ONCE),
            };
            if wanted == 0 {
                return Ok(Start::Left);
            }
            let chosen = self
                .read(move |view| request::next_to_dispatch(view, wanted))
                .await?;
            let mut taken = HashSet::new();
            let mut started = Vec::new();
            for request in chosen {
                if taken.contains(&request.id) {
                    continue;
                }
                let rule = rules.iter().find(|rule| rule.kind == request.kind);
                let batch = self.batch(request, rule, &taken).await?;
                taken.extend(batch.iter().map(|request| request.id.clone()));
                started.push(self.start_batch(batch, options));
            }
            // Concurrently, so that the writer commits them as one group, in this order.
            let started = join_all(started).await;
            if started.contains(&Start::Failed) {
                return Ok(Start::Failed);
            }
            if !started.contains(&Start::Done) {
                return Ok(Start::Left);
            }
        }
    }

    /// Collects the requests that one agent works on together with `first`.
    async fn batch(
        &self,
        first: Request,
        rule: Option<&KindRule>,
        taken: &HashSet<RequestId>,
    ) -> Result<Vec<Request>> {
        // A request that has failed is retried alone, because it may have made the others fail.
        if !rule.is_some_and(|rule| rule.batch) || first.attempts > 0 {
            return Ok(vec![first]);
        }
        let query = RequestQuery {
            kind: Some(first.kind.clone()),
            state: Some(RequestState::Delegated),
            limit: LARGEST_BATCH,
            ..RequestQuery::default()
        };
        let mut bytes = first.body.as_str().len();
        let mut batch = vec![first];
        let waiting = self.read(move |view| request::list(view, &query)).await?;
        for request in waiting.items {
            bytes += request.body.as_str().len();
            let fits = request.attempts == 0
                && request.id != batch[0].id
                && request.agent_workspace == batch[0].agent_workspace
                && !taken.contains(&request.id)
                && bytes <= self.limits().text;
            if fits {
                batch.push(request);
            }
        }
        Ok(batch)
    }

    async fn start_batch(&self, batch: Vec<Request>, options: &DispatcherOptions) -> Start {
        let kind = batch[0].kind.clone();
        match self.start_requests_together(batch).await {
            Ok(Some(handoff_id)) => {
                if let Some(command) = &options.tmux {
                    follow_in_tmux(command.clone(), &kind, &handoff_id, self.clock().now());
                }
                Start::Done
            }
            // One of the requests was claimed in the meantime.
            Ok(None) => Start::Left,
            Err(error) => {
                tracing::error!(error = %with_sources(&error), %kind, "cannot start a request; retrying");
                Start::Failed
            }
        }
    }

    async fn start_requests_together(&self, batch: Vec<Request>) -> Result<Option<HandoffId>> {
        let first = &batch[0];
        let task_id = TaskId::new();
        let workspace = match &first.agent_workspace {
            Some(workspace) => workspace.clone(),
            None => self.workspace(&task_id, None)?,
        };
        let form = match templates::template(
            self.options.data_dir.path(),
            &first.kind,
            templates::Form::Response,
        ) {
            Ok(form) => form,
            Err(error) => {
                tracing::warn!(%error, kind = %first.kind, "cannot read the response template; the agent works without it");
                None
            }
        };
        let dispatch = Dispatch {
            prompt: dispatch_prompt::compose(&batch, form.as_deref()),
            description: dispatch_prompt::describe(&batch),
            ids: batch.into_iter().map(|request| request.id).collect(),
            new_task: (task_id, workspace),
            lease_millis: millis(Duration::from_secs(self.limits().lease)),
        };
        let task = self.write(None, move |tx| request::dispatch(tx, &dispatch));
        let Some(task) = task.await? else {
            return Ok(None);
        };
        metrics::counter!("chorus_handoffs_started_total").increment(1);
        self.wake_runner();
        Ok(task.agent_chain().last().map(|entry| entry.id.clone()))
    }

    pub async fn dispatch_overview(&self) -> Result<DispatcherStatus> {
        let options = self.dispatcher.get();
        Ok(DispatcherStatus {
            enabled: options.is_some_and(DispatcherOptions::starts),
            max_runs: options.map_or(0, |options| options.max_runs),
            debounce: options.map_or(Duration::ZERO, |options| options.debounce),
            requests: self.read(request::overview).await?,
        })
    }

    /// Replaces all kind rules.
    pub async fn set_kind_rules(
        &self,
        rules: Vec<KindRule>,
        once: Option<Idempotency>,
    ) -> Result<Vec<KindRule>> {
        KindRule::check_all(&rules).map_err(Error::InvalidFields)?;
        self.write(once, move |tx| kind_rules::set(tx, &rules))
            .await
    }

    /// Inserts the default kind rules, once in the life of a database.
    pub async fn seed_kind_rules(&self, rules: Vec<KindRule>) -> Result<()> {
        self.write(None, move |tx| kind_rules::seed(tx, &rules))
            .await
    }
}

/// Returns when waiting requests are started: one debounce after the last approval, and at most [`PATIENCE`] debounces after the
/// first.
fn starts_at(due: &Due, debounce: Duration) -> Option<Timestamp> {
    let later = |time: Timestamp, by: Duration| {
        Timestamp::from_millis(time.as_millis().saturating_add(millis(by)))
    };
    let (first, last) = due.first_approval.zip(due.last_approval)?;
    Some(later(last, debounce).min(later(first, debounce * PATIENCE)))
}

fn until(time: Timestamp, now: Timestamp) -> Duration {
    let millis = time.as_millis().saturating_sub(now.as_millis());
    Duration::from_millis(u64::try_from(millis).unwrap_or_default())
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn due(first: i64, last: i64) -> Due {
        Due {
            first_approval: Some(Timestamp::from_millis(first)),
            last_approval: Some(Timestamp::from_millis(last)),
            ..Due::default()
        }
    }

    #[test]
    fn requests_start_one_debounce_after_the_last_approval_but_not_forever_later() {
        let at = |due: Due| starts_at(&due, Duration::from_secs(3)).map(Timestamp::as_millis);
        assert_eq!(at(due(1000, 1000)), Some(4000));
        assert_eq!(at(due(1000, 3500)), Some(6500));
        assert_eq!(at(due(1000, 60_000)), Some(31_000));
        assert_eq!(at(Due::default()), None);
    }
}
