//! Creating an increment.

use crate::domain::{
    Dependency, DependencyOutcome, EventKind, Increment, IncrementId, IncrementState,
    IncrementTasks, Problems, Refusal, Skill, Source, Stage, TaskId, TaskPriority, Text,
};
use crate::ledger::{history, task};
use crate::store::tables::increments;
use crate::store::{Result, Tx, View};

use super::plan::{StagePlan, after};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewIncrement {
    pub id: IncrementId,
    pub title: Text,
    pub description: Text,
    pub test_command: Option<Text>,
    /// The increments that must be done first.
    pub depends_on: Vec<IncrementId>,
    /// The skills wanted of its agents.
    pub specialist_tags: Vec<Skill>,
    pub priority: TaskPriority,
    pub source: Source,
    /// The task of the run that creates the increment, if a run does.
    pub parent_id: Option<TaskId>,
    pub first_task: TaskId,
    pub agent_workspace: Text,
}

/// Creates an increment with its first tasks: implementation, test and verification. Fixes are created when a test fails.
pub fn create(tx: &mut Tx<'_>, new: &NewIncrement) -> Result<IncrementTasks> {
    let depends_on = last_stages(tx, &new.depends_on)?;
    let increment = Increment {
        id: new.id.clone(),
        title: new.title.clone(),
        description: new.description.clone(),
        test_command: new.test_command.clone(),
        state: IncrementState::Active,
        round: 1,
        blocked_by: None,
        created_at: tx.now,
        updated_at: tx.now,
    };
    increments::insert(tx, &increment)?;
    let parent = new.parent_id.as_ref();
    let parent = parent.map(|id| task::load(tx, id)).transpose()?;
    let plan = StagePlan {
        increment: &increment,
        tags: &new.specialist_tags,
        priority: new.priority,
        parent_id: new.parent_id.as_ref(),
        origin: parent.as_ref(),
        source: &new.source,
        agent_workspace: &new.agent_workspace,
    };
    let first = new.first_task.clone();
    let first = plan.create_stage(tx, first, Stage::Implementation, depends_on)?;
    let created = EventKind::IncrementCreated {
        id: increment.id.clone(),
        title: increment.title.clone(),
    };
    history::record(tx, first.on(), None, created)?;
    // The stages share one plan: whoever plans one of them plans the increment.
    let plan = StagePlan {
        origin: Some(&first),
        ..plan
    };
    let test = plan.create_stage(tx, TaskId::new(), Stage::Test, after(&first))?;
    let verify = plan.create_stage(tx, TaskId::new(), Stage::Verify, after(&test))?;
    Ok(IncrementTasks {
        increment,
        depends_on: new.depends_on.clone(),
        tasks: vec![first.task, test.task, verify.task],
    })
}

/// Finds the verifications that must be completed before an increment begins.
fn last_stages(view: &View<'_>, ids: &[IncrementId]) -> Result<Vec<Dependency>> {
    let mut problems = Problems::default();
    let mut depends_on: Vec<Dependency> = Vec::new();
    for id in ids {
        let Some(task_id) = increments::find_last_verification(view, id)? else {
            problems.add("dependsOn", format!("increment {id} does not exist"));
            continue;
        };
        if !depends_on.iter().any(|known| known.task_id == task_id) {
            depends_on.push(Dependency {
                task_id,
                outcome: DependencyOutcome::Completed,
            });
        }
    }
    problems
        .into_result(|| depends_on)
        .map_err(|problems| Refusal::Invalid(problems).into())
}
