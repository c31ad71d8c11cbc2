//! The table `handoffs`: starting, ending and reading hand-offs.

use super::caller::Caller;
use super::{dispatches, increment_stages, mail, message, reports, routing, runs};
use crate::domain::{
    AgentName, ChainEntry, Context, ConversationHistory, EventKind, Handoff, HandoffId,
    HandoffRequest, Mode, MovedConversation, Needs, NewTask, Outcome, Refusal, Report,
    ReportResult, RunId, SpanId, Task, TaskId, Text, Timestamp, TraceId, TraceParent,
};
use crate::ledger::{history, reactions, task};
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{
    EndHandoff, FromRow, Item, Json, LeftRun, Page, Result, Row, Statement, StoreError, Tx, View,
    columns, params, sql,
};
use crate::telemetry::HandoffSpan;

/// A hand-off to be begun, whichever door it came through.
pub(crate) struct Begin<'a> {
    pub mode: Mode,
    pub agent_name: AgentName,
    pub from_agent: Option<AgentName>,
    /// The hand-off that it comes from.
    pub from_number: Option<i64>,
    /// The hand-off whose agent waits for its end.
    pub waiter_number: Option<i64>,
    pub trace: Option<TraceParent>,
    pub prompt: &'a str,
    pub reason: Option<&'a Text>,
    /// The provider's session that goes on.
    pub resumes: Option<&'a str>,
    /// Whether Chorus runs the agent.
    pub is_invoked: bool,
}

/// A hand-off that was begun.
pub struct Begun {
    pub on: StoredTask,
    pub handoff_number: i64,
}

/// Opens a hand-off and queues its run. Every door ends here.
pub(crate) fn begin(tx: &mut Tx<'_>, mut on: StoredTask, begin: Begin<'_>) -> Result<Begun> {
    let entry = on
        .task
        .start_handoff(begin.agent_name, begin.from_agent, begin.mode, tx.now)?
        .clone();
    increment_stages::check_round(tx, &on)?;
    routing::decided(tx, &mut on)?;
    let row = NewRow {
        task_number: on.number,
        position: on.task.agent_chain().len(),
        entry: &entry,
        prompt: begin.prompt,
        reason: begin.reason,
        from_number: begin.from_number,
        waiter_number: begin.waiter_number,
        trace_id: begin.trace.as_ref().map(|trace| &trace.trace_id),
        parent_span_id: begin.trace.as_ref().map(|trace| &trace.parent_id),
        is_invoked: begin.is_invoked,
    };
    let handoff_number = insert(tx, &row)?;
    if begin.is_invoked {
        runs::queue(tx, handoff_number, entry.started_at, begin.resumes)?;
    }
    // A transfer brings the message that was there before.
    if begin.mode != Mode::Transfer {
        message::record_prompt(tx, on.on(), handoff_number)?;
    }
    // Where control goes, the requests go that were worked on. A run that begins a conversation keeps its own.
    if let (Mode::Transfer, Some(from_number)) = (begin.mode, begin.from_number) {
        dispatches::follow(tx, from_number, handoff_number)?;
    }
    tasks::update_status(tx, on.number, &on.task)?;
    increment_stages::refresh(tx, &on)?;
    let started = EventKind::HandoffStarted {
        agent_name: entry.agent_name,
    };
    history::record(tx, on.on(), Some((&entry.id, handoff_number)), started)?;
    Ok(Begun { on, handoff_number })
}

/// Makes a task below another one, with the same work to do in the same place.
pub(crate) fn make_child(
    tx: &mut Tx<'_>,
    parent: &StoredTask,
    agent_name: &AgentName,
    context: Context,
) -> Result<StoredTask> {
    let task = &parent.task;
    let new = NewTask {
        id: TaskId::new(),
        description: task.description.clone(),
        parent_id: Some(task.id.clone()),
        session_id: task.session_id.clone(),
        context,
        needs: Needs::default(),
        part: None,
        source: task.source.clone(),
        agent_workspace: task.agent_workspace.clone(),
    };
    let child = task::create(tx, &new)?;
    let created = EventKind::ChildTaskCreated {
        task_id: child.task.id.clone(),
        agent_name: agent_name.clone(),
    };
    history::record(tx, parent.on(), None, created)?;
    Ok(child)
}

/// A hand-off's own row.
pub(crate) struct NewRow<'a> {
    pub task_number: i64,
    pub position: usize,
    pub entry: &'a ChainEntry,
    pub prompt: &'a str,
    pub reason: Option<&'a Text>,
    pub from_number: Option<i64>,
    pub waiter_number: Option<i64>,
    pub trace_id: Option<&'a TraceId>,
    pub parent_span_id: Option<&'a SpanId>,
    pub is_invoked: bool,
}

/// Inserts a hand-off's own row and returns its number.
pub(crate) fn insert(tx: &Tx<'_>, row: &NewRow<'_>) -> Result<i64> {
    let NewRow { entry, .. } = row;
    let end = entry.end.as_ref();
    tx.insert(
        sql!(
            "INSERT INTO handoffs (id, task_number, position, agent_name, from_agent, mode, started_at, completed_at,
                                   outcome, reason, output, prompt, from_number, waiter_number, trace_id, parent_span_id,
                                   is_invoked)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)"
        ),
        params![
            entry.id.as_str(),
            row.task_number,
            i64::try_from(row.position).map_err(StoreError::inconsistent)?,
            entry.agent_name.as_str(),
            entry.from_agent.as_ref().map(AgentName::as_str),
            entry.mode.as_str(),
            entry.started_at.as_millis(),
            end.map(|end| end.at.as_millis()),
            end.map(|end| end.outcome.as_str()),
            row.reason.map(Text::as_str),
            end.map_or("", |end| end.output.as_str()),
            row.prompt,
            row.from_number,
            row.waiter_number,
            row.trace_id.map(TraceId::as_str),
            row.parent_span_id.map(SpanId::as_str),
            row.is_invoked,
        ],
    )
}

const SELECT_NUMBER: Statement<1> = sql!("SELECT number FROM handoffs WHERE id = $1");

/// Finds the number of a hand-off.
pub(crate) fn number(view: &View<'_>, id: &HandoffId) -> Result<Option<i64>> {
    view.row(SELECT_NUMBER, params![id.as_str()], |row| row.integer(0))
}

/// Finds the number of the task of a hand-off.
pub(crate) fn task_number(tx: &Tx<'_>, handoff_number: i64) -> Result<Option<i64>> {
    tx.row(
        sql!("SELECT task_number FROM handoffs WHERE number = $1"),
        params![handoff_number],
        |row| row.integer(0),
    )
}

/// Ends the open hand-off of a task, and what it was for.
pub(crate) fn end(tx: &mut Tx<'_>, end: &EndHandoff) -> Result<Task> {
    let on = not_moved(tx, &end.task_id)?;
    Ok(end_open(tx, on, end.outcome, &end.output)?.task)
}

/// Ends the open hand-off of a task from outside. Whoever does so stops the run, which then has not completed itself.
fn end_open(
    tx: &mut Tx<'_>,
    on: StoredTask,
    outcome: Outcome,
    output: &Text,
) -> Result<StoredTask> {
    let closed = close(tx, on, outcome, output)?;
    runs::end(tx, closed.handoff_number, Outcome::Cancelled)?;
    reactions::handoff_ended(tx, closed, outcome, output)
}

/// Ends a hand-off if it is open, and returns its run, which is no longer needed.
pub(crate) fn end_by_number(
    tx: &mut Tx<'_>,
    handoff_number: i64,
    outcome: Outcome,
    output: &Text,
) -> Result<Option<RunId>> {
    let task_id = tx.row(
        sql!(
            "SELECT t.id FROM handoffs h JOIN tasks t ON t.number = h.task_number
              WHERE h.number = $1 AND h.completed_at IS NULL"
        ),
        params![handoff_number],
        |row| row.parsed(0),
    )?;
    let Some(task_id) = task_id else {
        return Ok(None);
    };
    let run_id = runs::not_ended(tx, handoff_number)?;
    end_open(tx, task::load(tx, &task_id)?, outcome, output)?;
    Ok(run_id)
}

/// Loads a task, unless nobody works on it because a tool passed control on.
fn not_moved(tx: &Tx<'_>, task_id: &TaskId) -> Result<StoredTask> {
    let on = task::load(tx, task_id)?;
    if on.task.open_handoff().is_none()
        && let Some(last) = on.task.agent_chain().last()
        && let Some(number) = number(tx, &last.id)?
        && let Some(agent_name) = transferred_to(tx, number)?
    {
        return Err(Refusal::AlreadyMoved {
            task_id: task_id.clone(),
            agent_name,
        }
        .into());
    }
    Ok(on)
}

/// A task whose open hand-off was ended.
pub struct Closed {
    pub on: StoredTask,
    pub handoff_number: i64,
}

/// Ends the open hand-off of a task.
pub(crate) fn close(
    tx: &mut Tx<'_>,
    mut on: StoredTask,
    outcome: Outcome,
    output: &Text,
) -> Result<Closed> {
    let entry = on
        .task
        .end_handoff(outcome, output.clone(), tx.now)?
        .clone();
    // Not RETURNING, for which SQLite builds a temporary tree.
    let open = tx.row(
        sql!(
            "SELECT h.number, h.reason, h.trace_id, h.parent_span_id,
                    (SELECT s.harness_trace_id FROM session_handoffs s WHERE s.handoff_number = h.number)
               FROM handoffs h WHERE h.task_number = $1 AND h.completed_at IS NULL"
        ),
        params![on.number],
        |row| {
            let span = HandoffSpan::is_wanted(outcome).then(|| span(row, &on.task, &entry));
            Ok((row.integer(0)?, span.transpose()?.flatten()))
        },
    )?;
    let (handoff_number, span) = open.ok_or_else(|| {
        StoreError::inconsistent(format!("no open hand-off on task {}", on.task.id))
    })?;
    tx.spans.extend(span);
    tx.execute(
        sql!("UPDATE handoffs SET completed_at = $1, outcome = $2, output = $3 WHERE number = $4"),
        params![
            tx.now.as_millis(),
            outcome.as_str(),
            output.as_str(),
            handoff_number
        ],
    )?;
    tasks::update_status(tx, on.number, &on.task)?;
    let ended = EventKind::HandoffEnded {
        agent_name: entry.agent_name,
        outcome,
        output: output.clone(),
    };
    history::record(tx, on.on(), Some((&entry.id, handoff_number)), ended)?;
    mail::mark_read_after_handoff(tx, handoff_number, outcome)?;
    Ok(Closed { on, handoff_number })
}

/// Returns what is told of a hand-off that has just ended.
fn span(row: &Row<'_>, task: &Task, entry: &ChainEntry) -> Result<Option<HandoffSpan>> {
    let Some(end) = &entry.end else {
        return Ok(None);
    };
    let trace_id = row.optional_parsed(2)?;
    Ok(Some(HandoffSpan {
        trace_id: trace_id.unwrap_or_else(|| (&entry.id).into()),
        span_id: (&entry.id).into(),
        parent_span_id: row.optional_parsed(3)?,
        handoff_id: entry.id.clone(),
        task_id: task.id.clone(),
        session_id: task.session_id.clone(),
        from_agent: entry.from_agent.clone(),
        to_agent: entry.agent_name.clone(),
        mode: entry.mode,
        reason: row.optional_text(1)?,
        started_at: entry.started_at,
        completed_at: end.at,
        outcome: end.outcome,
        harness_trace_id: row.optional_text(4)?,
    }))
}

/// Ends the open hand-off of a task because control moves to another agent. Returns the run that is no longer needed.
pub(crate) fn leave(
    tx: &mut Tx<'_>,
    on: StoredTask,
    to: &AgentName,
    caller: Option<&Caller<'_>>,
) -> Result<(Closed, Option<LeftRun>)> {
    let output = Text::lossy(routed_to(to));
    let closed = close(tx, on, Outcome::Completed, &output)?;
    let by_itself = caller.is_some_and(|caller| caller.number == closed.handoff_number);
    let run_id = runs::not_ended(tx, closed.handoff_number)?;
    let outcome = if by_itself {
        Outcome::Completed
    } else {
        Outcome::Cancelled
    };
    runs::end(tx, closed.handoff_number, outcome)?;
    let left = run_id.map(|run_id| LeftRun { run_id, by_itself });
    Ok((closed, left))
}

/// Finds the agent that a hand-off was transferred to.
pub(crate) fn transferred_to(tx: &Tx<'_>, handoff_number: i64) -> Result<Option<AgentName>> {
    tx.row(
        sql!("SELECT agent_name FROM handoffs WHERE from_number = $1 AND mode = 'transfer'"),
        params![handoff_number],
        |row| row.parsed(0),
    )
}

/// Says where control moved.
pub(crate) fn routed_to(agent_name: &AgentName) -> String {
    format!("Routed to {agent_name}")
}

macro_rules! select_handoffs {
    () => {
        "SELECT h.id, t.id, h.agent_name, h.from_agent, h.mode, h.prompt, h.reason, h.started_at, h.completed_at,
                h.output, h.outcome, r.usage, r.cost_usd,
                r.id, r.attempt, r.state, r.outcome, r.queued_at, r.started_at, r.ended_at,
                (SELECT f.id FROM handoffs f WHERE f.number = h.from_number),
                coalesce((SELECT n.id FROM handoffs n WHERE n.from_number = h.number AND n.mode = 'transfer'),
                         -- A conversation that was taken from the agent, not one that moved on when it had finished.
                         (SELECT n.id FROM handoffs n WHERE n.from_number = h.number AND n.mode = 'session'
                             AND n.started_at = h.completed_at AND h.output = 'Routed to ' || n.agent_name)),
                h.trace_id, h.parent_span_id, t.session_id,
                (SELECT s.harness_trace_id FROM session_handoffs s WHERE s.handoff_number = h.number),
                p.result, p.summary, p.details
           FROM handoffs h
           JOIN tasks t ON t.number = h.task_number
           LEFT JOIN reports p ON p.handoff_number = h.number
           LEFT JOIN runs r ON r.handoff_number = h.number
                           AND r.attempt = (SELECT max(attempt) FROM runs WHERE handoff_number = h.number)"
    };
}

fn from_row(row: &Row<'_>) -> Result<Handoff> {
    let output = row.text(9)?;
    let outcome = row.optional_word(10, Outcome::parse)?;
    let id: HandoffId = row.parsed(0)?;
    let trace_id = row.optional_parsed(22)?;
    Ok(Handoff {
        from_handoff_id: row.optional_parsed(20)?,
        transferred_to: row.optional_parsed(21)?,
        trace_id: trace_id.unwrap_or_else(|| (&id).into()),
        parent_span_id: row.optional_parsed(23)?,
        session_id: row.optional_text(24)?,
        harness_trace_id: row.optional_text(25)?,
        id,
        task_id: row.parsed(1)?,
        agent_name: row.parsed(2)?,
        from_agent: row.optional_parsed(3)?,
        mode: row.word(4, Mode::parse)?,
        prompt: row.text(5)?,
        reason: row.optional_text(6)?,
        started_at: row.timestamp(7)?,
        completed_at: row.optional_timestamp(8)?,
        error: outcome
            .filter(|outcome| *outcome != Outcome::Completed)
            .map(|_| output.clone()),
        output,
        outcome,
        usage: row.optional_json(11)?,
        cost_usd: row.optional_real(12)?,
        run: runs::from_row(row, 13)?,
        report: reports::from_row(row, 26)?,
    })
}

pub(crate) fn find(view: &View<'_>, id: &HandoffId) -> Result<Option<Handoff>> {
    const ONE: Statement<1> = sql!(select_handoffs!(), " WHERE h.id = $1");
    view.row(ONE, params![id.as_str()], from_row)
}

pub(crate) fn list(view: &View<'_>, task_id: &TaskId) -> Result<Option<Vec<Handoff>>> {
    const OF_TASK: Statement<1> = sql!(
        select_handoffs!(),
        " WHERE h.task_number = $1 ORDER BY h.position"
    );
    let Some(number) = tasks::find_number(view, task_id)? else {
        return Ok(None);
    };
    view.rows(OF_TASK, params![number], from_row).map(Some)
}

columns! {
    /// A hand-off as an archive has it: with what was asked.
    struct ArchivedRow {
        id: HandoffId = "h.id",
        agent_name: AgentName = "h.agent_name",
        from_agent: Option<AgentName> = "h.from_agent",
        mode: Mode = "h.mode",
        started_at: Timestamp = "h.started_at",
        completed_at: Option<Timestamp> = "h.completed_at",
        outcome: Option<Outcome> = "h.outcome",
        output: Text = "h.output",
        prompt: Text = "h.prompt",
        reason: Option<Text> = "h.reason",
        from_handoff_id: Option<HandoffId> = "f.id",
        trace_id: Option<TraceId> = "h.trace_id",
        is_invoked: bool = "h.is_invoked",
        history: Option<String> = "s.history",
        harness_trace_id: Option<Text> = "s.harness_trace_id",
        result: Option<ReportResult> = "p.result",
        summary: Option<Text> = "p.summary",
        details: Option<Json<serde_json::Value>> = "p.details",
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
            });
        let report = row.result.map(|result| Report {
            result,
            summary: row.summary.unwrap_or_default(),
            details: row.details.map(|Json(details)| details),
            agent_context: None,
        });
        let request = HandoffRequest {
            prompt: row.prompt,
            reason: row.reason,
            from_handoff_id: row.from_handoff_id,
            trace_id: row.trace_id,
            moved,
            report,
        };
        Ok(Self {
            end: tasks::end(&row.id, row.completed_at, row.outcome, row.output)?,
            id: row.id,
            agent_name: row.agent_name,
            from_agent: row.from_agent,
            mode: row.mode,
            started_at: row.started_at,
            request: Some(request),
        })
    }
}

/// Lists the hand-offs of a task with what was asked, in the order of its chain.
pub(crate) fn with_requests(view: &View<'_>, task_number: i64) -> Result<Vec<ChainEntry>> {
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

/// How hand-offs are put into pages.
const HANDOFFS: Item<Handoff> = Item {
    from_row,
    size: |handoff| handoff.prompt.as_str().len() + handoff.output.as_str().len(),
    name: |handoff| handoff.id.to_string(),
};

/// Lists the hand-offs of a trace, oldest first: those that began it, took it over, or came from a harness with it.
pub(crate) fn of_trace(
    view: &View<'_>,
    trace: &str,
    after: Option<&HandoffId>,
    limit: u32,
) -> Result<Page<Handoff>> {
    const OF_TRACE: Statement<5> = sql!(
        select_handoffs!(),
        " WHERE h.number IN (SELECT number FROM handoffs WHERE id = $1
                             UNION SELECT number FROM handoffs WHERE trace_id = $2
                             UNION SELECT handoff_number FROM session_handoffs WHERE harness_trace_id = $3)
            AND h.number > $4
          ORDER BY h.number LIMIT $5"
    );
    let after = match after {
        None => 0,
        Some(id) => number(view, id)?.ok_or_else(|| Refusal::HandoffNotFound(id.clone()))?,
    };
    // A trace that began with a hand-off has the digits of its id.
    let id = uuid::Uuid::try_parse(trace).map(|id| id.hyphenated().to_string());
    view.page(
        OF_TRACE,
        params![id.ok(), trace.to_ascii_lowercase(), trace, after, limit + 1],
        limit,
        &HANDOFFS,
    )
}
