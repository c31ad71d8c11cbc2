//! The table `increments`.

use super::tasks;
use crate::domain::{Increment, IncrementId, IncrementState, Page, Task, TaskId, Text, Timestamp};
use crate::store::{FromRow, Item, Result, Row, Statement, Tx, View, columns, params, sql, text};

columns! {
    struct IncrementRow {
        number: i64 = "i.number",
        id: IncrementId = "i.id",
        state: IncrementState = "i.state",
        round: u32 = "i.round",
        created_at: Timestamp = "i.created_at",
        updated_at: Timestamp = "i.updated_at",
        blocked_by: Option<Text> = "i.blocked_by",
        title: Text = "i.title",
        test_command: Option<Text> = "i.test_command",
        description: Text = "i.description",
    }
}

const SELECT: &str = text!("SELECT ", IncrementRow::COLUMNS, " FROM increments i");

#[derive(Debug, Clone)]
pub struct StoredIncrement {
    pub number: i64,
    pub increment: Increment,
}

impl From<IncrementRow> for StoredIncrement {
    fn from(row: IncrementRow) -> Self {
        Self {
            number: row.number,
            increment: Increment {
                id: row.id,
                state: row.state,
                round: row.round,
                created_at: row.created_at,
                updated_at: row.updated_at,
                blocked_by: row.blocked_by,
                title: row.title,
                test_command: row.test_command,
                description: row.description,
            },
        }
    }
}

fn from_row(row: &Row<'_>) -> Result<StoredIncrement> {
    Ok(IncrementRow::from_row(row)?.into())
}

pub fn insert(tx: &Tx<'_>, increment: &Increment) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO increments (id, state, round, created_at, updated_at, blocked_by, title, test_command, description)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)"
        ),
        params![
            increment.id,
            increment.state,
            increment.round,
            increment.created_at,
            increment.updated_at,
            increment.blocked_by,
            increment.title,
            increment.test_command,
            increment.description,
        ],
    )?;
    Ok(())
}

/// Saves the state and the round of an increment.
pub fn update(tx: &Tx<'_>, number: i64, increment: &Increment) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE increments SET state = $1, round = $2, blocked_by = $3, updated_at = $4 WHERE number = $5"
        ),
        params![
            increment.state,
            increment.round,
            increment.blocked_by,
            increment.updated_at,
            number
        ],
    )?;
    Ok(())
}

pub fn find(view: &View<'_>, id: &IncrementId) -> Result<Option<StoredIncrement>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE i.id = $1");
    view.row(ONE, params![id], from_row)
}

pub fn after(view: &View<'_>, number: i64, limit: u32) -> Result<Vec<StoredIncrement>> {
    const AFTER: Statement<2> = sql!(SELECT, " WHERE i.number > $1 ORDER BY i.number LIMIT $2");
    view.rows(AFTER, params![number, limit], from_row)
}

pub fn page(
    view: &View<'_>,
    state: Option<IncrementState>,
    newest: bool,
    after: Option<i64>,
    limit: u32,
) -> Result<Page<Increment>> {
    const OLDEST: Statement<3> = sql!(
        SELECT,
        " WHERE i.number > $1 AND ($2 IS NULL OR i.state = $2) ORDER BY i.number LIMIT $3"
    );
    const NEWEST: Statement<3> = sql!(
        SELECT,
        " WHERE i.number < $1 AND ($2 IS NULL OR i.state = $2) ORDER BY i.number DESC LIMIT $3"
    );
    const INCREMENTS: Item<Increment> = Item {
        from_row: |row| Ok(from_row(row)?.increment),
        name: |increment| increment.id.to_string(),
    };
    let (statement, start) = if newest {
        (NEWEST, i64::MAX)
    } else {
        (OLDEST, 0)
    };
    let after = after.unwrap_or(start);
    view.page(
        statement,
        params![after, state, limit + 1],
        limit,
        &INCREMENTS,
    )
}

pub fn dependencies(view: &View<'_>, number: i64) -> Result<Vec<IncrementId>> {
    view.rows(
        sql!(
            "SELECT DISTINCT i.id FROM tasks t
               JOIN task_dependencies d ON d.task_number = t.number
               JOIN tasks o ON o.number = d.depends_on_number
               JOIN increments i ON i.number = o.increment_number
              WHERE t.increment_number = $1 AND t.stage = 'implementation'
              ORDER BY d.position"
        ),
        params![number],
        |row| row.get(0),
    )
}

/// Lists the tasks of an increment in creation order.
pub fn tasks(view: &View<'_>, number: i64) -> Result<Vec<Task>> {
    const TASKS: Statement<1> = sql!(
        tasks::SELECT,
        " WHERE t.increment_number = $1 ORDER BY t.number"
    );
    view.rows(TASKS, params![number], |row| Ok(tasks::from_row(row)?.task))
}

pub fn find_last_verification(view: &View<'_>, id: &IncrementId) -> Result<Option<TaskId>> {
    view.row(
        sql!(
            "SELECT t.id FROM increments i JOIN tasks t ON t.increment_number = i.number
              WHERE i.id = $1 AND t.stage = 'verify' ORDER BY t.number DESC LIMIT 1"
        ),
        params![id],
        |row| row.get(0),
    )
}
