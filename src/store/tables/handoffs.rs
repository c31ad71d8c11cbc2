//! The table `handoffs`.

use serde_json::Value;

use super::delegations::{self, PackedAsked};
use super::tasks::end;
use crate::domain::{
    AgentName, AskedHandoff, ChainEntry, ConversationHistory, Door, Handoff, HandoffId,
    HandoffRequest, LiveHandoff, MovedConversation, Outcome, Page, Report, ReportResult, Run,
    RunId, RunState, SpanId, TaskId, Text, Timestamp, TraceId,
};
use crate::store::{
    FromRow, Item, Json, Result, Row, Statement, StoreError, Tx, View, columns, params, sql, text,
};

pub struct NewHandoff<'a> {
    pub task_number: i64,
    pub position: usize,
    pub entry: &'a ChainEntry,
    pub prompt: &'a str,
    pub reason: Option<&'a Text>,
    pub from_number: Option<i64>,
    pub waiter_number: Option<i64>,
    pub asked_number: Option<i64>,
    pub trace_id: Option<&'a TraceId>,
    pub parent_span_id: Option<&'a SpanId>,
    pub is_invoked: bool,
    pub takes_control: bool,
    /// The hand-off from which the limits count; `None` for that one itself.
    pub counted_from: Option<i64>,
    /// Whether a person continues a conversation with the agent.
    pub is_chat: bool,
}

/// Inserts a hand-off. Returns its number.
pub fn insert(tx: &Tx<'_>, row: &NewHandoff<'_>) -> Result<i64> {
    let NewHandoff { entry, .. } = row;
    let end = entry.end.as_ref();
    tx.insert(
        sql!(
            "INSERT INTO handoffs (id, task_number, position, agent_name, from_agent, mode, started_at, completed_at,
                                   outcome, reason, output, prompt, from_number, waiter_number, trace_id, parent_span_id,
                                   is_invoked, takes_control, asked_number, counted_from_number, is_chat)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21)"
        ),
        params![
            entry.id,
            row.task_number,
            i64::try_from(row.position).map_err(StoreError::inconsistent)?,
            entry.agent_name,
            entry.from_agent,
            entry.mode,
            entry.started_at,
            end.map(|end| end.at),
            end.map(|end| end.outcome),
            row.reason,
            end.map_or("", |end| end.output.as_str()),
            row.prompt,
            row.from_number,
            row.waiter_number,
            row.trace_id,
            row.parent_span_id,
            row.is_invoked,
            row.takes_control,
            row.asked_number,
            row.counted_from,
            row.is_chat,
        ],
    )
}

pub fn complete(tx: &Tx<'_>, number: i64, outcome: Outcome, output: &Text) -> Result<()> {
    tx.execute(
        sql!("UPDATE handoffs SET completed_at = $1, outcome = $2, output = $3 WHERE number = $4"),
        params![tx.now, outcome, output, number],
    )?;
    Ok(())
}

pub fn find_number(view: &View<'_>, id: &HandoffId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM handoffs WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

pub fn find_open_number(view: &View<'_>, id: &HandoffId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM handoffs WHERE id = $1 AND completed_at IS NULL"),
        params![id],
        |row| row.get(0),
    )
}

pub fn find_task_number(view: &View<'_>, number: i64) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT task_number FROM handoffs WHERE number = $1"),
        params![number],
        |row| row.get(0),
    )
}

pub fn find_task_of_open(view: &View<'_>, number: i64) -> Result<Option<TaskId>> {
    view.row(
        sql!(
            "SELECT t.id FROM handoffs h JOIN tasks t ON t.number = h.task_number
              WHERE h.number = $1 AND h.completed_at IS NULL"
        ),
        params![number],
        |row| row.get(0),
    )
}

columns! {
    /// The links of a hand-off to others.
    pub struct HandoffLink {
        pub number: i64 = "number",
        /// The hand-off whose agent waits for the end of this one.
        pub waiter_number: Option<i64> = "waiter_number",
        /// The hand-off that the waiting agent asked for: this one, unless control has moved here.
        pub asked_number: i64 = "coalesce(asked_number, number)",
        pub trace_id: Option<TraceId> = "trace_id",
        /// The hand-off from which the limits count.
        pub counted_from: i64 = "coalesce(counted_from_number, number)",
    }
}

impl HandoffLink {
    /// Returns the hand-off that the waiting agent asked for, if one waits.
    pub fn answered(&self) -> Option<i64> {
        self.waiter_number.map(|_| self.asked_number)
    }
}

pub fn find_link(view: &View<'_>, id: &HandoffId) -> Result<Option<HandoffLink>> {
    const LINK: Statement<1> = sql!(
        "SELECT ",
        HandoffLink::COLUMNS,
        " FROM handoffs WHERE id = $1"
    );
    view.row(LINK, params![id], HandoffLink::from_row)
}

/// Finds the hand-off that the waiting agent asked for, from which a hand-off came by moves of control.
pub fn find_asked(view: &View<'_>, number: i64) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT coalesce(asked_number, number) FROM handoffs WHERE number = $1"),
        params![number],
        |row| row.get(0),
    )
}

pub fn find_prompt(view: &View<'_>, number: i64) -> Result<Option<Text>> {
    view.row(
        sql!("SELECT prompt FROM handoffs WHERE number = $1"),
        params![number],
        |row| row.get(0),
    )
}

columns! {
    /// The open hand-off of a task, with the data for its span.
    pub struct OpenHandoff {
        pub number: i64 = "h.number",
        pub reason: Option<Text> = "h.reason",
        pub trace_id: Option<TraceId> = "h.trace_id",
        pub parent_span_id: Option<SpanId> = "h.parent_span_id",
        pub harness_trace_id: Option<Text> =
            "(SELECT s.harness_trace_id FROM session_handoffs s WHERE s.handoff_number = h.number)",
    }
}

pub fn find_open(view: &View<'_>, task_number: i64) -> Result<Option<OpenHandoff>> {
    const OPEN: Statement<1> = sql!(
        "SELECT ",
        OpenHandoff::COLUMNS,
        " FROM handoffs h WHERE h.task_number = $1 AND h.completed_at IS NULL"
    );
    view.row(OPEN, params![task_number], OpenHandoff::from_row)
}

/// Finds the last hand-off of a task.
pub fn find_last_number(view: &View<'_>, task_number: i64) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM handoffs WHERE task_number = $1 ORDER BY position DESC LIMIT 1"),
        params![task_number],
        |row| row.get(0),
    )
}

/// Finds the task of the hand-off to which control moved from a hand-off.
pub fn find_task_after(view: &View<'_>, number: i64) -> Result<Option<i64>> {
    view.row(
        sql!(
            "SELECT task_number FROM handoffs WHERE from_number = $1 AND mode = 'transfer'
             UNION ALL
             SELECT task_number FROM handoffs WHERE from_number = $1 AND mode = 'session' AND takes_control = 1"
        ),
        params![number],
        |row| row.get(0),
    )
}

/// Finds the agent to which a tool passed control from a hand-off.
pub fn find_transfer_target(view: &View<'_>, number: i64) -> Result<Option<AgentName>> {
    view.row(
        sql!("SELECT agent_name FROM handoffs WHERE from_number = $1 AND mode = 'transfer'"),
        params![number],
        |row| row.get(0),
    )
}

/// Finds the agent to which a tool last passed control on a child of a task.
pub fn find_transfer_target_below(view: &View<'_>, task_number: i64) -> Result<Option<AgentName>> {
    view.row(
        sql!(
            "SELECT h.agent_name FROM tasks c
               JOIN handoffs h ON h.task_number = c.number AND h.position = 1 AND h.mode = 'transfer'
              WHERE c.parent_number = $1
              ORDER BY c.number DESC LIMIT 1"
        ),
        params![task_number],
        |row| row.get(0),
    )
}

columns! {
    struct HandoffRow {
        id: HandoffId = "h.id",
        task_id: TaskId = "t.id",
        agent_name: AgentName = "h.agent_name",
        from_agent: Option<AgentName> = "h.from_agent",
        mode: Door = "h.mode",
        prompt: Text = "h.prompt",
        reason: Option<Text> = "h.reason",
        started_at: Timestamp = "h.started_at",
        completed_at: Option<Timestamp> = "h.completed_at",
        output: Text = "h.output",
        outcome: Option<Outcome> = "h.outcome",
        usage: Option<Json<Value>> = "r.usage",
        cost_usd: Option<f64> = "r.cost_usd",
        run_id: Option<RunId> = "r.id",
        run_attempt: Option<u32> = "r.attempt",
        run_state: Option<RunState> = "r.state",
        run_outcome: Option<Outcome> = "r.outcome",
        run_queued_at: Option<Timestamp> = "r.queued_at",
        run_started_at: Option<Timestamp> = "r.started_at",
        run_ended_at: Option<Timestamp> = "r.ended_at",
        run_failing_since: Option<Timestamp> = "r.failing_since",
        run_last_error: Option<Text> = "r.last_error",
        run_denied_tools: Option<Json<Vec<String>>> = "r.denied_tools",
        from_handoff_id: Option<HandoffId> = "(SELECT f.id FROM handoffs f WHERE f.number = h.from_number)",
        transferred_to: Option<HandoffId> =
            "coalesce((SELECT n.id FROM handoffs n WHERE n.from_number = h.number AND n.mode = 'transfer'),
                      (SELECT n.id FROM handoffs n
                        WHERE n.from_number = h.number AND n.mode = 'session' AND n.takes_control = 1))",
        trace_id: Option<TraceId> = "h.trace_id",
        parent_span_id: Option<SpanId> = "h.parent_span_id",
        session_id: Option<Text> = "t.session_id",
        harness_trace_id: Option<Text> =
            "(SELECT s.harness_trace_id FROM session_handoffs s WHERE s.handoff_number = h.number)",
        report_result: Option<ReportResult> = "p.result",
        report_summary: Option<Text> = "p.summary",
        report_details: Option<Json<Value>> = "p.details",
        last_progress_at: Option<Timestamp> =
            "(SELECT e.occurred_at FROM events e
               WHERE e.task_number = h.task_number AND h.completed_at IS NULL ORDER BY e.number DESC LIMIT 1)",
        waits_for: Json<Vec<PackedAsked>> = delegations::WAITS_FOR,
        unanswered: Json<Vec<PackedAsked>> = delegations::UNANSWERED,
    }
}

const SELECT: &str = text!(
    "SELECT ",
    HandoffRow::COLUMNS,
    " FROM handoffs h
      JOIN tasks t ON t.number = h.task_number
      LEFT JOIN reports p ON p.handoff_number = h.number
      LEFT JOIN runs r ON r.handoff_number = h.number
                      AND r.attempt = (SELECT max(attempt) FROM runs WHERE handoff_number = h.number)"
);

impl HandoffRow {
    fn run(&self) -> Option<Run> {
        Some(Run {
            id: self.run_id.clone()?,
            attempt: self.run_attempt?,
            state: self.run_state?,
            outcome: self.run_outcome,
            queued_at: self.run_queued_at?,
            started_at: self.run_started_at,
            ended_at: self.run_ended_at,
            failing_since: self.run_failing_since,
            last_error: self.run_last_error.clone(),
            denied_tools: self
                .run_denied_tools
                .as_ref()
                .map_or_else(Vec::new, |tools| tools.0.clone()),
        })
    }
}

impl From<HandoffRow> for Handoff {
    fn from(row: HandoffRow) -> Self {
        let run = row.run();
        Self {
            live: row.last_progress_at.map(|last_progress_at| LiveHandoff {
                run_state: row.run_state,
                last_progress_at,
                waits_for: asked(row.waits_for.0),
            }),
            unanswered_handoffs: asked(row.unanswered.0),
            run,
            report: report(row.report_result, row.report_summary, row.report_details),
            from_handoff_id: row.from_handoff_id,
            transferred_to: row.transferred_to,
            trace_id: row.trace_id.unwrap_or_else(|| (&row.id).into()),
            parent_span_id: row.parent_span_id,
            session_id: row.session_id,
            harness_trace_id: row.harness_trace_id,
            id: row.id,
            task_id: row.task_id,
            agent_name: row.agent_name,
            from_agent: row.from_agent,
            mode: row.mode,
            prompt: row.prompt,
            reason: row.reason,
            started_at: row.started_at,
            completed_at: row.completed_at,
            error: row
                .outcome
                .filter(|outcome| *outcome != Outcome::Completed)
                .map(|_| row.output.clone()),
            output: row.output,
            outcome: row.outcome,
            usage: row.usage.map(|Json(usage)| usage),
            cost_usd: row.cost_usd,
        }
    }
}

/// Unpacks hand-offs that an agent asked for, oldest first.
pub fn asked(packed: Vec<PackedAsked>) -> Vec<AskedHandoff> {
    let mut asked: Vec<_> = packed.into_iter().map(AskedHandoff::from).collect();
    asked.sort_unstable_by(|one, other| {
        (one.started_at, one.id.as_str()).cmp(&(other.started_at, other.id.as_str()))
    });
    asked
}

impl From<PackedAsked> for AskedHandoff {
    fn from(packed: PackedAsked) -> Self {
        Self {
            id: packed.id,
            task_id: packed.task_id,
            agent_name: packed.agent_name,
            started_at: packed.started_at,
            outcome: packed.outcome,
        }
    }
}

/// Builds a report from its columns, if there is one.
pub fn report(
    result: Option<ReportResult>,
    summary: Option<Text>,
    details: Option<Json<Value>>,
) -> Option<Report> {
    Some(Report {
        result: result?,
        summary: summary.unwrap_or_default(),
        details: details.map(|Json(details)| details),
        agent_context: None,
    })
}

fn from_row(row: &Row<'_>) -> Result<Handoff> {
    Ok(HandoffRow::from_row(row)?.into())
}

pub fn find(view: &View<'_>, id: &HandoffId) -> Result<Option<Handoff>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE h.id = $1");
    view.row(ONE, params![id], from_row)
}

const HANDOFFS: Item<Handoff> = Item {
    from_row,
    name: |handoff| handoff.id.to_string(),
};

/// Lists the hand-offs of a task after a number, in chain order, until they are too large for one page.
pub fn of_task(view: &View<'_>, task_number: i64, after: i64) -> Result<Page<Handoff>> {
    const OF_TASK: Statement<2> = sql!(
        SELECT,
        " WHERE h.task_number = $1
            AND h.position > coalesce((SELECT position FROM handoffs WHERE number = $2), 0)
          ORDER BY h.position"
    );
    view.page(OF_TASK, params![task_number, after], u32::MAX, &HANDOFFS)
}

/// Lists the hand-offs of a trace, oldest first: those that started the trace, inherited it, or came from a harness with it.
pub fn of_trace(view: &View<'_>, trace: &str, after: i64, limit: u32) -> Result<Page<Handoff>> {
    const OF_TRACE: Statement<5> = sql!(
        SELECT,
        " WHERE h.number IN (SELECT number FROM handoffs WHERE id = $1
                             UNION SELECT number FROM handoffs WHERE trace_id = $2
                             UNION SELECT handoff_number FROM session_handoffs WHERE harness_trace_id = $3)
            AND h.number > $4
          ORDER BY h.number LIMIT $5"
    );
    // A trace that was started by a hand-off has the digits of its id.
    let id = uuid::Uuid::try_parse(trace).map(|id| id.hyphenated().to_string());
    view.page(
        OF_TRACE,
        params![id.ok(), trace.to_ascii_lowercase(), trace, after, limit + 1],
        limit,
        &HANDOFFS,
    )
}

columns! {
    /// A hand-off for an archive, with its request.
    struct ArchivedRow {
        id: HandoffId = "h.id",
        agent_name: AgentName = "h.agent_name",
        from_agent: Option<AgentName> = "h.from_agent",
        mode: Door = "h.mode",
        started_at: Timestamp = "h.started_at",
        completed_at: Option<Timestamp> = "h.completed_at",
        outcome: Option<Outcome> = "h.outcome",
        output: Text = "h.output",
        prompt: Text = "h.prompt",
        reason: Option<Text> = "h.reason",
        from_handoff_id: Option<HandoffId> = "f.id",
        trace_id: Option<TraceId> = "h.trace_id",
        is_invoked: bool = "h.is_invoked",
        takes_control: bool = "h.takes_control",
        history: Option<String> = "s.history",
        harness_trace_id: Option<Text> = "s.harness_trace_id",
        result: Option<ReportResult> = "p.result",
        summary: Option<Text> = "p.summary",
        details: Option<Json<Value>> = "p.details",
    }
}

impl TryFrom<ArchivedRow> for ChainEntry {
    type Error = StoreError;

    fn try_from(row: ArchivedRow) -> Result<Self> {
        let history = row.history.map(ConversationHistory::from_json).transpose();
        let moved = history
            .map_err(StoreError::inconsistent)?
            .map(|history| MovedConversation {
                history,
                harness_trace_id: row.harness_trace_id,
                is_invoked: row.is_invoked,
                takes_control: Some(row.takes_control),
            });
        let request = HandoffRequest {
            prompt: row.prompt,
            reason: row.reason,
            from_handoff_id: row.from_handoff_id,
            trace_id: row.trace_id,
            moved,
            report: report(row.result, row.summary, row.details),
        };
        Ok(Self {
            end: end(&row.id, row.completed_at, row.outcome, row.output)?,
            id: row.id,
            agent_name: row.agent_name,
            from_agent: row.from_agent,
            mode: row.mode,
            started_at: row.started_at,
            request: Some(request),
        })
    }
}

/// Lists the hand-offs of a task with their requests, in chain order.
pub fn with_requests(view: &View<'_>, task_number: i64) -> Result<Vec<ChainEntry>> {
    const ARCHIVED: Statement<1> = sql!(
        "SELECT ",
        ArchivedRow::COLUMNS,
        " FROM handoffs h
          LEFT JOIN handoffs f ON f.number = h.from_number
          LEFT JOIN session_handoffs s ON s.handoff_number = h.number
          LEFT JOIN reports p ON p.handoff_number = h.number
         WHERE h.task_number = $1 ORDER BY h.position"
    );
    view.rows(ARCHIVED, params![task_number], |row| {
        ArchivedRow::from_row(row)?.try_into()
    })
}
