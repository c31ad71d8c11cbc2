//! The table `task_dependencies`. Triggers count the unmet dependencies of a task in `tasks.unmet`.

use crate::domain::{AgentName, Dependency, DependencyOutcome, Role, StatusName, TaskId};
use crate::store::{FromRow, Result, Statement, Tx, View, columns, params, sql};

/// Inserts the dependencies of a task. Skips tasks that do not exist.
pub fn insert_all(tx: &Tx<'_>, task_number: i64, depends_on: &[Dependency]) -> Result<()> {
    for (position, dependency) in (1_i64..).zip(depends_on) {
        tx.execute(
            sql!(
                "INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome)
                 SELECT $1, $2, number, $3 FROM tasks WHERE id = $4 AND number <> $1"
            ),
            params![
                task_number,
                position,
                dependency.outcome,
                dependency.task_id
            ],
        )?;
    }
    Ok(())
}

pub fn replace_all(tx: &Tx<'_>, task_number: i64, depends_on: &[Dependency]) -> Result<()> {
    tx.execute(
        sql!("DELETE FROM task_dependencies WHERE task_number = $1"),
        params![task_number],
    )?;
    insert_all(tx, task_number, depends_on)
}

/// Replaces the target of one dependency.
pub fn repoint(tx: &Tx<'_>, dependant: &Dependant, to_number: i64) -> Result<()> {
    tx.execute(
        sql!("DELETE FROM task_dependencies WHERE task_number = $1 AND position = $2"),
        params![dependant.task_number, dependant.position],
    )?;
    tx.execute(
        sql!(
            "INSERT INTO task_dependencies (task_number, position, depends_on_number, outcome)
             VALUES ($1, $2, $3, $4)"
        ),
        params![
            dependant.task_number,
            dependant.position,
            to_number,
            dependant.outcome
        ],
    )?;
    Ok(())
}

/// Whether a task has at least a number of dependants.
pub fn has_dependants_from(view: &View<'_>, task_number: i64, count: u32) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM task_dependencies WHERE depends_on_number = $1 LIMIT 1 OFFSET $2 - 1"),
        params![task_number, count],
    )
}

pub fn has_dependants(view: &View<'_>, task_number: i64) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM task_dependencies WHERE depends_on_number = $1 LIMIT 1"),
        params![task_number],
    )
}

/// Lists the tasks on which a task depends.
pub fn targets(view: &View<'_>, id: &TaskId) -> Result<Vec<TaskId>> {
    view.rows(
        sql!(
            "SELECT o.id FROM tasks t
               JOIN task_dependencies d ON d.task_number = t.number
               JOIN tasks o ON o.number = d.depends_on_number
              WHERE t.id = $1"
        ),
        params![id],
        |row| row.get(0),
    )
}

columns! {
    /// A task that depends on the completion of another one.
    pub struct Dependant {
        pub task_number: i64 = "d.task_number",
        pub position: i64 = "d.position",
        pub id: TaskId = "t.id",
        pub outcome: DependencyOutcome = "d.outcome",
    }
}

/// Lists the tasks that depend on the completion of a task: pending ones, and all outside its increment.
pub fn dependants_to_repoint(view: &View<'_>, task_number: i64) -> Result<Vec<Dependant>> {
    const DEPENDANTS: Statement<1> = sql!(
        "SELECT ",
        Dependant::COLUMNS,
        " FROM task_dependencies d JOIN tasks t ON t.number = d.task_number
         WHERE d.depends_on_number = $1 AND d.outcome = 'completed'
           AND (t.status = 'pending' OR t.increment_number IS NOT (SELECT increment_number FROM tasks WHERE number = $1))"
    );
    view.rows(DEPENDANTS, params![task_number], Dependant::from_row)
}

/// Lists the pending tasks whose dependency on a task is met by its status.
pub fn released_by(view: &View<'_>, task_number: i64, status: StatusName) -> Result<Vec<TaskId>> {
    view.rows(
        sql!(
            "SELECT t.id FROM task_dependencies d
               JOIN tasks t ON t.number = d.task_number
              WHERE d.depends_on_number = $1 AND t.status = 'pending' AND (d.outcome = 'any' OR d.outcome = $2)
              ORDER BY t.number"
        ),
        params![task_number, status],
        |row| row.get(0),
    )
}

/// Lists the tasks whose dependency on a task is met by its status, whatever their own status is.
pub fn met_by(view: &View<'_>, task_number: i64, status: StatusName) -> Result<Vec<TaskId>> {
    view.rows(
        sql!(
            "SELECT t.id FROM task_dependencies d
               JOIN tasks t ON t.number = d.task_number
              WHERE d.depends_on_number = $1 AND (d.outcome = 'any' OR d.outcome = $2)
              ORDER BY t.number"
        ),
        params![task_number, status],
        |row| row.get(0),
    )
}

columns! {
    /// A dependency, with the status of its target.
    pub struct DependencyStatus {
        pub task_id: TaskId = "o.id",
        pub status: StatusName = "o.status",
        pub outcome: DependencyOutcome = "d.outcome",
    }
}

/// Lists the dependencies of a task in their given order.
pub fn of_task(view: &View<'_>, task_number: i64) -> Result<Vec<DependencyStatus>> {
    const OF_TASK: Statement<1> = sql!(
        "SELECT ",
        DependencyStatus::COLUMNS,
        " FROM task_dependencies d JOIN tasks o ON o.number = d.depends_on_number
         WHERE d.task_number = $1 ORDER BY d.position"
    );
    view.rows(OF_TASK, params![task_number], DependencyStatus::from_row)
}

/// Finds the agent of the hand-off that ended last on any dependency of a task.
pub fn find_last_agent(view: &View<'_>, task_number: i64) -> Result<Option<AgentName>> {
    view.row(
        sql!(
            "SELECT h.agent_name FROM task_dependencies d
               JOIN handoffs h ON h.task_number = d.depends_on_number
              WHERE d.task_number = $1 AND h.completed_at IS NOT NULL
              ORDER BY h.completed_at DESC, h.number DESC LIMIT 1"
        ),
        params![task_number],
        |row| row.get(0),
    )
}

/// Finds the role of the dependency that ended last.
pub fn find_last_role(view: &View<'_>, task_number: i64) -> Result<Option<Role>> {
    view.row(
        sql!(
            "SELECT o.agent_role FROM task_dependencies d
               JOIN tasks o ON o.number = d.depends_on_number
              WHERE d.task_number = $1 AND o.agent_role IS NOT NULL AND (o.status = 'completed' OR o.status = 'failed')
              ORDER BY o.updated_at DESC, o.number DESC LIMIT 1"
        ),
        params![task_number],
        |row| row.get(0),
    )
}
