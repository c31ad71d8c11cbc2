//! Making, reading and changing tasks.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{
    Context, History, Idempotency, NewTask, PlanningChange, RunIdentity, Source, Status, Task,
    TaskId, TaskSummary, Text,
};
use crate::error::Error;
use crate::store::{Page, TaskQuery};

/// What a caller says of a task to be made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "description": "Write the parser" }))]
pub struct TaskInput {
    /// What is to be done.
    #[schema(value_type = String, min_length = 1, pattern = "\\S")]
    pub description: Text,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The working directory of its agents, an absolute path; one of its own if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_workspace: Option<Text>,
}

impl Engine {
    /// Makes a task; one that a run makes is below the run's own.
    pub async fn create_task(
        &self,
        input: TaskInput,
        caller: Option<RunIdentity>,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        if input.description.is_blank() {
            return Err(Error::InvalidBody(
                "description: must not be empty".to_owned(),
            ));
        }
        let id = TaskId::new();
        let agent_workspace = self.workspace(&id, input.agent_workspace.as_ref())?;
        let source = input.source.unwrap_or_default();
        let new = NewTask {
            id,
            parent_id: caller.map(|caller| caller.task_id),
            session_id: None,
            context: Context::default(),
            description: input.description,
            source,
            agent_workspace,
        };
        Ok(self.store.create_task(new, once).await?)
    }

    /// Finds a task.
    pub async fn task(&self, id: &TaskId) -> Result<Task> {
        self.store
            .task(id)
            .await?
            .ok_or_else(|| Error::not_found("Task", id))
    }

    /// Lists tasks in full.
    pub async fn tasks(&self, query: &TaskQuery) -> Result<Page<Task>> {
        Ok(self.store.tasks(query).await?)
    }

    /// Lists tasks in short.
    pub async fn task_summaries(&self, query: &TaskQuery) -> Result<Page<TaskSummary>> {
        Ok(self.store.task_summaries(query).await?)
    }

    /// Sets a task's status.
    pub async fn set_status(
        &self,
        id: TaskId,
        status: Status,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        Ok(self.store.set_status(id, status, once).await?)
    }

    /// Sets planning fields of a task.
    pub async fn plan_task(
        &self,
        id: TaskId,
        change: PlanningChange,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        if change.is_empty() {
            return Err(Error::InvalidBody(
                "give at least one of summary, requirements, acceptanceCriteria and plan"
                    .to_owned(),
            ));
        }
        Ok(self.store.plan_task(id, change, once).await?)
    }

    /// Finds the history of a task.
    pub async fn history(&self, id: &TaskId) -> Result<History> {
        self.store
            .history(id)
            .await?
            .ok_or_else(|| Error::not_found("Task", id))
    }
}
