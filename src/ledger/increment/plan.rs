//! The tasks of an increment's stages.

use crate::domain::{
    Context, Dependency, DependencyOutcome, Increment, IncrementPart, Needs, NewTask, Skill,
    Source, Stage, Task, TaskId, TaskPlan, TaskPriority, Text,
};
use crate::ledger::task;
use crate::store::tables::tasks::StoredTask;
use crate::store::{Result, Tx};

/// The properties that all tasks of an increment share.
pub struct StagePlan<'a> {
    pub increment: &'a Increment,
    /// The skills that the increment itself asks for.
    pub tags: &'a [Skill],
    pub priority: TaskPriority,
    /// The task of the run that created the increment, if a run did.
    pub parent_id: Option<&'a TaskId>,
    /// The task whose plan and files the stages have, and whose variables.
    pub origin: Option<&'a StoredTask>,
    pub source: &'a Source,
    pub agent_workspace: &'a Text,
}

impl StagePlan<'_> {
    pub fn create_stage(
        &self,
        tx: &mut Tx<'_>,
        id: TaskId,
        stage: Stage,
        depends_on: Vec<Dependency>,
    ) -> Result<StoredTask> {
        let Increment {
            title,
            description,
            test_command,
            round,
            ..
        } = self.increment;
        let next_role = match stage {
            Stage::Implementation | Stage::Fix => Some(Stage::Test.role()),
            Stage::Test => Some(Stage::Verify.role()),
            Stage::Verify => None,
        };
        let instructions = [
            ("nextRole", next_role.map(|role| role.to_string())),
            (
                "testCommand",
                test_command.as_ref().map(ToString::to_string),
            ),
        ]
        .into_iter()
        .filter_map(|(key, value)| Some((key.to_owned(), value?.into())));
        let part = IncrementPart {
            increment_id: self.increment.id.clone(),
            stage,
            round: *round,
        };
        let origin = self.origin.map(|origin| &origin.task);
        let new = NewTask {
            id,
            description: stage.describe(title, description, test_command.as_ref()),
            parent_id: self.parent_id.cloned(),
            session_id: None,
            context: origin.map_or_else(Context::default, |task| task.context.without_metadata()),
            needs: Needs {
                agent_role: Some(stage.role()),
                specialist_tags: stage.tags(self.tags),
                estimated_duration: Some(stage.estimate()),
                priority: self.priority,
                depends_on,
                agent_context: serde_json::Map::new(),
                handoff_instructions: instructions.collect(),
            },
            part: Some(part),
            plan: origin.map_or_else(TaskPlan::default, Task::share_plan),
            source: self.source.clone(),
            agent_workspace: self.agent_workspace.clone(),
        };
        let mut created = task::create(tx, &new)?;
        if let Some(origin) = self.origin {
            task::carry_attachments(tx, origin, &mut created)?;
        }
        Ok(created)
    }
}

/// A dependency on the completion of a task.
pub fn after(task: &StoredTask) -> Vec<Dependency> {
    vec![Dependency {
        task_id: task.task.id.clone(),
        outcome: DependencyOutcome::Completed,
    }]
}
