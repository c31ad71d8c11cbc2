//! Creates, reads and changes tasks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::sizes::check_source;
use super::{Engine, Result};
use crate::domain::{
    Caller, Context, Dependency, DependencyForm, Idempotency, Minutes, Needs, NeedsChange, NewTask,
    PlanningChange, Role, Skill, Source, Status, Task, TaskId, TaskPlan, TaskPriority, Text,
    agent_context, distinct,
};
use crate::error::Error;
use crate::ledger::task::{self, ChangeNeeds, SetStatus};

/// A new task.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "description": "Write the parser" }))]
pub struct TaskInput {
    /// The work to do.
    #[schema(value_type = String, min_length = 1, max_length = 1_048_576, pattern = "\\S")]
    pub description: Text,
    /// The origin of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
    /// The absolute path of the agents' working directory. Defaults to the workspace of the first task in `dependsOn`, or to a
    /// new directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = "^/[^\\x00]*$")]
    pub agent_workspace: Option<Text>,
    /// The role that the task needs. The router hands the task to an agent with this role.
    #[serde(default, alias = "agent_role", skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<Role>,
    /// Skills that the task needs. An agent suits the task if it has at least one of them.
    #[serde(
        default,
        alias = "specialist_tags",
        deserialize_with = "distinct",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schema(max_items = 50)]
    pub specialist_tags: Vec<Skill>,
    /// The estimated duration in minutes.
    #[serde(
        default,
        alias = "estimated_duration",
        skip_serializing_if = "Option::is_none"
    )]
    pub estimated_duration: Option<Minutes>,
    /// The priority of the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// The dependencies: ids of tasks, or objects with `taskId` and `outcome`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<DependencyForm>, max_items = 100)]
    pub depends_on: Vec<Dependency>,
    /// Results of earlier work, for the agent.
    #[serde(
        default,
        alias = "agent_context",
        deserialize_with = "agent_context::either_spelling",
        skip_serializing_if = "Map::is_empty"
    )]
    #[schema(value_type = Object)]
    pub agent_context: Map<String, Value>,
    /// Instructions for the agent.
    #[serde(
        default,
        alias = "handoff_instructions",
        deserialize_with = "agent_context::either_spelling",
        skip_serializing_if = "Map::is_empty"
    )]
    #[schema(value_type = Object)]
    pub handoff_instructions: Map<String, Value>,
}

impl Engine {
    /// Creates a task. A run's task is below the run's own task.
    pub async fn create_task(
        &self,
        input: TaskInput,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        if input.description.is_blank() {
            return Err(Error::InvalidBody(
                "description: must not be empty".to_owned(),
            ));
        }
        self.check_text("description", &input.description)?;
        check_source(input.source.as_ref())?;
        let needs = NeedsChange {
            agent_role: Some(input.agent_role),
            specialist_tags: Some(input.specialist_tags),
            estimated_duration: Some(input.estimated_duration),
            priority: input.priority,
            depends_on: Some(input.depends_on),
            agent_context: Some(input.agent_context),
            handoff_instructions: Some(input.handoff_instructions),
            agent_workspace: None,
        }
        .apply(&Needs::default(), false);
        needs
            .check(self.limits().agent_context)
            .map_err(Error::InvalidFields)?;
        let id = TaskId::new();
        let agent_workspace = match (&input.agent_workspace, needs.depends_on.first()) {
            // The task continues the work of its dependency. A missing dependency is reported later, with all others.
            (None, Some(before)) => {
                let before = before.task_id.clone();
                self.read(move |view| task::find_workspace(view, &before))
                    .await?
            }
            _ => None,
        };
        let agent_workspace = match agent_workspace {
            Some(workspace) => workspace,
            None => self.workspace(&id, input.agent_workspace.as_ref())?,
        };
        self.check_reach(caller, &id, &agent_workspace).await?;
        let source = input.source.unwrap_or_default();
        let new = NewTask {
            plan: TaskPlan::default(),
            id,
            parent_id: caller.run().map(|run| run.task_id.clone()),
            session_id: None,
            context: Context::default(),
            needs,
            part: None,
            description: input.description,
            source,
            agent_workspace,
        };
        self.write(once, move |tx| Ok(task::create(tx, &new)?.task))
            .await
    }

    pub(super) async fn task(&self, id: &TaskId) -> Result<Task> {
        let id = id.clone();
        self.read(move |view| task::get(view, &id)).await
    }

    /// Changes the needs of a task. Objects are replaced, or merged if `merge` is set.
    pub async fn change_needs(
        &self,
        task_id: TaskId,
        change: NeedsChange,
        merge: bool,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        if change.is_empty() {
            return Err(Error::InvalidBody(
                "give at least one of agentRole, specialistTags, estimatedDuration, priority, dependsOn, agentContext, handoffInstructions and agentWorkspace"
                    .to_owned(),
            ));
        }
        change
            .check(self.limits().agent_context, merge)
            .map_err(Error::InvalidFields)?;
        let asked = change.agent_workspace.as_ref();
        let workspace = asked.map(|asked| self.requested_workspace(asked));
        let change = ChangeNeeds {
            workspace: workspace.transpose()?,
            task_id,
            change,
            merge,
            caller: caller.clone(),
        };
        self.write(once, move |tx| task::change_needs(tx, &change))
            .await
    }

    /// Sets a task's status. The result of an increment's stage is set by its agent's report instead.
    pub async fn set_status(
        &self,
        task_id: TaskId,
        status: Status,
        reason: Option<Text>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        self.check_remark("status.message", status.failure_message())?;
        if reason.as_ref().is_some_and(Text::is_blank) {
            return Err(Error::InvalidBody("reason: must not be empty".to_owned()));
        }
        self.check_remark("reason", reason.as_ref())?;
        let asked = SetStatus {
            task_id,
            status,
            reason,
            caller: caller.clone(),
        };
        self.write(once, move |tx| task::set_status(tx, &asked))
            .await
    }

    /// Changes the plan of a task and of every task that shares it.
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
        change.check().map_err(Error::InvalidFields)?;
        self.write(once, move |tx| task::plan(tx, &id, &change))
            .await
    }
}
