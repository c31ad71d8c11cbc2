//! Reading whole requests.

use crate::domain::{
    AgentName, Effort, HandoffId, Kind, Lease, Page, Priority, Recovery, Request, RequestId,
    RequestQuery, RequestSource, RequestSourceType, RequestState, RunId, TaskId, Text, Timestamp,
    Transition,
};
use crate::store::{
    FromRow, Item, Json, LARGEST_PAGE, Result, Row, Statement, View, columns, packed, params, sql,
    text,
};

/// A request with its database keys.
#[derive(Debug, Clone)]
pub struct StoredRequest {
    pub number: i64,
    pub task_number: Option<i64>,
    pub handoff_number: Option<i64>,
    /// The hand-off whose agent claimed the request beside its own work.
    pub claimant: Option<Claimant>,
    /// Whether its hand-off only starts an external job.
    pub is_job: bool,
    pub request: Request,
}

/// A hand-off whose agent claimed a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimant {
    pub number: i64,
    pub handoff_id: HandoffId,
}

packed! {
    struct PackedTransition {
        number: i64 = "x.number",
        from: Option<RequestState> = "x.from_state",
        to: RequestState = "x.to_state",
        by: Text = "x.moved_by",
        at: Timestamp = "x.moved_at",
        reason: Option<Text> = "x.reason",
    }
}

packed! {
    struct PackedRecovery {
        number: i64 = "c.number",
        date: Timestamp = "c.recovered_at",
        reason: Text = "c.reason",
        earlier_run: Option<RunId> = "c.earlier_run_id",
        action: Text = "c.action",
    }
}

columns! {
    /// A whole request, read in one row and so in one snapshot.
    struct RequestRow {
        number: i64 = "r.number",
        id: RequestId = "r.id",
        title: Text = "r.title",
        body: Text = "r.body",
        kind: Kind = "r.kind",
        state: RequestState = "r.state",
        priority: Priority = "r.priority",
        effort: Option<Effort> = "r.effort",
        source_type: RequestSourceType = "r.source_type",
        source_task_id: Option<TaskId> = "(SELECT s.id FROM tasks s WHERE s.number = r.source_task_number)",
        source_file: Option<Text> = "r.source_file",
        source_line: Option<u32> = "r.source_line",
        source_user_id: Option<Text> = "r.source_user_id",
        task_id: Option<TaskId> = "(SELECT t.id FROM tasks t WHERE t.number = r.task_number)",
        response: Option<Text> = "r.response",
        attempts: u32 = "r.attempts",
        lease_agent: Option<AgentName> = "r.lease_agent",
        lease_expires_at: Option<Timestamp> = "r.lease_expires_at",
        transitions: Json<Vec<PackedTransition>> = text!(
            "(SELECT ", PackedTransition::PACKED, " FROM request_transitions x WHERE x.request_number = r.number)"
        ),
        recovery: Json<Vec<PackedRecovery>> = text!(
            "(SELECT ", PackedRecovery::PACKED, " FROM request_recoveries c WHERE c.request_number = r.number)"
        ),
        created_at: Timestamp = "r.created_at",
        updated_at: Timestamp = "r.updated_at",
        approved_at: Option<Timestamp> = "r.approved_at",
        is_stuck: bool = "r.is_stuck",
        withdrawn_at: Option<Timestamp> = "r.withdrawn_at",
        handoff_id: Option<HandoffId> = "(SELECT h.id FROM handoffs h WHERE h.number = r.handoff_number)",
        job_id: Option<Text> = "r.job_id",
        agent_workspace: Option<Text> = "r.agent_workspace",
        task_number: Option<i64> = "r.task_number",
        handoff_number: Option<i64> = "r.handoff_number",
        claimant_number: Option<i64> = "r.claimant_number",
        claimant_id: Option<HandoffId> = "(SELECT h.id FROM handoffs h WHERE h.number = r.claimant_number)",
        is_job: bool = "r.is_job",
    }
}

pub(super) const SELECT: &str = text!("SELECT ", RequestRow::COLUMNS, " FROM requests r");

impl From<RequestRow> for StoredRequest {
    fn from(row: RequestRow) -> Self {
        let lease = row.lease_agent.zip(row.lease_expires_at);
        let lease = lease.map(|(agent, expires_at)| Lease {
            agent,
            fencing: row.attempts,
            expires_at,
        });
        let request = Request {
            id: row.id,
            title: row.title,
            body: row.body,
            kind: row.kind,
            state: row.state,
            priority: row.priority,
            effort: row.effort,
            source: RequestSource {
                source_type: row.source_type,
                task_id: row.source_task_id,
                file: row.source_file,
                line: row.source_line,
                user_id: row.source_user_id,
            },
            task_id: row.task_id,
            response: row.response,
            attempts: row.attempts,
            lease,
            transitions: unpack_transitions(row.transitions.0),
            recovery: unpack_recoveries(row.recovery.0),
            created_at: row.created_at,
            updated_at: row.updated_at,
            approved_at: row.approved_at,
            stuck: row.is_stuck,
            withdrawn_at: row.withdrawn_at,
            handoff_id: row.handoff_id,
            job_id: row.job_id,
            agent_workspace: row.agent_workspace,
        };
        let claimant = row.claimant_number.zip(row.claimant_id);
        Self {
            number: row.number,
            task_number: row.task_number,
            handoff_number: row.handoff_number,
            claimant: claimant.map(|(number, handoff_id)| Claimant { number, handoff_id }),
            is_job: row.is_job,
            request,
        }
    }
}

fn unpack_transitions(mut packed: Vec<PackedTransition>) -> Vec<Transition> {
    packed.sort_unstable_by_key(|transition| transition.number);
    let transition = |packed: PackedTransition| Transition {
        from: packed.from,
        to: packed.to,
        by: packed.by,
        at: packed.at,
        reason: packed.reason,
    };
    packed.into_iter().map(transition).collect()
}

fn unpack_recoveries(mut packed: Vec<PackedRecovery>) -> Vec<Recovery> {
    packed.sort_unstable_by_key(|recovery| recovery.number);
    let recovery = |packed: PackedRecovery| Recovery {
        date: packed.date,
        reason: packed.reason,
        earlier_run: packed.earlier_run,
        action: packed.action,
    };
    packed.into_iter().map(recovery).collect()
}

pub(super) fn from_row(row: &Row<'_>) -> Result<StoredRequest> {
    Ok(RequestRow::from_row(row)?.into())
}

pub(super) fn request_from_row(row: &Row<'_>) -> Result<Request> {
    Ok(from_row(row)?.request)
}

pub fn find(view: &View<'_>, id: &RequestId) -> Result<Option<StoredRequest>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE r.id = $1");
    view.row(ONE, params![id], from_row)
}

pub fn find_number(view: &View<'_>, id: &RequestId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM requests WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

pub fn after(view: &View<'_>, number: i64, limit: u32) -> Result<Vec<StoredRequest>> {
    const AFTER: Statement<2> = sql!(SELECT, " WHERE r.number > $1 ORDER BY r.number LIMIT $2");
    view.rows_within(LARGEST_PAGE, AFTER, params![number, limit], from_row)
}

/// Lists the requests of a hand-off, in order.
pub fn of_handoff(view: &View<'_>, handoff_number: i64) -> Result<Vec<StoredRequest>> {
    const OF_HANDOFF: Statement<1> = sql!(SELECT, " WHERE r.handoff_number = $1 ORDER BY r.number");
    view.rows(OF_HANDOFF, params![handoff_number], from_row)
}

/// Lists the requests that the agent of a hand-off claimed beside its own work, in order.
pub fn claimed_by(view: &View<'_>, handoff_number: i64) -> Result<Vec<StoredRequest>> {
    const CLAIMED: Statement<1> = sql!(SELECT, " WHERE r.claimant_number = $1 ORDER BY r.number");
    view.rows(CLAIMED, params![handoff_number], from_row)
}

/// Whether a hand-off has a request.
pub fn has_of_handoff(view: &View<'_>, handoff_number: i64) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM requests WHERE handoff_number = $1"),
        params![handoff_number],
    )
}

pub fn count_of_task(view: &View<'_>, task_number: i64) -> Result<usize> {
    view.one(
        sql!("SELECT count(*) FROM requests WHERE task_number = $1"),
        params![task_number],
        |row| row.get(0),
    )
}

/// Whether a task has a request that is not done.
pub fn has_open_of_task(view: &View<'_>, task_number: i64) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM requests WHERE task_number = $1 AND state <> 'done' LIMIT 1"),
        params![task_number],
    )
}

const REQUESTS: Item<Request> = Item {
    from_row: request_from_row,
    name: |request| request.id.to_string(),
};

pub fn page(view: &View<'_>, query: &RequestQuery, after: Option<i64>) -> Result<Page<Request>> {
    const OLDEST_OF_STATE: Statement<6> = sql!(
        SELECT,
        " WHERE r.state = $1 AND r.number > $2 AND ($3 IS NULL OR r.kind = $3) AND ($4 IS NULL OR r.priority = $4)
            AND (r.withdrawn_at IS NOT NULL) = $5
          ORDER BY r.number LIMIT $6"
    );
    const NEWEST_OF_STATE: Statement<6> = sql!(
        SELECT,
        " WHERE r.state = $1 AND r.number < $2 AND ($3 IS NULL OR r.kind = $3) AND ($4 IS NULL OR r.priority = $4)
            AND (r.withdrawn_at IS NOT NULL) = $5
          ORDER BY r.number DESC LIMIT $6"
    );
    const OLDEST: Statement<5> = sql!(
        SELECT,
        " WHERE r.number > $1 AND ($2 IS NULL OR r.kind = $2) AND ($3 IS NULL OR r.priority = $3)
            AND (r.withdrawn_at IS NOT NULL) = $4
          ORDER BY r.number LIMIT $5"
    );
    const NEWEST: Statement<5> = sql!(
        SELECT,
        " WHERE r.number < $1 AND ($2 IS NULL OR r.kind = $2) AND ($3 IS NULL OR r.priority = $3)
            AND (r.withdrawn_at IS NOT NULL) = $4
          ORDER BY r.number DESC LIMIT $5"
    );
    let RequestQuery {
        kind,
        state,
        priority,
        withdrawn,
        newest,
        limit,
        ..
    } = query;
    let after = after.unwrap_or(if *newest { i64::MAX } else { 0 });
    let (limit, more) = (*limit, limit + 1);
    match (state, newest) {
        (Some(state), false) => view.page(
            OLDEST_OF_STATE,
            params![state, after, kind, priority, withdrawn, more],
            limit,
            &REQUESTS,
        ),
        (Some(state), true) => view.page(
            NEWEST_OF_STATE,
            params![state, after, kind, priority, withdrawn, more],
            limit,
            &REQUESTS,
        ),
        (None, false) => view.page(
            OLDEST,
            params![after, kind, priority, withdrawn, more],
            limit,
            &REQUESTS,
        ),
        (None, true) => view.page(
            NEWEST,
            params![after, kind, priority, withdrawn, more],
            limit,
            &REQUESTS,
        ),
    }
}
