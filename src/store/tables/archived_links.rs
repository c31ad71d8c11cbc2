//! The links of tasks and hand-offs to other hand-offs, as archives have them.

use crate::domain::{
    ArchivedDelegation, HandoffId, HandoffLinks, RequestId, SpanId, TaskId, TaskLinks, Timestamp,
};
use crate::store::tables::queue_messages;
use crate::store::{FromRow, Result, Statement, StoreError, Tx, View, columns, params, sql};

columns! {
    struct HandoffRow {
        handoff_id: HandoffId = "h.id",
        waiter_id: Option<HandoffId> = "(SELECT o.id FROM handoffs o WHERE o.number = h.waiter_number)",
        asked_id: Option<HandoffId> = "(SELECT o.id FROM handoffs o WHERE o.number = h.asked_number)",
        counted_from_id: Option<HandoffId> = "(SELECT o.id FROM handoffs o WHERE o.number = h.counted_from_number)",
        parent_span_id: Option<SpanId> = "h.parent_span_id",
        chat: bool = "h.is_chat",
        reported_at: Option<Timestamp> = "(SELECT p.reported_at FROM reports p WHERE p.handoff_number = h.number)",
        asked_on: Option<TaskId> = "t.id",
        is_awaited: Option<bool> = "d.is_awaited",
        delivered_at: Option<Timestamp> = "d.delivered_at",
    }
}

impl From<HandoffRow> for HandoffLinks {
    fn from(row: HandoffRow) -> Self {
        let delivered_at = row.delivered_at;
        let delegation = row.asked_on.zip(row.is_awaited);
        Self {
            handoff_id: row.handoff_id,
            waiter_handoff_id: row.waiter_id,
            asked_handoff_id: row.asked_id,
            counted_from_handoff_id: row.counted_from_id,
            parent_span_id: row.parent_span_id,
            chat: row.chat,
            reported_at: row.reported_at,
            claims: Vec::new(),
            delegation: delegation.map(|(task_id, awaited)| ArchivedDelegation {
                task_id,
                awaited,
                delivered_at,
            }),
        }
    }
}

columns! {
    struct TaskRow {
        context_own: bool = "t.is_context_own",
        unsuited: bool = "t.is_unsuited",
        asked_again: bool = "t.is_asked_again",
        counted_from_id: Option<HandoffId> = "(SELECT o.id FROM handoffs o WHERE o.number = t.counted_from_number)",
    }
}

pub fn of_task(view: &View<'_>, task_number: i64) -> Result<TaskLinks> {
    const HANDOFFS: Statement<1> = sql!(
        "SELECT ",
        HandoffRow::COLUMNS,
        " FROM handoffs h
          LEFT JOIN delegations d ON d.handoff_number = h.number
          LEFT JOIN tasks t ON t.number = d.task_number
         WHERE h.task_number = $1 ORDER BY h.position"
    );
    const CLAIMS: Statement<1> = sql!(
        "SELECT h.id, r.id FROM handoffs h JOIN requests r ON r.claimant_number = h.number
          WHERE h.task_number = $1 ORDER BY r.number"
    );
    const TASK: Statement<1> = sql!(
        "SELECT ",
        TaskRow::COLUMNS,
        " FROM tasks t WHERE t.number = $1"
    );
    let mut handoffs = view.rows(HANDOFFS, params![task_number], |row| {
        HandoffRow::from_row(row).map(HandoffLinks::from)
    })?;
    let claims = view.rows(CLAIMS, params![task_number], |row| {
        Ok((row.get::<HandoffId>(0)?, row.get::<RequestId>(1)?))
    })?;
    for (handoff_id, request_id) in claims {
        let claimant = handoffs
            .iter_mut()
            .find(|links| links.handoff_id == handoff_id);
        claimant
            .ok_or_else(|| {
                StoreError::inconsistent(format!("the claimant of {request_id} is missing"))
            })?
            .claims
            .push(request_id);
    }
    handoffs.retain(|links| !links.is_empty());
    let task = view.one(TASK, params![task_number], TaskRow::from_row)?;
    Ok(TaskLinks {
        context_own: task.context_own,
        unsuited: task.unsuited,
        asked_again: task.asked_again,
        counted_from_handoff_id: task.counted_from_id,
        prompt_messages: queue_messages::prompts(view, task_number)?,
        handoffs,
    })
}

/// Saves the router's notes on an imported task.
pub fn update_task(tx: &Tx<'_>, task_number: i64, links: &TaskLinks) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET is_context_own = $1, is_asked_again = $2,
                              is_unsuited = CASE WHEN waiting_reason IS NULL THEN 0 ELSE $3 END
              WHERE number = $4"
        ),
        params![
            links.context_own,
            links.asked_again,
            links.unsuited,
            task_number
        ],
    )?;
    Ok(())
}

/// Gives an imported request to the open hand-off whose agent has claimed it.
pub fn update_claimant(tx: &Tx<'_>, request_id: &RequestId, handoff_id: &HandoffId) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE requests SET claimant_number = (SELECT h.number FROM handoffs h WHERE h.id = $1 AND h.completed_at IS NULL)
              WHERE id = $2 AND state = 'claimed' AND lease_agent IS NOT NULL AND handoff_number IS NULL"
        ),
        params![handoff_id, request_id],
    )?;
    Ok(())
}

/// Sets the hand-off from which the limits count for an imported task, if it is in the ledger.
pub fn update_counted_from(tx: &Tx<'_>, task_number: i64, handoff_id: &HandoffId) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET counted_from_number = (SELECT h.number FROM handoffs h JOIN tasks o ON o.number = h.task_number
                                                      WHERE h.id = $1 AND h.counted_from_number IS NULL
                                                        AND coalesce(o.master_number, o.number)
                                                          = coalesce(tasks.master_number, tasks.number))
              WHERE number = $2"
        ),
        params![handoff_id, task_number],
    )?;
    Ok(())
}

columns! {
    /// A hand-off to which an imported one is linked.
    pub struct Target {
        pub number: i64 = "h.number",
        pub waiter_number: Option<i64> = "h.waiter_number",
        pub asked_number: Option<i64> = "h.asked_number",
        pub counted_from_number: Option<i64> = "h.counted_from_number",
        pub root_number: i64 = "coalesce(t.master_number, t.number)",
    }
}

pub fn find_target(view: &View<'_>, id: &HandoffId) -> Result<Option<Target>> {
    const TARGET: Statement<1> = sql!(
        "SELECT ",
        Target::COLUMNS,
        " FROM handoffs h JOIN tasks t ON t.number = h.task_number WHERE h.id = $1"
    );
    view.row(TARGET, params![id], Target::from_row)
}

/// Inserts the question of the agent that waits for an imported hand-off. Inserts nothing if no agent waits, or if the task is not in
/// the ledger.
pub fn insert_delegation(
    tx: &Tx<'_>,
    handoff_id: &HandoffId,
    delegation: &ArchivedDelegation,
) -> Result<()> {
    tx.execute(
        sql!(
            "INSERT INTO delegations (handoff_number, caller_number, task_number, is_awaited, delivered_at)
             SELECT h.number, h.waiter_number, t.number, $1, $2 FROM handoffs h JOIN tasks t ON t.id = $3
              WHERE h.id = $4 AND h.waiter_number IS NOT NULL"
        ),
        params![
            delegation.awaited,
            delegation.delivered_at,
            delegation.task_id,
            handoff_id
        ],
    )?;
    Ok(())
}
