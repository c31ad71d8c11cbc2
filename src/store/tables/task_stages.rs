//! The tasks of an increment's rounds, in the table `tasks`.

use crate::domain::{Stage, TaskId, Text};
use crate::store::{FromRow, Result, Statement, Tx, View, columns, params, sql};

columns! {
    /// A stage that has failed or waits for the operator.
    pub struct StuckStage {
        pub id: TaskId = "id",
        pub stage: Stage = "stage",
        pub waiting_reason: Option<Text> = "waiting_reason",
        pub failure_message: Option<Text> = "failure_message",
    }
}

/// Finds the stage that blocks a round: a stage that waits for the operator before a failed one, newest first.
pub fn find_stuck(
    view: &View<'_>,
    increment_number: i64,
    round: u32,
) -> Result<Option<StuckStage>> {
    const STUCK: Statement<2> = sql!(
        "SELECT ",
        StuckStage::COLUMNS,
        " FROM tasks
         WHERE increment_number = $1 AND round = $2 AND (is_blocked = 1 OR status = 'failed')
         ORDER BY is_blocked DESC, number DESC LIMIT 1"
    );
    view.row(
        STUCK,
        params![increment_number, round],
        StuckStage::from_row,
    )
}

pub fn has_incomplete(view: &View<'_>, increment_number: i64, round: u32) -> Result<bool> {
    view.has(
        sql!(
            "SELECT 1 FROM tasks WHERE increment_number = $1 AND round = $2 AND status <> 'completed' LIMIT 1"
        ),
        params![increment_number, round],
    )
}

pub fn find_incomplete_test(
    view: &View<'_>,
    increment_number: i64,
    round: u32,
) -> Result<Option<i64>> {
    view.row(
        sql!(
            "SELECT number FROM tasks
              WHERE increment_number = $1 AND round = $2 AND stage = 'test' AND status <> 'completed'
              ORDER BY number DESC LIMIT 1"
        ),
        params![increment_number, round],
        |row| row.get(0),
    )
}

columns! {
    pub struct Verification {
        pub number: i64 = "t.number",
        pub has_not_begun: bool = "t.status = 'pending'
            AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)",
    }
}

pub fn find_verification(
    view: &View<'_>,
    increment_number: i64,
    round: u32,
) -> Result<Option<Verification>> {
    const VERIFICATION: Statement<2> = sql!(
        "SELECT ",
        Verification::COLUMNS,
        " FROM tasks t WHERE t.increment_number = $1 AND t.round = $2 AND t.stage = 'verify'
         ORDER BY t.number DESC LIMIT 1"
    );
    view.row(
        VERIFICATION,
        params![increment_number, round],
        Verification::from_row,
    )
}

/// Lists the open stages of a round without an active agent.
pub fn idle(view: &View<'_>, increment_number: i64, round: u32) -> Result<Vec<TaskId>> {
    view.rows(
        sql!(
            "SELECT t.id FROM tasks t
              WHERE t.increment_number = $1 AND t.round = $2 AND t.status <> 'completed' AND t.status <> 'failed'
                AND NOT EXISTS (SELECT 1 FROM handoffs h WHERE h.task_number = t.number AND h.completed_at IS NULL)"
        ),
        params![increment_number, round],
        |row| row.get(0),
    )
}

pub fn set_round(tx: &Tx<'_>, task_number: i64, round: u32) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET round = $1 WHERE number = $2"),
        params![round, task_number],
    )?;
    Ok(())
}
