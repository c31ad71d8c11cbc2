//! Hands ready tasks with a role to agents.
//!
//! # How it works
//! Readiness is stored in the task's row and updated in the transaction that changes it. A round takes as many ready tasks as
//! there are free slots, most urgent first, and hands each to the best agent. The choice, the hand-off and the mail are one
//! transaction. A task that no agent suits is set aside until an agent changes. The outcome of a task is decided in the
//! transaction that ends its hand-off. A round runs on an event (a task became ready, an agent changed, a slot became free), never
//! as a poll.

use std::time::Duration;

use futures_util::future::join_all;

use super::{Engine, Result, RouterOptions};
use crate::domain::{AgentName, Choice, Door, Idempotency, Task, TaskId};
use crate::error::{Error, with_sources};
use crate::ledger::agent;
use crate::ledger::routing::{self, Circumstances, Routed};
use crate::ledger::run;
use crate::runner::providers::find_program;

/// The maximum number of tasks that are handed off concurrently.
const MOST_AT_ONCE: u32 = 64;

/// The pause after a failure.
const RETRY: Duration = Duration::from_secs(1);

impl Engine {
    /// Hands ready tasks to agents until the server stops.
    pub async fn route_tasks(self, options: RouterOptions) {
        // An error means that the router is already running.
        let _ = self.router.set(options.clone());
        if !options.enabled || options.max_runs == 0 {
            return;
        }
        // The installed programs or the fallback agent may have changed since the last start.
        self.reconsider_unsuited_tasks().await;
        let ready = self.feed().watch_ready();
        let agents = self.feed().watch_agents();
        let slots = self.feed().watch_slots();
        loop {
            let (is_ready, changed, freed) = (ready.changed(), agents.changed(), slots.changed());
            let waits = match self.route_round(&options).await {
                Ok(waits) => waits,
                Err(error) => {
                    tracing::error!(error = %with_sources(&error), "cannot hand ready tasks to agents; retrying");
                    tokio::select! {
                        () = self.stopping.cancelled() => return,
                        () = tokio::time::sleep(RETRY) => continue,
                    }
                }
            };
            tokio::select! {
                () = self.stopping.cancelled() => return,
                () = is_ready => {}
                () = changed => {
                    // The changed agent may be the fallback, which suits every role.
                    if options.fallback.is_some() {
                        self.reconsider_unsuited_tasks().await;
                    }
                }
                () = freed, if waits => {}
            }
        }
    }

    async fn reconsider_unsuited_tasks(&self) {
        if let Err(error) = self.write(None, agent::reconsider_unsuited_tasks).await {
            tracing::error!(error = %with_sources(&error), "cannot reconsider the tasks that no agent suits; restart the server to retry");
        }
    }

    /// Hands ready tasks to agents while slots are free. If no slot is free, one task is queued for the next slot. Returns whether
    /// more tasks may be waiting for a slot.
    pub async fn route_round(&self, options: &RouterOptions) -> Result<bool> {
        loop {
            let slots = {
                let max_runs = options.max_runs;
                self.read(move |view| run::free_slots(view, max_runs, Door::Route))
                    .await?
            };
            let wanted = match slots.free {
                0 if slots.queued == 0 => 1,
                free => free.min(MOST_AT_ONCE),
            };
            if wanted == 0 {
                return Ok(true);
            }
            let next = self.read(move |view| routing::next(view, wanted)).await?;
            if next.is_empty() {
                return Ok(false);
            }
            // Concurrently, so that the writer commits them as one group, in this order.
            let circumstances = self.circumstances(options.fallback.clone()).await?;
            let attempts = next
                .into_iter()
                .map(|task_id| self.try_to_route(task_id, circumstances.clone(), None));
            let mut has_moved = false;
            for routed in join_all(attempts).await {
                has_moved |= match routed? {
                    Routed::Started(_) => {
                        metrics::counter!("chorus_handoffs_started_total").increment(1);
                        self.wake_runner();
                        true
                    }
                    Routed::NobodySuits(_) => true,
                    // The task was changed or handed off in the meantime.
                    Routed::NotReady(_) => false,
                };
            }
            if !has_moved {
                return Ok(true);
            }
        }
    }

    /// Explains which agent would get a task, and why.
    pub async fn explain_route(&self, task_id: TaskId) -> Result<Choice> {
        let circumstances = self.circumstances(self.fallback_agent()).await?;
        self.read(move |view| routing::explain(view, &task_id, &circumstances))
            .await
    }

    /// Hands a task to the best agent now, even if no slot is free.
    pub async fn route_task(&self, task_id: TaskId, once: Option<Idempotency>) -> Result<Task> {
        let circumstances = self.circumstances(self.fallback_agent()).await?;
        match self.try_to_route(task_id, circumstances, once).await? {
            Routed::Started(task) => {
                metrics::counter!("chorus_handoffs_started_total").increment(1);
                self.wake_runner();
                Ok(*task)
            }
            Routed::NobodySuits(choice) | Routed::NotReady(choice) => {
                Err(Error::NotRouted(Box::new(choice)))
            }
        }
    }

    async fn try_to_route(
        &self,
        task_id: TaskId,
        circumstances: Circumstances,
        once: Option<Idempotency>,
    ) -> Result<Routed> {
        self.write(once, move |tx| routing::route(tx, &task_id, &circumstances))
            .await
    }

    /// Returns the fallback agent, and the agents' programs that are not installed on this machine.
    async fn circumstances(&self, fallback: Option<AgentName>) -> Result<Circumstances> {
        let programs = self.read(agent::programs).await?;
        let look = move || {
            let named = programs.into_iter().filter_map(|(program, provider)| {
                program.or_else(|| provider.binary().map(str::to_owned))
            });
            named
                .filter(|program| find_program(program).is_none())
                .collect()
        };
        let missing_programs = tokio::task::spawn_blocking(look)
            .await
            .map_err(Error::internal)?;
        Ok(Circumstances {
            fallback,
            missing_programs,
        })
    }

    fn fallback_agent(&self) -> Option<AgentName> {
        self.router
            .get()
            .and_then(|options| options.fallback.clone())
    }
}
