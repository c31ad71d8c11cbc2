//! Making, reading and changing tasks.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{
    Caller, Context, Dependency, DependencyForm, Idempotency, Minutes, Needs, NeedsChange, NewTask,
    PlanningChange, Role, Skill, Source, Status, Task, TaskId, TaskPriority, Text,
};
use crate::error::Error;
use crate::ledger::task::{self, ChangeNeeds};

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
    /// The working directory of its agents, an absolute path; that of the first task that it waits for, or one of its own, if it is
    /// not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_workspace: Option<Text>,
    /// Who is to work on it: the router gives it to an agent with this role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_role: Option<Role>,
    /// What its agent should be good at: an agent suits that has at least one of these.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specialist_tags: Vec<Skill>,
    /// How many minutes it will take, as somebody thinks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub estimated_duration: Option<Minutes>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// What comes first: ids of tasks, or objects with `taskId` and `outcome`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(value_type = Vec<DependencyForm>)]
    pub depends_on: Vec<Dependency>,
    /// What was done before, for whoever works on it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub agent_context: Map<String, Value>,
    /// What whoever works on it is to do.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    #[schema(value_type = Object)]
    pub handoff_instructions: Map<String, Value>,
}

impl Engine {
    /// Makes a task; one that a run makes is below the run's own.
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
        let needs = NeedsChange {
            agent_role: Some(input.agent_role),
            specialist_tags: Some(input.specialist_tags),
            estimated_duration: Some(input.estimated_duration),
            priority: input.priority,
            depends_on: Some(input.depends_on),
            agent_context: Some(input.agent_context),
            handoff_instructions: Some(input.handoff_instructions),
        }
        .apply(&Needs::default(), false);
        needs
            .check(self.limits().agent_context)
            .map_err(Error::InvalidFields)?;
        let id = TaskId::new();
        let agent_workspace = match (&input.agent_workspace, needs.depends_on.first()) {
            // It goes on with what that one made. One that is not there is named later, with all others.
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
        let source = input.source.unwrap_or_default();
        let new = NewTask {
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

    /// Finds a task.
    pub(super) async fn task(&self, id: &TaskId) -> Result<Task> {
        let id = id.clone();
        self.read(move |view| task::get(view, &id)).await
    }

    /// Sets what a task needs. Objects take the place of what was there, or are merged into it.
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
                "give at least one of agentRole, specialistTags, estimatedDuration, priority, dependsOn, agentContext and handoffInstructions"
                    .to_owned(),
            ));
        }
        change
            .check(self.limits().agent_context, merge)
            .map_err(Error::InvalidFields)?;
        let change = ChangeNeeds {
            task_id,
            change,
            merge,
            caller: caller.clone(),
        };
        self.write(once, move |tx| task::change_needs(tx, &change))
            .await
    }

    /// Sets a task's status. What came out of a stage of an increment its agent reports.
    pub async fn set_status(
        &self,
        id: TaskId,
        status: Status,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        let caller = caller.clone();
        self.write(once, move |tx| task::set_status(tx, &id, &status, &caller))
            .await
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
        self.write(once, move |tx| task::plan(tx, &id, &change))
            .await
    }
}
