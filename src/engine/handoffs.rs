//! Starts and ends hand-offs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{
    Caller, Handoff, HandoffId, Idempotency, Outcome, Task, TaskId, Text, TraceParent,
};
use crate::error::Error;
use crate::ledger::handoff::{self, Delegate, Delegated, Moved, Wait};

/// A new hand-off.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "agentName": "developer", "prompt": "Write the parser" }))]
pub struct HandoffInput {
    /// The agent. Case, quotes around the name, and `_` instead of `-` are ignored.
    #[schema(value_type = String, min_length = 1, pattern = "\\S")]
    pub agent_name: Text,
    /// The instructions for the agent.
    #[schema(value_type = String, min_length = 1, max_length = 4_194_304, pattern = "\\S")]
    pub prompt: Text,
    /// Why the task is handed off.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, max_length = 65_536)]
    pub reason: Option<Text>,
    /// Whether to resume the agent's last session on this task. The prompt then has only what is new since.
    #[serde(default)]
    pub resume: bool,
    /// Whether to start a new hand-off in any case. Otherwise a run that repeats task, agent and prompt before it got the answer gets the
    /// same hand-off again, with `meta.existing`.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub new: bool,
    /// Whether the calling run goes on without the answer: its time limits continue, and the hand-off outlives it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub detached: bool,
}

impl Engine {
    /// Hands a task to an agent. Returns once the hand-off is recorded, before the agent starts.
    pub async fn start_handoff(
        &self,
        task_id: TaskId,
        input: HandoffInput,
        caller: &Caller,
        trace: Option<TraceParent>,
        once: Option<Idempotency>,
    ) -> Result<Delegated> {
        if input.agent_name.is_blank() {
            return Err(Error::InvalidBody(
                "agentName: must not be empty".to_owned(),
            ));
        }
        if input.prompt.is_blank() {
            return Err(Error::InvalidBody("prompt: must not be empty".to_owned()));
        }
        self.check_prompt("prompt", &input.prompt)?;
        self.check_remark("reason", input.reason.as_ref())?;
        let delegated = Delegate {
            task_id,
            agent_name: input.agent_name.into_string(),
            prompt: input.prompt,
            reason: input.reason,
            resume: input.resume,
            new: input.new,
            detached: input.detached,
            caller: caller.clone(),
            trace,
        };
        let delegated = self
            .write(once, move |tx| handoff::delegate(tx, &delegated))
            .await?;
        if !delegated.is_existing {
            metrics::counter!("chorus_handoffs_started_total").increment(1);
            self.wake_runner();
        }
        Ok(delegated)
    }

    /// Completes the open hand-off of a task from outside, and stops its run in the background.
    pub async fn complete_handoff(
        &self,
        task_id: TaskId,
        output: Text,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        self.check_prompt("output", &output)?;
        let task = self
            .write(once, move |tx| handoff::complete(tx, &task_id, &output))
            .await?;
        self.handoff_ended(Outcome::Completed);
        let (engine, ended) = (self.clone(), task.clone());
        tokio::spawn(async move {
            if let Err(error) = engine.stop_last_run(&ended).await {
                tracing::error!(%error, task_id = %ended.id, "cannot stop the run of a completed hand-off");
            }
        });
        Ok(task)
    }

    /// Records that the agent of a run waits for a hand-off, if the hand-off's end concerns that agent.
    pub async fn await_answer(&self, caller: &Caller, id: &HandoffId) -> Result<()> {
        if let Some((waiter, wait)) = self.find_wait(caller, id).await?
            && wait.is_new
        {
            let id = id.clone();
            self.write(None, move |tx| handoff::record_wait(tx, &id, &waiter))
                .await?;
            if let Some(runner) = self.runner.get() {
                runner.look_at_waits();
            }
        }
        Ok(())
    }

    /// Records that the agent of a run gets the answer of a hand-off, if it waits for one.
    pub async fn deliver_answer(&self, caller: &Caller, id: &HandoffId) -> Result<()> {
        if let Some((waiter, wait)) = self.find_wait(caller, id).await?
            && wait.is_undelivered
        {
            let id = id.clone();
            self.write(None, move |tx| handoff::record_delivery(tx, &id, &waiter))
                .await?;
        }
        Ok(())
    }

    /// Finds the wait of a calling run for a hand-off, and the run's own hand-off.
    async fn find_wait(
        &self,
        caller: &Caller,
        id: &HandoffId,
    ) -> Result<Option<(HandoffId, Wait)>> {
        let Some(run) = caller.run() else {
            return Ok(None);
        };
        let (id, waiter) = (id.clone(), run.handoff_id.clone());
        self.read(move |view| {
            let wait = handoff::find_wait(view, &id, &waiter)?;
            Ok(wait.map(|wait| (waiter.clone(), wait)))
        })
        .await
    }

    /// Cancels the open hand-off of a task with all that its agent waits for, and waits until their runs are stopped.
    pub async fn cancel_handoff(
        &self,
        task_id: TaskId,
        reason: Option<Text>,
        once: Option<Idempotency>,
    ) -> Result<(Task, usize)> {
        self.check_remark("reason", reason.as_ref())?;
        let reason = reason.filter(|reason| !reason.is_blank());
        let task = self
            .write(once, move |tx| {
                handoff::cancel(tx, &task_id, reason.as_ref())
            })
            .await?;
        self.handoff_ended(Outcome::Cancelled);
        let left = self.stop_cancelled_runs(&task).await?;
        Ok((task, left))
    }

    fn handoff_ended(&self, outcome: Outcome) {
        metrics::counter!("chorus_handoffs_ended_total", "outcome" => outcome.as_str())
            .increment(1);
        // A new run may be queued that asks the agent for a missing report.
        self.wake_runner();
    }

    /// Starts the agent that control moved to, and ends the run of the agent that had it.
    pub(super) fn start_successor(&self, moved: Moved) -> Task {
        let Moved { task, left } = moved;
        metrics::counter!("chorus_handoffs_started_total").increment(1);
        if let (Some(left), Some(runner)) = (left, self.runner.get().cloned()) {
            metrics::counter!("chorus_handoffs_ended_total", "outcome" => "completed").increment(1);
            tokio::spawn(async move {
                if left.by_itself {
                    runner.wind_down(&left.run_id).await;
                } else {
                    runner.stop(&left.run_id).await;
                }
            });
        }
        self.wake_runner();
        task
    }

    pub async fn handoff(&self, id: &HandoffId) -> Result<Handoff> {
        let id = id.clone();
        self.read(move |view| handoff::get(view, &id)).await
    }
}
