//! The lists of the dispatcher's overview.

use crate::domain::{
    AgentName, DispatchedRequest, HandoffId, Kind, KindMode, Priority, RequestId, RequestState,
    TaskId, Text, Timestamp, WaitingRequest,
};
use crate::store::{FromRow, Result, Statement, View, columns, params, sql};

/// Counts the approved requests, without those whose tag was removed from its file.
pub fn count_delegated(view: &View<'_>) -> Result<u64> {
    const DELEGATED: Statement<0> =
        sql!("SELECT count(*) FROM requests WHERE state = 'delegated' AND withdrawn_at IS NULL");
    view.one(DELEGATED, params![], |row| row.get(0))
}

columns! {
    struct ClaimedRow {
        id: RequestId = "r.id",
        title: Text = "r.title",
        kind: Kind = "r.kind",
        priority: Priority = "r.priority",
        agent: Option<AgentName> = "r.lease_agent",
        claimed_at: Option<Timestamp> =
            "(SELECT max(moved_at) FROM request_transitions x
               WHERE x.request_number = r.number AND x.to_state = 'claimed') AS claimed_at",
        updated_at: Timestamp = "r.updated_at",
        task_id: Option<TaskId> = "t.id",
        handoff_id: Option<HandoffId> = "h.id",
        run: Option<String> =
            "CASE WHEN r.job_id IS NOT NULL THEN 'job'
                  ELSE (SELECT u.state FROM runs u WHERE u.handoff_number = h.number AND u.state <> 'ended') END",
        workspace: Option<Text> = "t.agent_workspace",
        job_id: Option<Text> = "r.job_id",
        attempts: u32 = "r.attempts",
    }
}

impl From<ClaimedRow> for DispatchedRequest {
    fn from(row: ClaimedRow) -> Self {
        Self {
            id: row.id,
            title: row.title,
            kind: row.kind,
            priority: row.priority,
            agent: row.agent,
            since: row.claimed_at.unwrap_or(row.updated_at),
            task_id: row.task_id,
            handoff_id: row.handoff_id,
            run: row.run,
            workspace: row.workspace,
            job_id: row.job_id,
            attempts: row.attempts,
        }
    }
}

/// Lists claimed requests, earliest claim first.
pub fn list_claimed(view: &View<'_>, limit: u32) -> Result<Vec<DispatchedRequest>> {
    const CLAIMED: Statement<1> = sql!(
        "SELECT ",
        ClaimedRow::COLUMNS,
        " FROM requests r
          LEFT JOIN handoffs h ON h.number = r.handoff_number
          LEFT JOIN tasks t ON t.number = coalesce(h.task_number, r.task_number)
         WHERE r.state = 'claimed'
         ORDER BY claimed_at, r.number LIMIT $1"
    );
    view.rows(CLAIMED, params![limit], |row| {
        Ok(ClaimedRow::from_row(row)?.into())
    })
}

columns! {
    /// A kind with waiting requests, its rule, and the availability of the rule's agent.
    pub struct HeldRow {
        pub kind: Kind = "r.kind",
        pub count: u64 = "count(*)",
        pub agent: Option<AgentName> = "d.agent_name",
        pub mode: Option<KindMode> = "d.mode",
        pub available: Option<bool> = "a.available",
    }
}

/// Lists the kinds with waiting requests that the dispatcher cannot start, by name.
pub fn list_held(view: &View<'_>) -> Result<Vec<HeldRow>> {
    const HELD: Statement<0> = sql!(
        "SELECT ",
        HeldRow::COLUMNS,
        " FROM requests r
          LEFT JOIN dispatch_routes d ON d.kind = r.kind
          LEFT JOIN agents a ON a.name = d.agent_name
         WHERE r.withdrawn_at IS NULL
           AND ((r.state = 'delegated' AND (d.kind IS NULL OR d.mode = 'interactive' OR a.available IS NOT 1))
                OR (r.state = 'needs' AND d.kind IS NULL))
         GROUP BY r.kind ORDER BY r.kind"
    );
    view.rows(HELD, params![], HeldRow::from_row)
}

columns! {
    struct UnclaimedRow {
        id: RequestId = "r.id",
        title: Text = "r.title",
        kind: Kind = "r.kind",
        priority: Priority = "r.priority",
        since: Timestamp = "r.updated_at",
        attempts: u32 = "r.attempts",
        last_failure: Option<Text> =
            "(SELECT c.reason FROM request_recoveries c WHERE c.request_number = r.number
               ORDER BY c.number DESC LIMIT 1)",
    }
}

impl From<UnclaimedRow> for WaitingRequest {
    fn from(row: UnclaimedRow) -> Self {
        Self {
            id: row.id,
            title: row.title,
            kind: row.kind,
            priority: row.priority,
            since: row.since,
            attempts: row.attempts,
            last_failure: row.last_failure,
        }
    }
}

/// Lists the requests of a state that are stuck, or those that are not, oldest first.
pub fn list_unclaimed(
    view: &View<'_>,
    state: RequestState,
    is_stuck: bool,
    limit: u32,
) -> Result<Vec<WaitingRequest>> {
    const UNCLAIMED: Statement<3> = sql!(
        "SELECT ",
        UnclaimedRow::COLUMNS,
        " FROM requests r
         WHERE r.state = $1 AND r.is_stuck = $2 AND r.withdrawn_at IS NULL ORDER BY r.number LIMIT $3"
    );
    view.rows(UNCLAIMED, params![state, is_stuck, limit], |row| {
        Ok(UnclaimedRow::from_row(row)?.into())
    })
}
