//! The table `increments`, and the tasks that an increment is made of.

use crate::domain::{
    Context, Dependency, DependencyOutcome, EventKind, Increment, IncrementId, IncrementPart,
    IncrementState, IncrementTasks, Needs, NewTask, Problems, Refusal, Skill, Source, Stage,
    TaskId, TaskPriority, Text,
};
use crate::ledger::{history, task};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{NewIncrement, Page, Result, Row, Statement, StoreError, Tx, View, params, sql};

macro_rules! select_increments {
    () => {
        "SELECT i.number, i.id, i.state, i.round, i.created_at, i.updated_at, i.blocked_by, i.title, i.test_command,
                i.description
           FROM increments i"
    };
}

pub(crate) fn from_row(row: &Row<'_>) -> Result<Increment> {
    Ok(Increment {
        id: row.parsed(1)?,
        state: row.word(2, IncrementState::parse)?,
        round: row.unsigned(3)?,
        created_at: row.timestamp(4)?,
        updated_at: row.timestamp(5)?,
        blocked_by: row.optional_text(6)?,
        title: row.text(7)?,
        test_command: row.optional_text(8)?,
        description: row.text(9)?,
    })
}

/// Makes an increment with the tasks that it begins with: the implementation, its test, and the verification. What mends it is
/// made when a test has failed.
pub(crate) fn create(tx: &mut Tx<'_>, new: &NewIncrement) -> Result<IncrementTasks> {
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
    insert(tx, &increment)?;
    let plan = Plan {
        increment: &increment,
        tags: &new.specialist_tags,
        priority: new.priority,
        parent_id: new.parent_id.as_ref(),
        source: &new.source,
        agent_workspace: &new.agent_workspace,
    };
    let first = plan.make(
        tx,
        new.first_task.clone(),
        Stage::Implementation,
        depends_on,
    )?;
    let created = EventKind::IncrementCreated {
        id: increment.id.clone(),
        title: increment.title.clone(),
    };
    history::record(tx, first.on(), None, created)?;
    let test = plan.make(tx, TaskId::new(), Stage::Test, after(&first))?;
    let verify = plan.make(tx, TaskId::new(), Stage::Verify, after(&test))?;
    Ok(IncrementTasks {
        increment,
        depends_on: new.depends_on.clone(),
        tasks: vec![first.task, test.task, verify.task],
    })
}

/// Inserts an increment's own row.
pub(crate) fn insert(tx: &Tx<'_>, increment: &Increment) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO increments (id, state, round, created_at, updated_at, blocked_by, title, test_command, description)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        ),
        params![
            increment.id.as_str(),
            increment.state.as_str(),
            increment.round,
            increment.created_at.as_millis(),
            increment.updated_at.as_millis(),
            increment.blocked_by.as_ref().map(Text::as_str),
            increment.title.as_str(),
            increment.test_command.as_ref().map(Text::as_str),
            increment.description.as_str(),
        ],
    )?;
    Ok(())
}

/// What the tasks of an increment are made of.
pub(crate) struct Plan<'a> {
    pub increment: &'a Increment,
    /// What the increment itself asks of its agents.
    pub tags: &'a [Skill],
    pub priority: TaskPriority,
    /// The task of the run that made it, if a run did.
    pub parent_id: Option<&'a TaskId>,
    pub source: &'a Source,
    pub agent_workspace: &'a Text,
}

impl Plan<'_> {
    /// Makes the task of a stage.
    pub fn make(
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

/// Lets a task wait for the good end of another one.
pub(crate) fn after(task: &StoredTask) -> Vec<Dependency> {
    vec![Dependency {
        task_id: task.task.id.clone(),
        outcome: DependencyOutcome::Completed,
    }]
}

/// Finds what must be verified before an increment begins.
fn last_stages(tx: &Tx<'_>, increments: &[IncrementId]) -> Result<Vec<Dependency>> {
    let mut problems = Problems::default();
    let mut depends_on: Vec<Dependency> = Vec::new();
    for id in increments {
        let verify = tx.row(
            sql!(
                "SELECT t.id FROM increments i JOIN tasks t ON t.increment_number = i.number
                  WHERE i.id = $1 AND t.stage = 'verify' ORDER BY t.number DESC LIMIT 1"
            ),
            params![id.as_str()],
            |row| row.parsed(0),
        )?;
        let Some(task_id) = verify else {
            problems.add("dependsOn", format!("there is no increment {id}"));
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
        .none_or(|| depends_on)
        .map_err(|problems| Refusal::Invalid(problems).into())
}

/// Writes where an increment stands.
pub(crate) fn save(tx: &Tx<'_>, number: i64, increment: &mut Increment) -> Result<()> {
    increment.updated_at = tx.now;
    tx.execute(
        sql!(
            "UPDATE increments SET state = $1, round = $2, blocked_by = $3, updated_at = $4 WHERE number = $5"
        ),
        params![
            increment.state.as_str(),
            increment.round,
            increment.blocked_by.as_ref().map(Text::as_str),
            increment.updated_at.as_millis(),
            number
        ],
    )?;
    Ok(())
}

const ONE: Statement<1> = sql!(select_increments!(), " WHERE i.id = $1");

/// Finds an increment within a transaction, with its number.
pub(crate) fn find_in(view: &View<'_>, id: &IncrementId) -> Result<Option<(i64, Increment)>> {
    view.row(ONE, params![id.as_str()], |row| {
        Ok((row.integer(0)?, from_row(row)?))
    })
}

/// Loads the increment that a task is a part of.
pub(crate) fn load(tx: &Tx<'_>, id: &IncrementId) -> Result<(i64, Increment)> {
    find_in(tx, id)?.ok_or_else(|| StoreError::inconsistent(format!("increment {id} is not there")))
}

/// Finds an increment with its tasks, in the order in which they were made.
pub(crate) fn find(view: &View<'_>, id: &IncrementId) -> Result<Option<IncrementTasks>> {
    const TASKS: Statement<1> = sql!(
        tasks::SELECT,
        " WHERE t.increment_number = $1 ORDER BY t.number"
    );
    let Some((number, increment)) = find_in(view, id)? else {
        return Ok(None);
    };
    let depends_on = view.rows(
        sql!(
            "SELECT DISTINCT i.id FROM tasks t
               JOIN task_dependencies d ON d.task_number = t.number
               JOIN tasks o ON o.number = d.depends_on_number
               JOIN increments i ON i.number = o.increment_number
              WHERE t.increment_number = $1 AND t.stage = 'implementation'
              ORDER BY d.position"
        ),
        params![number],
        |row| row.parsed(0),
    )?;
    let tasks = view.rows(TASKS, params![number], |row| Ok(tasks::from_row(row)?.task))?;
    Ok(Some(IncrementTasks {
        increment,
        depends_on,
        tasks,
    }))
}

/// Selects increments behind a number.
pub(crate) const SELECT_ARCHIVE: Statement<2> = sql!(
    select_increments!(),
    " WHERE i.number > $1 ORDER BY i.number LIMIT $2"
);

/// Lists increments, oldest first, all or those in a state.
pub(crate) fn list(
    view: &View<'_>,
    state: Option<IncrementState>,
    after: Option<&IncrementId>,
    limit: u32,
) -> Result<Page<Increment>> {
    const PAGE: Statement<3> = sql!(
        select_increments!(),
        " WHERE i.number > $1 AND ($2 IS NULL OR i.state = $2) ORDER BY i.number LIMIT $3"
    );
    let after = match after {
        None => 0,
        Some(id) => number(view, id)?.ok_or_else(|| Refusal::IncrementNotFound(id.clone()))?,
    };
    let increments = view.rows(
        PAGE,
        params![after, state.map(IncrementState::as_str), limit + 1],
        from_row,
    )?;
    Ok(Page::cut(increments, limit, |increment: &Increment| {
        increment.id.to_string()
    }))
}

fn number(view: &View<'_>, id: &IncrementId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM increments WHERE id = $1"),
        params![id.as_str()],
        |row| row.integer(0),
    )
}
