//! Increments, and the reports that move them on.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::title::check_title;
use super::{Engine, Result};
use crate::domain::{
    Caller, Idempotency, IncrementId, IncrementTasks, Report, Skill, Source, Task, TaskId,
    TaskPriority, Text,
};
use crate::error::Error;
use crate::ledger::increment::{self, NewIncrement};
use crate::ledger::rights;
use crate::ledger::routing::{self, GiveReport};

/// How many increments one may wait for.
const MOST_DEPENDENCIES: usize = 100;

/// What a caller says of an increment to be made.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "title": "Read dates", "description": "The parser reads ISO dates", "testCommand": "cargo test dates" }))]
pub struct IncrementInput {
    /// What it is, in a line.
    #[schema(value_type = String, min_length = 1, max_length = 1000, pattern = "\\S")]
    pub title: Text,
    /// What is to be done.
    #[serde(default)]
    #[schema(value_type = String)]
    pub description: Text,
    /// How it is tested.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_command: Option<Text>,
    /// The increments that must be done before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<IncrementId>,
    /// What its agents should be good at, beside what their stage asks for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub specialist_tags: Vec<Skill>,
    /// How urgent it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// The working directory of its agents, an absolute path; that of the first increment that it depends on, or one of its own,
    /// if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_workspace: Option<Text>,
    /// Where it came from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<Source>,
}

impl Engine {
    /// Makes an increment: an implementation, its test, and its verification. What a run makes is below its own task.
    pub async fn create_increment(
        &self,
        input: IncrementInput,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<IncrementTasks> {
        check_title(&input.title, "description")?;
        let limit = self.limits().request;
        for (what, text) in [
            ("description", Some(&input.description)),
            ("testCommand", input.test_command.as_ref()),
        ] {
            if text.is_some_and(|text| text.as_str().len() > limit) {
                return Err(Error::TooLarge { what, limit });
            }
        }
        if input.depends_on.len() > MOST_DEPENDENCIES {
            return Err(Error::InvalidBody(format!(
                "dependsOn: must not name more than {MOST_DEPENDENCIES} increments"
            )));
        }
        let first_task = TaskId::new();
        let agent_workspace = match (&input.agent_workspace, input.depends_on.first()) {
            // It goes on with what those before it made. One that is not there is named later, with all others.
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

    /// Lets a blocked increment go on: a blocked stage is tried again, a failed one is fixed and tested once more.
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

    /// Takes what a run says of its work.
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
        let limit = self.limits().request;
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
