//! The tasks of an increment's stages.

use crate::domain::{
    Context, Dependency, DependencyOutcome, Increment, IncrementPart, Needs, NewTask, Skill,
    Source, Stage, TaskId, TaskPriority, Text,
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
        let new = NewTask {
            id,
            description: stage.describe(title, description, test_command.as_ref()),
            parent_id: self.parent_id.cloned(),
            session_id: None,
            context: Context::default(),
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
            source: self.source.clone(),
            agent_workspace: self.agent_workspace.clone(),
        };
        task::create(tx, &new)
    }
}

/// A dependency on the completion of a task.
pub fn after(task: &StoredTask) -> Vec<Dependency> {
    vec![Dependency {
        task_id: task.task.id.clone(),
        outcome: DependencyOutcome::Completed,
    }]
}
