//! The table `tasks`, and tasks with all that belongs to them.

use super::{dependencies, events, increment_stages, lineage, readiness};
use crate::domain::{
    AgentName, Attachment, AttachmentId, ChainEntry, ConversationHistory, Dependency,
    DependencyOutcome, EventKind, Filename, HandoffEnd, HandoffId, HandoffRequest, IncrementPart,
    Minutes, Mode, MovedConversation, Needs, NewTask, Outcome, Planning, PlanningChange, Refusal,
    Report, ReportResult, Role, Routing, Source, Stage, Status, StatusName, Task, TaskId,
    TaskPriority, Text, Timestamp, TraceId,
};
use crate::store::{Result, Row, Statement, StoreError, Tx, View, params, sql};

/// A task with what only the store knows of it.
pub(crate) struct StoredTask {
    pub number: i64,
    /// The number of the first task of its chain.
    pub chain_number: i64,
    pub task: Task,
    pub attachment_ids: Vec<AttachmentId>,
}

/// Which task something is about.
#[derive(Clone, Copy)]
pub(crate) struct On<'a> {
    pub number: i64,
    /// The number of the first task of its chain.
    pub chain_number: i64,
    pub id: &'a TaskId,
    pub master_id: Option<&'a TaskId>,
}

impl StoredTask {
    pub const fn on(&self) -> On<'_> {
        On {
            number: self.number,
            chain_number: self.chain_number,
            id: &self.task.id,
            master_id: self.task.master_id.as_ref(),
        }
    }
}

/// Selects whole tasks, each in one row and so at one moment. The argument is what is read of a hand-off's request.
///
/// What belongs to a task is put in order afterwards, by the first value of each array: an ORDER BY inside of an
/// aggregate makes SQLite build a temporary tree for every task, which costs more than reading the chain.
macro_rules! select_tasks {
    ($request:literal) => {
        concat!(
            "SELECT t.number, t.id, t.status, t.failure_message, t.created_at, t.updated_at, t.session_id, t.source_type,
                    t.source_user_id, t.source_conversation_id, t.agent_workspace, t.description,
                    t.summary, t.requirements, t.acceptance_criteria, t.plan,
                    (SELECT json_group_array(json_array(h.position, h.id, h.agent_name, h.from_agent, h.mode,
                                                        h.started_at, h.completed_at, h.outcome, h.output,
                                                        ", $request, "))
                       FROM handoffs h WHERE h.task_number = t.number),
                    (SELECT json_group_array(json_array(a.number, a.filename, a.size, a.content_type, a.uploaded_at, a.id))
                       FROM attachments a WHERE a.task_number = t.number),
                    (SELECT p.id FROM tasks p WHERE p.number = t.parent_number),
                    (SELECT m.id FROM tasks m WHERE m.number = t.master_number),
                    t.context, coalesce(t.master_number, t.number),
                    t.agent_role, t.specialist_tags, t.estimated_minutes, t.priority, t.agent_context, t.handoff_instructions,
                    (SELECT json_group_array(json_array(d.position, o.id, d.outcome))
                       FROM task_dependencies d JOIN tasks o ON o.number = d.depends_on_number
                      WHERE d.task_number = t.number),
                    (SELECT i.id FROM increments i WHERE i.number = t.increment_number), t.stage, t.round,
                    t.route_attempts, t.waiting_reason, t.is_blocked
               FROM tasks t"
        )
    };
}

pub(crate) use select_tasks;

/// An entry of the chain, as [`select_tasks`] packs it.
type PackedEntry = (
    i64,
    HandoffId,
    AgentName,
    Option<AgentName>,
    Mode,
    Timestamp,
    Option<Timestamp>,
    Option<Outcome>,
    Text,
    Option<PackedRequest>,
);

/// What was asked, as [`SELECT_ARCHIVE`] packs it.
type PackedRequest = (
    Text,
    Option<Text>,
    Option<HandoffId>,
    Option<TraceId>,
    u8,
    Option<String>,
    Option<Text>,
    Option<PackedReport>,
);

/// What an agent said of its work, as [`SELECT_ARCHIVE`] packs it.
type PackedReport = (ReportResult, Text, Option<serde_json::Value>);

/// An attachment, as [`select_tasks`] packs it.
type PackedAttachment = (i64, Filename, u64, Text, Timestamp, AttachmentId);

/// A dependency, as [`select_tasks`] packs it.
type PackedDependency = (i64, TaskId, DependencyOutcome);

/// Selects whole tasks behind a number, with the prompts of their hand-offs.
pub(crate) const SELECT_ARCHIVE: Statement<2> = sql!(
    select_tasks!(
        "json_array(h.prompt, h.reason, (SELECT f.id FROM handoffs f WHERE f.number = h.from_number), h.trace_id,
                    h.is_invoked,
                    (SELECT s.history FROM session_handoffs s WHERE s.handoff_number = h.number),
                    (SELECT s.harness_trace_id FROM session_handoffs s WHERE s.handoff_number = h.number),
                    (SELECT json_array(p.result, p.summary, json(p.details)) FROM reports p WHERE p.handoff_number = h.number))"
    ),
    " WHERE t.number > $1 ORDER BY t.number LIMIT $2"
);

const SELECT_ONE: Statement<1> = sql!(select_tasks!("NULL"), " WHERE t.id = $1");

pub(crate) fn from_row(row: &Row<'_>) -> Result<StoredTask> {
    let planning = match row.optional_text(12)? {
        None => None,
        Some(summary) => Some(Planning {
            summary,
            requirements: row.json(13)?,
            acceptance_criteria: row.json(14)?,
            plan: row.json(15)?,
        }),
    };
    let new = NewTask {
        id: row.parsed(1)?,
        parent_id: row.optional_parsed(18)?,
        session_id: row.optional_text(6)?,
        context: row.json(20)?,
        needs: needs(row)?,
        part: part(row)?,
        description: row.text(11)?,
        source: Source {
            source_type: row.text(7)?,
            user_id: row.text(8)?,
            conversation_id: row.optional_text(9)?,
        },
        agent_workspace: row.text(10)?,
    };
    let mut attachments: Vec<PackedAttachment> = row.json(17)?;
    attachments.sort_unstable_by_key(|packed| packed.0);
    let (attachments, attachment_ids) = attachments.into_iter().map(unpack_attachment).unzip();
    let mut chain: Vec<PackedEntry> = row.json(16)?;
    chain.sort_unstable_by_key(|packed| packed.0);
    let chain = chain.into_iter().map(unpack_entry).collect::<Result<_>>()?;
    let mut task = Task::new(new, row.timestamp(4)?)
        .with_agent_chain(chain)
        .map_err(StoreError::inconsistent)?;
    task.planning = planning;
    task.status = status(row, 2)?;
    task.updated_at = row.timestamp(5)?;
    task.master_id = row.optional_parsed(19)?;
    task.attachments = attachments;
    task.routing = Routing {
        attempts: row.unsigned(32)?,
        waiting_reason: row.optional_text(33)?,
        blocked: row.integer(34)? != 0,
    };
    Ok(StoredTask {
        number: row.integer(0)?,
        chain_number: row.integer(21)?,
        task,
        attachment_ids,
    })
}

fn needs(row: &Row<'_>) -> Result<Needs> {
    let mut depends_on: Vec<PackedDependency> = row.json(28)?;
    depends_on.sort_unstable_by_key(|packed| packed.0);
    let depends_on = depends_on
        .into_iter()
        .map(|(_position, task_id, outcome)| Dependency { task_id, outcome });
    Ok(Needs {
        agent_role: row.optional_parsed(22)?,
        specialist_tags: row.json(23)?,
        estimated_duration: row
            .optional_unsigned(24)?
            .map(Minutes::new)
            .transpose()
            .map_err(StoreError::inconsistent)?,
        priority: TaskPriority::new(row.unsigned(25)?).map_err(StoreError::inconsistent)?,
        depends_on: depends_on.collect(),
        agent_context: row.json(26)?,
        handoff_instructions: row.json(27)?,
    })
}

fn part(row: &Row<'_>) -> Result<Option<IncrementPart>> {
    let Some(increment_id) = row.optional_parsed(29)? else {
        return Ok(None);
    };
    Ok(Some(IncrementPart {
        increment_id,
        stage: row.word(30, Stage::parse)?,
        round: row.unsigned(31)?,
    }))
}

/// Reads a status and, in the column behind it, its message.
pub(crate) fn status(row: &Row<'_>, column: usize) -> Result<Status> {
    Status::new(
        row.word(column, StatusName::parse)?,
        row.optional_text(column + 1)?,
    )
    .ok_or_else(|| StoreError::inconsistent("a message of a task that has not failed"))
}

fn unpack_entry(packed: PackedEntry) -> Result<ChainEntry> {
    let (
        _position,
        id,
        agent_name,
        from_agent,
        mode,
        started_at,
        completed_at,
        outcome,
        output,
        request,
    ) = packed;
    let end = match (completed_at, outcome) {
        (Some(at), Some(outcome)) => Some(HandoffEnd {
            at,
            outcome,
            output,
        }),
        (None, None) => None,
        _ => {
            return Err(StoreError::inconsistent(format!(
                "hand-off {id} is half ended"
            )));
        }
    };
    let request = request.map(unpack_request).transpose()?;
    Ok(ChainEntry {
        id,
        agent_name,
        from_agent,
        mode,
        started_at,
        end,
        request,
    })
}

fn unpack_request(
    (prompt, reason, from_handoff_id, trace_id, is_invoked, history, harness_trace_id, report): PackedRequest,
) -> Result<HandoffRequest> {
    let history = history.map(ConversationHistory::from_json).transpose();
    let moved = history
        .map_err(StoreError::inconsistent)?
        .map(|history| MovedConversation {
            history,
            harness_trace_id,
            is_invoked: is_invoked != 0,
        });
    Ok(HandoffRequest {
        prompt,
        reason,
        from_handoff_id,
        trace_id,
        moved,
        report: report.map(|(result, summary, details)| Report {
            result,
            summary,
            details,
            agent_context: None,
        }),
    })
}

fn unpack_attachment(packed: PackedAttachment) -> (Attachment, AttachmentId) {
    let (_number, filename, size, content_type, uploaded_at, id) = packed;
    (
        Attachment {
            filename,
            size,
            content_type,
            uploaded_at,
        },
        id,
    )
}

/// Loads the task that an operation is about.
pub(crate) fn load(tx: &Tx<'_>, id: &TaskId) -> Result<StoredTask> {
    tx.row(SELECT_ONE, params![id.as_str()], |row| from_row(row))?
        .ok_or_else(|| Refusal::TaskNotFound(id.clone()).into())
}

/// Where a task stands, without what it holds.
pub(crate) struct Place {
    pub number: i64,
    /// The number of the first task of its chain.
    pub chain_number: i64,
    pub master_id: Option<TaskId>,
}

impl Place {
    pub const fn on<'a>(&'a self, id: &'a TaskId) -> On<'a> {
        On {
            number: self.number,
            chain_number: self.chain_number,
            id,
            master_id: self.master_id.as_ref(),
        }
    }
}

const SELECT_PLACE: Statement<1> = sql!(
    "SELECT t.number, coalesce(t.master_number, t.number), m.id
       FROM tasks t LEFT JOIN tasks m ON m.number = t.master_number WHERE t.id = $1"
);

/// Reads a place from the first three columns.
pub(crate) fn place_from_row(row: &Row<'_>) -> Result<Place> {
    Ok(Place {
        number: row.integer(0)?,
        chain_number: row.integer(1)?,
        master_id: row.optional_parsed(2)?,
    })
}

/// Finds where the task stands that an operation is about.
pub(crate) fn place(tx: &Tx<'_>, id: &TaskId) -> Result<Place> {
    tx.row(SELECT_PLACE, params![id.as_str()], |row| {
        place_from_row(row)
    })?
    .ok_or_else(|| Refusal::TaskNotFound(id.clone()).into())
}

/// Finds where a task stands that is to be read.
pub(crate) fn find_place(view: &View<'_>, id: &TaskId) -> Result<Option<Place>> {
    view.row(SELECT_PLACE, params![id.as_str()], place_from_row)
}

pub(crate) fn create(tx: &mut Tx<'_>, new: &NewTask) -> Result<StoredTask> {
    dependencies::check_known(tx, &new.needs.depends_on)?;
    let mut task = Task::new(new.clone(), tx.now);
    let mut chain_number = None;
    if let Some(parent_id) = &task.parent_id {
        let parent = place(tx, parent_id)?;
        lineage::check_depth(tx, parent.number)?;
        chain_number = Some(parent.chain_number);
        task.master_id = Some(parent.master_id.unwrap_or_else(|| parent_id.clone()));
    }
    let number = insert(tx, &task)?;
    let mut created = StoredTask {
        number,
        chain_number: chain_number.unwrap_or(number),
        task,
        attachment_ids: Vec::new(),
    };
    let description = created.task.description.clone();
    events::record(
        tx,
        created.on(),
        None,
        EventKind::TaskCreated { description },
    )?;
    let needs = &created.task.needs;
    if needs.agent_role.is_some() || !needs.depends_on.is_empty() {
        dependencies::insert_all(tx, number, &needs.depends_on)?;
        let told = needs.agent_context.clone();
        readiness::take_over(tx, &mut created, &[])?;
        // What its maker says of it counts more.
        created.task.needs.agent_context.extend(told.clone());
        if created.task.needs.agent_context != told {
            readiness::write_context(tx, &created)?;
        }
        readiness::announce(tx, created.on())?;
    }
    Ok(created)
}

/// Inserts a task's own row and returns its number. What it waits for is inserted apart: that may come later.
pub(crate) fn insert(tx: &Tx<'_>, task: &Task) -> Result<i64> {
    let planning = task.planning.as_ref();
    let part = task.part.as_ref();
    tx.insert(
        sql!(
            "INSERT INTO tasks (id, status, failure_message, created_at, updated_at, session_id, source_type,
                                source_user_id, source_conversation_id, agent_workspace, description,
                                summary, requirements, acceptance_criteria, plan, context, parent_number, master_number,
                                agent_role, specialist_tags, estimated_minutes, priority, agent_context,
                                handoff_instructions, increment_number, stage, round, route_attempts, waiting_reason,
                                is_blocked)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                     (SELECT number FROM tasks WHERE id = $17),
                     (SELECT coalesce(master_number, number) FROM tasks WHERE id = $17),
                     $18, $19, $20, $21, $22, $23, (SELECT number FROM increments WHERE id = $24), $25, $26, $27, $28, $29)"
        ),
        params![
            task.id.as_str(),
            task.status.name().as_str(),
            task.status.failure_message().map(Text::as_str),
            task.created_at.as_millis(),
            task.updated_at.as_millis(),
            task.session_id.as_ref().map(Text::as_str),
            task.source.source_type.as_str(),
            task.source.user_id.as_str(),
            task.source.conversation_id.as_ref().map(Text::as_str),
            task.agent_workspace.as_str(),
            task.description.as_str(),
            planning.map(|planning| planning.summary.as_str()),
            planning.map(|planning| to_json(&planning.requirements)),
            planning.map(|planning| to_json(&planning.acceptance_criteria)),
            planning.map(|planning| to_json(&planning.plan)),
            to_json(&task.context),
            task.parent_id.as_ref().map(TaskId::as_str),
            task.needs.agent_role.as_ref().map(Role::as_str),
            to_json(&task.needs.specialist_tags),
            task.needs.estimated_duration.map(Minutes::get),
            task.needs.priority.get(),
            to_json(&task.needs.agent_context),
            to_json(&task.needs.handoff_instructions),
            part.map(|part| part.increment_id.as_str()),
            part.map(|part| part.stage.as_str()),
            part.map(|part| part.round),
            task.routing.attempts,
            task.routing.waiting_reason.as_ref().map(Text::as_str),
            task.routing.blocked,
        ],
    )
}

/// Writes words, texts or objects as JSON.
pub(crate) fn to_json(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("words, texts and objects are JSON")
}

pub(crate) fn set_status(tx: &mut Tx<'_>, id: &TaskId, status: &Status) -> Result<Task> {
    let mut on = load(tx, id)?;
    increment_stages::check_round(tx, &on)?;
    change_status(tx, &mut on, status.clone())?;
    Ok(on.task)
}

/// Sets the status of a task that is loaded.
pub(crate) fn change_status(tx: &mut Tx<'_>, on: &mut StoredTask, status: Status) -> Result<()> {
    let (from, to) = (on.task.status.name(), status.name());
    if on.task.set_status(status, tx.now) {
        update_status(tx, on.number, &on.task)?;
        events::record(tx, on.on(), None, EventKind::StatusChanged { from, to })?;
        readiness::status_changed(tx, on)?;
    }
    Ok(())
}

/// Writes the status of a task that has changed.
pub(crate) fn update_status(tx: &Tx<'_>, number: i64, task: &Task) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET status = $1, failure_message = $2, updated_at = $3 WHERE number = $4"
        ),
        params![
            task.status.name().as_str(),
            task.status.failure_message().map(Text::as_str),
            task.updated_at.as_millis(),
            number
        ],
    )?;
    Ok(())
}

/// Writes that a task has changed in what other tables hold of it.
pub(crate) fn touch(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET updated_at = $1 WHERE number = $2"),
        params![tx.now.as_millis(), number],
    )?;
    Ok(())
}

pub(crate) fn plan(tx: &mut Tx<'_>, id: &TaskId, change: &PlanningChange) -> Result<Task> {
    let mut on = load(tx, id)?;
    if on.task.plan(change.clone(), tx.now)
        && let Some(Planning {
            summary,
            requirements,
            acceptance_criteria,
            plan,
        }) = &on.task.planning
    {
        tx.execute(
            sql!(
                "UPDATE tasks SET summary = $1, requirements = $2, acceptance_criteria = $3, plan = $4, updated_at = $5
                  WHERE number = $6"
            ),
            params![
                summary.as_str(),
                to_json(requirements),
                to_json(acceptance_criteria),
                to_json(plan),
                on.task.updated_at.as_millis(),
                on.number
            ],
        )?;
        events::record(tx, on.on(), None, EventKind::PlanningUpdated)?;
    }
    Ok(on.task)
}

pub(crate) fn find(view: &View<'_>, id: &TaskId) -> Result<Option<Task>> {
    view.row(SELECT_ONE, params![id.as_str()], |row| {
        Ok(from_row(row)?.task)
    })
}

/// Finds the number of a task that is to be read.
pub(crate) fn find_number(view: &View<'_>, id: &TaskId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM tasks WHERE id = $1"),
        params![id.as_str()],
        |row| row.integer(0),
    )
}

const SELECT_BELOW: Statement<2> = sql!(
    "WITH RECURSIVE chain (id, parent_number) AS (
         SELECT id, parent_number FROM tasks WHERE id = $1
         UNION ALL
         SELECT t.id, t.parent_number FROM tasks t JOIN chain ON t.number = chain.parent_number
     )
     SELECT 1 FROM chain WHERE id = $2"
);

/// Tells whether a task is another one, or was handed on from it.
pub(crate) fn is_below(view: &View<'_>, task_id: &TaskId, above: &TaskId) -> Result<bool> {
    view.has(SELECT_BELOW, params![task_id.as_str(), above.as_str()])
}
