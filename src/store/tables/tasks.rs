//! The table `tasks`, and tasks with their chain, attachments and dependencies.

use serde_json::{Map, Value};

use crate::domain::{
    AgentName, Attachment, AttachmentFolder, AttachmentId, ChainEntry, Context, Dependency,
    DependencyOutcome, Door, Filename, HandoffEnd, HandoffId, IncrementId, IncrementPart, Minutes,
    Needs, NewTask, Outcome, Planning, Role, Routing, SharedPlan, Skill, Source, Stage, Status,
    StatusName, Task, TaskId, TaskPlan, TaskPriority, Text, Timestamp,
};
use crate::store::value::to_json;
use crate::store::{
    FromRow, Json, LARGEST_PAGE, Result, Row, Statement, StoreError, Tx, View, columns, packed,
    params, sql, text,
};

/// A task with its database keys.
#[derive(Debug, Clone)]
pub struct StoredTask {
    pub number: i64,
    /// The root of its family.
    pub root_number: i64,
    pub task: Task,
    /// In the order of the attachments.
    pub folders: Vec<AttachmentFolder>,
}

impl StoredTask {
    pub const fn on(&self) -> TaskRef<'_> {
        TaskRef {
            number: self.number,
            root_number: self.root_number,
            id: &self.task.id,
            root_id: self.task.root_id.as_ref(),
        }
    }
}

/// The keys of a task and of the root of its family.
#[derive(Debug, Clone, Copy)]
pub struct TaskRef<'a> {
    pub number: i64,
    pub root_number: i64,
    pub id: &'a TaskId,
    /// The root of its family, `None` for the root itself.
    pub root_id: Option<&'a TaskId>,
}

/// The keys of a task, without its id.
#[derive(Debug, Clone)]
pub struct TaskKeys {
    pub number: i64,
    pub root_number: i64,
    /// The root of its family, `None` for the root itself.
    pub root_id: Option<TaskId>,
}

impl TaskKeys {
    pub const fn on<'a>(&'a self, id: &'a TaskId) -> TaskRef<'a> {
        TaskRef {
            number: self.number,
            root_number: self.root_number,
            id,
            root_id: self.root_id.as_ref(),
        }
    }
}

packed! {
    struct PackedEntry {
        position: i64 = "h.position",
        id: HandoffId = "h.id",
        agent_name: AgentName = "h.agent_name",
        from_agent: Option<AgentName> = "h.from_agent",
        mode: Door = "h.mode",
        started_at: Timestamp = "h.started_at",
        completed_at: Option<Timestamp> = "h.completed_at",
        outcome: Option<Outcome> = "h.outcome",
        output: Text = "h.output",
    }
}

packed! {
    struct PackedAttachment {
        number: i64 = "a.number",
        filename: Filename = "a.filename",
        size: u64 = "a.size",
        content_type: Text = "a.content_type",
        uploaded_at: Timestamp = "a.uploaded_at",
        folder_task_id: TaskId = "coalesce((SELECT f.id FROM tasks f WHERE f.number = a.stored_task_number), t.id)",
        folder_id: AttachmentId = "coalesce(a.stored_id, a.id)",
    }
}

packed! {
    struct PackedDependency {
        position: i64 = "d.position",
        task_id: TaskId = "o.id",
        outcome: DependencyOutcome = "d.outcome",
    }
}

columns! {
    /// A whole task, read in one row and so in one snapshot.
    struct TaskRow {
        number: i64 = "t.number",
        id: TaskId = "t.id",
        status: StatusName = "t.status",
        failure_message: Option<Text> = "t.failure_message",
        created_at: Timestamp = "t.created_at",
        updated_at: Timestamp = "t.updated_at",
        session_id: Option<Text> = "t.session_id",
        source_type: Text = "t.source_type",
        source_user_id: Text = "t.source_user_id",
        source_conversation_id: Option<Text> = "t.source_conversation_id",
        agent_workspace: Text = "t.agent_workspace",
        description: Text = "t.description",
        summary: Option<Text> = "coalesce(p.summary, t.summary)",
        requirements: Option<Json<Vec<Text>>> = "coalesce(p.requirements, t.requirements)",
        acceptance_criteria: Option<Json<Vec<Text>>> = "coalesce(p.acceptance_criteria, t.acceptance_criteria)",
        plan: Option<Json<Vec<Text>>> = "coalesce(p.plan, t.plan)",
        plan_task_id: Option<TaskId> = "p.id",
        chain: Json<Vec<PackedEntry>> = text!(
            "(SELECT ", PackedEntry::PACKED, " FROM handoffs h WHERE h.task_number = t.number)"
        ),
        attachments: Json<Vec<PackedAttachment>> = text!(
            "(SELECT ", PackedAttachment::PACKED, " FROM attachments a WHERE a.task_number = t.number)"
        ),
        parent_id: Option<TaskId> = "(SELECT o.id FROM tasks o WHERE o.number = t.parent_number)",
        root_id: Option<TaskId> = "(SELECT m.id FROM tasks m WHERE m.number = t.master_number)",
        context: Json<Context> = "t.context",
        root_number: i64 = "coalesce(t.master_number, t.number)",
        agent_role: Option<Role> = "t.agent_role",
        specialist_tags: Json<Vec<Skill>> = "t.specialist_tags",
        estimated_duration: Option<Minutes> = "t.estimated_minutes",
        priority: TaskPriority = "t.priority",
        agent_context: Json<Map<String, Value>> = "t.agent_context",
        handoff_instructions: Json<Map<String, Value>> = "t.handoff_instructions",
        depends_on: Json<Vec<PackedDependency>> = text!(
            "(SELECT ", PackedDependency::PACKED,
            " FROM task_dependencies d JOIN tasks o ON o.number = d.depends_on_number WHERE d.task_number = t.number)"
        ),
        increment_id: Option<IncrementId> = "(SELECT i.id FROM increments i WHERE i.number = t.increment_number)",
        stage: Option<Stage> = "t.stage",
        round: Option<u32> = "t.round",
        route_attempts: u32 = "t.route_attempts",
        waiting_reason: Option<Text> = "t.waiting_reason",
        is_blocked: bool = "t.is_blocked",
        is_delegated: bool = "t.is_delegated",
    }
}

/// Selects tasks `t`, each with the task `p` that holds its plan.
pub const SELECT: &str = text!(
    "SELECT ",
    TaskRow::COLUMNS,
    " FROM tasks t LEFT JOIN tasks p ON p.number = t.plan_number"
);

pub fn from_row(row: &Row<'_>) -> Result<StoredTask> {
    TaskRow::from_row(row)?.try_into()
}

impl TryFrom<TaskRow> for StoredTask {
    type Error = StoreError;

    fn try_from(row: TaskRow) -> Result<Self> {
        let list = |list: Option<Json<Vec<Text>>>| list.map(|Json(list)| list).unwrap_or_default();
        let planning = row.summary.map(|summary| Planning {
            summary,
            requirements: list(row.requirements),
            acceptance_criteria: list(row.acceptance_criteria),
            plan: list(row.plan),
        });
        let part = row.increment_id.zip(row.stage).zip(row.round);
        let part = part.map(|((increment_id, stage), round)| IncrementPart {
            increment_id,
            stage,
            round,
        });
        let new = NewTask {
            id: row.id,
            parent_id: row.parent_id,
            session_id: row.session_id,
            context: row.context.0,
            needs: Needs {
                agent_role: row.agent_role,
                specialist_tags: row.specialist_tags.0,
                estimated_duration: row.estimated_duration,
                priority: row.priority,
                depends_on: unpack_dependencies(row.depends_on.0),
                agent_context: row.agent_context.0,
                handoff_instructions: row.handoff_instructions.0,
            },
            part,
            plan: TaskPlan {
                planning,
                shared: row.plan_task_id.map(|task_id| SharedPlan { task_id }),
            },
            description: row.description,
            source: Source {
                source_type: row.source_type,
                user_id: row.source_user_id,
                conversation_id: row.source_conversation_id,
            },
            agent_workspace: row.agent_workspace,
        };
        let mut task = Task::new(new, row.created_at)
            .with_agent_chain(unpack_chain(row.chain.0)?)
            .map_err(StoreError::inconsistent)?;
        let (attachments, folders) = unpack_attachments(row.attachments.0);
        task.status = status(row.status, row.failure_message)?;
        task.updated_at = row.updated_at;
        task.root_id = row.root_id;
        task.attachments = attachments;
        task.is_delegated = row.is_delegated;
        task.routing = Routing {
            attempts: row.route_attempts,
            waiting_reason: row.waiting_reason,
            blocked: row.is_blocked,
        };
        Ok(Self {
            number: row.number,
            root_number: row.root_number,
            task,
            folders,
        })
    }
}

pub fn status(name: StatusName, message: Option<Text>) -> Result<Status> {
    Status::new(name, message)
        .ok_or_else(|| StoreError::inconsistent("a task that has not failed has a failure message"))
}

fn unpack_chain(mut packed: Vec<PackedEntry>) -> Result<Vec<ChainEntry>> {
    packed.sort_unstable_by_key(|entry| entry.position);
    let entry = |packed: PackedEntry| {
        Ok(ChainEntry {
            end: end(
                &packed.id,
                packed.completed_at,
                packed.outcome,
                packed.output,
            )?,
            id: packed.id,
            agent_name: packed.agent_name,
            from_agent: packed.from_agent,
            mode: packed.mode,
            started_at: packed.started_at,
            request: None,
        })
    };
    packed.into_iter().map(entry).collect()
}

/// Builds the end of a hand-off, which has both a time and an outcome, or neither.
pub fn end(
    id: &HandoffId,
    completed_at: Option<Timestamp>,
    outcome: Option<Outcome>,
    output: Text,
) -> Result<Option<HandoffEnd>> {
    match (completed_at, outcome) {
        (Some(at), Some(outcome)) => Ok(Some(HandoffEnd {
            at,
            outcome,
            output,
        })),
        (None, None) => Ok(None),
        _ => Err(StoreError::inconsistent(format!(
            "hand-off {id} has an end time without an outcome, or the reverse"
        ))),
    }
}

fn unpack_attachments(
    mut packed: Vec<PackedAttachment>,
) -> (Vec<Attachment>, Vec<AttachmentFolder>) {
    packed.sort_unstable_by_key(|attachment| attachment.number);
    let attachment = |packed: PackedAttachment| {
        let attachment = Attachment {
            filename: packed.filename,
            size: packed.size,
            content_type: packed.content_type,
            uploaded_at: packed.uploaded_at,
        };
        let folder = AttachmentFolder {
            task_id: packed.folder_task_id,
            id: packed.folder_id,
        };
        (attachment, folder)
    };
    packed.into_iter().map(attachment).unzip()
}

fn unpack_dependencies(mut packed: Vec<PackedDependency>) -> Vec<Dependency> {
    packed.sort_unstable_by_key(|dependency| dependency.position);
    let dependency = |packed: PackedDependency| Dependency {
        task_id: packed.task_id,
        outcome: packed.outcome,
    };
    packed.into_iter().map(dependency).collect()
}

pub fn find(view: &View<'_>, id: &TaskId) -> Result<Option<StoredTask>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE t.id = $1");
    view.row(ONE, params![id], from_row)
}

pub fn find_by_number(view: &View<'_>, number: i64) -> Result<Option<StoredTask>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE t.number = $1");
    view.row(ONE, params![number], from_row)
}

pub fn after(view: &View<'_>, number: i64, limit: u32) -> Result<Vec<StoredTask>> {
    const AFTER: Statement<2> = sql!(SELECT, " WHERE t.number > $1 ORDER BY t.number LIMIT $2");
    view.rows_within(LARGEST_PAGE, AFTER, params![number, limit], from_row)
}

pub fn count(view: &View<'_>) -> Result<u64> {
    view.one(sql!("SELECT count(*) FROM tasks"), params![], |row| {
        row.get(0)
    })
}

/// Finds the keys of a task without reading its content.
pub fn find_keys(view: &View<'_>, id: &TaskId) -> Result<Option<TaskKeys>> {
    view.row(
        sql!(
            "SELECT t.number, coalesce(t.master_number, t.number), m.id
               FROM tasks t LEFT JOIN tasks m ON m.number = t.master_number WHERE t.id = $1"
        ),
        params![id],
        |row| {
            Ok(TaskKeys {
                number: row.get(0)?,
                root_number: row.get(1)?,
                root_id: row.get(2)?,
            })
        },
    )
}

pub fn find_number(view: &View<'_>, id: &TaskId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM tasks WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

/// Inserts the row of a task. Returns its number. The caller inserts the dependencies, whose targets may be inserted later.
pub fn insert(tx: &Tx<'_>, task: &Task) -> Result<i64> {
    let shared = task.plan.shared.as_ref();
    // A shared plan is stored once, in the task that holds it.
    let planning = task.plan.planning.as_ref().filter(|_| shared.is_none());
    let part = task.part.as_ref();
    let waits_for = match (&task.routing.waiting_reason, task.routing.blocked) {
        (None, _) => None,
        (Some(_), true) => Some("person"),
        (Some(_), false) => Some("agent"),
    };
    tx.insert(
        sql!(
            "INSERT INTO tasks (id, status, failure_message, created_at, updated_at, session_id, source_type,
                                source_user_id, source_conversation_id, agent_workspace, description,
                                summary, requirements, acceptance_criteria, plan, context, parent_number, master_number,
                                agent_role, specialist_tags, estimated_minutes, priority, agent_context,
                                handoff_instructions, increment_number, stage, round, route_attempts, waiting_reason,
                                is_blocked, waits_for, is_delegated, plan_number)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
                     (SELECT number FROM tasks WHERE id = $17),
                     (SELECT coalesce(master_number, number) FROM tasks WHERE id = $17),
                     $18, $19, $20, $21, $22, $23, (SELECT number FROM increments WHERE id = $24), $25, $26, $27, $28, $29, $30, $31,
                     (SELECT coalesce(plan_number, number) FROM tasks WHERE id = $32))"
        ),
        params![
            task.id,
            task.status.name(),
            task.status.failure_message(),
            task.created_at,
            task.updated_at,
            task.session_id,
            task.source.source_type,
            task.source.user_id,
            task.source.conversation_id,
            task.agent_workspace,
            task.description,
            planning.map(|planning| &planning.summary),
            planning.map(|planning| to_json(&planning.requirements)),
            planning.map(|planning| to_json(&planning.acceptance_criteria)),
            planning.map(|planning| to_json(&planning.plan)),
            to_json(&task.context),
            task.parent_id,
            task.needs.agent_role,
            to_json(&task.needs.specialist_tags),
            task.needs.estimated_duration,
            task.needs.priority,
            to_json(&task.needs.agent_context),
            to_json(&task.needs.handoff_instructions),
            part.map(|part| &part.increment_id),
            part.map(|part| part.stage),
            part.map(|part| part.round),
            task.routing.attempts,
            task.routing.waiting_reason,
            task.routing.blocked,
            waits_for,
            task.is_delegated,
            shared.map(|shared| &shared.task_id),
        ],
    )
}

/// Sets the hand-off from which the limits count for the agents that the router chooses for a new task.
pub fn update_counted_from(tx: &Tx<'_>, number: i64, handoff_number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET counted_from_number = $1 WHERE number = $2"),
        params![handoff_number, number],
    )?;
    Ok(())
}

/// Finds the hand-off from which the limits count for a task that an agent created.
pub fn find_counted_from(view: &View<'_>, number: i64) -> Result<Option<i64>> {
    view.one(
        sql!("SELECT counted_from_number FROM tasks WHERE number = $1"),
        params![number],
        |row| row.get(0),
    )
}

/// Marks a new task as made for a delegated hand-off.
pub fn update_delegated(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET is_delegated = 1 WHERE number = $1"),
        params![number],
    )?;
    Ok(())
}

pub fn update_status(tx: &Tx<'_>, number: i64, task: &Task) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET status = $1, failure_message = $2, updated_at = $3 WHERE number = $4"
        ),
        params![
            task.status.name(),
            task.status.failure_message(),
            task.updated_at,
            number
        ],
    )?;
    Ok(())
}

pub fn update_planning(tx: &Tx<'_>, number: i64, planning: &Planning) -> Result<()> {
    tx.execute(
        sql!(
            "UPDATE tasks SET summary = $1, requirements = $2, acceptance_criteria = $3, plan = $4, updated_at = $5
              WHERE number = $6"
        ),
        params![
            planning.summary,
            to_json(&planning.requirements),
            to_json(&planning.acceptance_criteria),
            to_json(&planning.plan),
            tx.now,
            number
        ],
    )?;
    Ok(())
}

/// Sets the update time of a task, when its other tables have changed.
pub fn touch(tx: &Tx<'_>, number: i64) -> Result<()> {
    tx.execute(
        sql!("UPDATE tasks SET updated_at = $1 WHERE number = $2"),
        params![tx.now, number],
    )?;
    Ok(())
}

pub fn find_session_id(view: &View<'_>, id: &TaskId) -> Result<Option<Text>> {
    let found = view.row(
        sql!("SELECT session_id FROM tasks WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )?;
    Ok(found.flatten())
}

/// Whether a task is `above` or below it.
pub fn is_below(view: &View<'_>, id: &TaskId, above: &TaskId) -> Result<bool> {
    view.has(
        sql!(
            "WITH RECURSIVE family (id, parent_number) AS (
                 SELECT id, parent_number FROM tasks WHERE id = $1
                 UNION ALL
                 SELECT t.id, t.parent_number FROM tasks t JOIN family ON t.number = family.parent_number
             )
             SELECT 1 FROM family WHERE id = $2"
        ),
        params![id, above],
    )
}

/// Whether a task, or one above it, is a stage of an increment that shares a plan.
pub fn is_below_stage_of(view: &View<'_>, id: &TaskId, holder: &TaskId) -> Result<bool> {
    view.has(
        sql!(
            "WITH RECURSIVE above (number, parent_number, stage, plan_number) AS (
                 SELECT number, parent_number, stage, plan_number FROM tasks WHERE id = $1
                 UNION ALL
                 SELECT t.number, t.parent_number, t.stage, t.plan_number FROM tasks t JOIN above ON t.number = above.parent_number
             )
             SELECT 1 FROM above
              WHERE stage IS NOT NULL AND coalesce(plan_number, number) = (SELECT number FROM tasks WHERE id = $2)"
        ),
        params![id, holder],
    )
}

/// Finds the task that holds the plan of a task.
pub fn find_plan_holder(view: &View<'_>, id: &TaskId) -> Result<Option<TaskId>> {
    view.row(
        sql!(
            "SELECT p.id FROM tasks t JOIN tasks p ON p.number = coalesce(t.plan_number, t.number) WHERE t.id = $1"
        ),
        params![id],
        |row| row.get(0),
    )
}

/// Lists the tasks on which an agent is active.
pub fn ids_worked_on_by(view: &View<'_>, agent: &AgentName) -> Result<Vec<TaskId>> {
    view.rows(
        sql!(
            "SELECT t.id FROM handoffs h JOIN tasks t ON t.number = h.task_number
              WHERE h.completed_at IS NULL AND h.agent_name = $1 COLLATE NOCASE ORDER BY t.number"
        ),
        params![agent],
        |row| row.get(0),
    )
}
