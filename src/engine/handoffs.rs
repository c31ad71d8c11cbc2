//! Starts and ends hand-offs.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{
    Caller, Handoff, HandoffId, Idempotency, Outcome, Task, TaskId, Text, TraceParent,
};
use crate::error::Error;
use crate::ledger::handoff::{self, Delegate, Moved};

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
    /// Whether to resume the agent's last session on this task.
    #[serde(default)]
    pub resume: bool,
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
    ) -> Result<Task> {
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
            caller: caller.clone(),
            trace,
        };
        let task = self
            .write(once, move |tx| handoff::delegate(tx, &delegated))
            .await?;
        metrics::counter!("chorus_handoffs_started_total").increment(1);
        self.wake_runner();
        Ok(task)
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

    /// Cancels the open hand-off of a task, and waits until its run is stopped.
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
        let left = self.stop_last_run(&task).await?;
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

    pub(super) async fn handoff(&self, id: &HandoffId) -> Result<Handoff> {
        let id = id.clone();
        self.read(move |view| handoff::get(view, &id)).await
    }
}
