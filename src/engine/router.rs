//! Gives tasks with a role to agents.
//!
//! # How it works
//! Which tasks are ready is a matter of their rows: the ledger keeps it in the transaction that changes it. A round takes the
//! ready tasks in order, as many as there are free slots, and each is given to the agent that suits best in one transaction: the
//! choice, the hand-off and the mail. A task for which nobody suits is set aside until an agent changes. What becomes of a task
//! is decided where hand-offs end. Rounds follow on events: a task is ready, an agent has changed, a slot is free. Nothing is
//! looked at in vain.

use std::time::Duration;

use futures_util::future::join_all;

use super::{Engine, Result, RouterOptions};
use crate::domain::{AgentName, Choice, Door, Idempotency, Task, TaskId};
use crate::error::{Error, with_sources};
use crate::ledger::agent;
use crate::ledger::routing::{self, Circumstances, Routed};
use crate::ledger::run;
use crate::runner::providers::find_program;

/// How many tasks are given to agents in one go.
const MOST_AT_ONCE: u32 = 64;

/// How long to wait before something that failed is tried again.
const RETRY: Duration = Duration::from_secs(1);

impl Engine {
    /// Gives ready tasks to agents until the server stops.
    pub async fn route_tasks(self, options: RouterOptions) {
        // An error means that it does so already.
        let _ = self.router.set(options.clone());
        if !options.enabled || options.max_runs == 0 {
            return;
        }
        // What is installed, or who gets what nobody suits, may be another than when the server stopped.
        self.reconsider_unsuited_tasks().await;
        let ready = self.feed().watch_ready();
        let agents = self.feed().watch_agents();
        let slots = self.feed().watch_slots();
        loop {
            let (is_ready, changed, freed) = (ready.changed(), agents.changed(), slots.changed());
            let waits = match self.route_round(&options).await {
                Ok(waits) => waits,
                Err(error) => {
                    tracing::error!(error = %with_sources(&error), "cannot give tasks to agents; trying again");
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
                    // It may be the one that gets what nobody suits, whatever its roles are.
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
            tracing::error!(error = %with_sources(&error), "cannot ask again who suits the tasks that wait");
        }
    }

    /// Gives ready tasks to agents while there are free slots. Where there are none, one stands in line for the next. Returns
    /// whether more may wait for a slot.
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
            // Together, so that they are committed together; each stands in the line of the writer in its turn.
            let circumstances = self.circumstances(options.fallback.clone()).await?;
            let given = next
                .into_iter()
                .map(|task_id| self.try_to_route(task_id, circumstances.clone(), None));
            let mut has_moved = false;
            for routed in join_all(given).await {
                has_moved |= match routed? {
                    Routed::Started(_) => {
                        metrics::counter!("chorus_handoffs_started_total").increment(1);
                        self.wake_runner();
                        true
                    }
                    Routed::NobodySuits(_) => true,
                    // Somebody was faster.
                    Routed::NotReady(_) => false,
                };
            }
            if !has_moved {
                return Ok(true);
            }
        }
    }

    /// Explains which agent a task would be given to, and why.
    pub async fn explain_route(&self, task_id: TaskId) -> Result<Choice> {
        let circumstances = self.circumstances(self.fallback_agent()).await?;
        self.read(move |view| routing::explain(view, &task_id, &circumstances))
            .await
    }

    /// Gives a task to the agent that suits best now, whether there is a free slot or not.
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

    /// Finds which programs of agents are not on this machine.
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
