//! Creates and retries increments, and takes the reports that advance them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::sizes::check_source;
use super::title::check_title;
use super::{Engine, Result};
use crate::domain::{
    Caller, Idempotency, IncrementId, IncrementTasks, Report, Skill, Source, Task, TaskId,
    TaskPriority, Text, distinct,
};
use crate::error::Error;
use crate::ledger::increment::{self, NewIncrement};
use crate::ledger::rights;
use crate::ledger::routing::{self, GiveReport};

const MOST_DEPENDENCIES: usize = 100;

/// A new increment.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "title": "Read dates", "description": "The parser reads ISO dates", "testCommand": "cargo test dates" }))]
pub struct IncrementInput {
    /// A title of one line.
    #[schema(value_type = String, min_length = 1, max_length = 1000, pattern = "\\S")]
    pub title: Text,
    /// The work to do.
    #[serde(default)]
    #[schema(value_type = String, max_length = 1_048_576)]
    pub description: Text,
    /// The command that tests the increment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_command: Option<Text>,
    /// The increments that must be done first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schema(max_items = 100)]
    pub depends_on: Vec<IncrementId>,
    /// Skills that the agents should have, in addition to those of their stage.
    #[serde(
        default,
        deserialize_with = "distinct",
        skip_serializing_if = "Vec::is_empty"
    )]
    #[schema(max_items = 50)]
    pub specialist_tags: Vec<Skill>,
    /// The priority of its tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// The absolute path of the agents' working directory. Defaults to the workspace of the first increment in `dependsOn`, or to
    /// a new directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = "^/[^\\x00]*$")]
    pub agent_workspace: Option<Text>,
    /// The origin of the increment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

impl Engine {
    /// Creates an increment of three tasks: implementation, testing and verification. A run's increment is below the run's own task.
    pub async fn create_increment(
        &self,
        input: IncrementInput,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<IncrementTasks> {
        check_title(&input.title, "description")?;
        self.check_text("description", &input.description)?;
        self.check_remark("testCommand", input.test_command.as_ref())?;
        check_source(input.source.as_ref())?;
        if input.depends_on.len() > MOST_DEPENDENCIES {
            return Err(Error::InvalidBody(format!(
                "dependsOn: must not name more than {MOST_DEPENDENCIES} increments"
            )));
        }
        let first_task = TaskId::new();
        let agent_workspace = match (&input.agent_workspace, input.depends_on.first()) {
            // The increment continues the work of its dependency. A missing dependency is reported later, with all others.
            (None, Some(before)) => {
                let before = before.clone();
                self.read(move |view| increment::find_workspace(view, &before))
                    .await?
            }
            _ => None,
        };
        let agent_workspace = match agent_workspace {
            Some(shared) => shared,
            None => self.workspace(&first_task, input.agent_workspace.as_ref())?,
        };
        self.check_reach(caller, &first_task, &agent_workspace)
            .await?;
        let new = NewIncrement {
            id: IncrementId::new(),
            title: input.title,
            description: input.description,
            test_command: input.test_command.filter(|command| !command.is_blank()),
            depends_on: input.depends_on,
            specialist_tags: input.specialist_tags,
            priority: input.priority.unwrap_or_default(),
            source: input.source.unwrap_or_default(),
            parent_id: caller.run().map(|run| run.task_id.clone()),
            first_task,
            agent_workspace,
        };
        self.write(once, move |tx| increment::create(tx, &new))
            .await
    }

    /// Resumes a blocked increment: a blocked stage is retried, a failed one gets a fix and another test.
    pub async fn retry_increment(
        &self,
        id: IncrementId,
        once: Option<Idempotency>,
    ) -> Result<IncrementTasks> {
        let blocked = id.clone();
        self.write(once, move |tx| increment::retry(tx, &blocked))
            .await?;
        self.read(move |view| increment::get(view, &id)).await
    }

    /// Records a run's report on its work.
    pub async fn give_report(
        &self,
        task_id: TaskId,
        report: Report,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        let run = rights::may_report(caller)?;
        report
            .check(self.limits().agent_context)
            .map_err(Error::InvalidFields)?;
        let details = report.details.as_ref().map(ToString::to_string);
        let limit = self.limits().text;
        let size = report.summary.as_str().len() + details.map_or(0, |details| details.len());
        if size > limit {
            return Err(Error::TooLarge {
                what: "report",
                limit,
            });
        }
        let give = GiveReport {
            task_id,
            report,
            caller: run.clone(),
        };
        self.write(once, move |tx| routing::give_report(tx, &give))
            .await
    }
}
