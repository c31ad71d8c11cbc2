//! Lists of the table `tasks`: first the numbers of a page, from the index for the list, then the tasks.

use super::tasks;
use crate::domain::{
    AgentName, Page, Role, StatusName, Task, TaskId, TaskPriority, TaskQuery, TaskSummary, Text,
    Timestamp,
};
use crate::store::value::to_json;
use crate::store::{FromRow, Item, Result, Row, Statement, StoreError, View, columns, params, sql};

columns! {
    struct SummaryRow {
        id: TaskId = "t.id",
        description: Text = "t.description",
        status: StatusName = "t.status",
        failure_message: Option<Text> = "t.failure_message",
        created_at: Timestamp = "t.created_at",
        updated_at: Timestamp = "t.updated_at",
        current_agent: Option<AgentName> = "h.agent_name",
        agent_role: Option<Role> = "t.agent_role",
        priority: TaskPriority = "t.priority",
        waiting_reason: Option<Text> = "t.waiting_reason",
        blocked: bool = "t.is_blocked",
        parent_id: Option<TaskId> = "(SELECT p.id FROM tasks p WHERE p.number = t.parent_number)",
        delegated: bool = "t.is_delegated",
    }
}

impl TryFrom<SummaryRow> for TaskSummary {
    type Error = StoreError;

    fn try_from(row: SummaryRow) -> Result<Self> {
        Ok(Self {
            id: row.id,
            description: row.description,
            status: tasks::status(row.status, row.failure_message)?,
            created_at: row.created_at,
            updated_at: row.updated_at,
            current_agent: row.current_agent,
            agent_role: row.agent_role,
            priority: row.priority,
            waiting_reason: row.waiting_reason,
            blocked: row.blocked,
            parent_id: row.parent_id,
            delegated: row.delegated,
        })
    }
}

/// Loads a page of the tasks with these numbers, in their order.
pub fn load(view: &View<'_>, numbers: &[i64], limit: u32) -> Result<Page<Task>> {
    const NUMBERED: Statement<1> = sql!(tasks::SELECT, " WHERE t.number = $1");
    const TASKS: Item<Task> = Item {
        from_row: |row| Ok(tasks::from_row(row)?.task),
        name: |task| task.id.to_string(),
    };
    view.page_of(NUMBERED, numbers, limit, &TASKS)
}

/// Loads a page of summaries of the tasks with these numbers, in their order.
pub fn load_summaries(view: &View<'_>, numbers: &[i64], limit: u32) -> Result<Page<TaskSummary>> {
    const NUMBERED: Statement<1> = sql!(
        "SELECT ",
        SummaryRow::COLUMNS,
        " FROM tasks t
          LEFT JOIN handoffs h ON h.task_number = t.number AND h.completed_at IS NULL
         WHERE t.number = $1"
    );
    const SUMMARIES: Item<TaskSummary> = Item {
        from_row: |row| SummaryRow::from_row(row)?.try_into(),
        name: |task| task.id.to_string(),
    };
    view.page_of(NUMBERED, numbers, limit, &SUMMARIES)
}

/// The statements for pages in one direction.
struct Listing {
    all: Statement<3>,
    by_status: Statement<4>,
    by_role: Statement<5>,
    by_tag: Statement<6>,
}

/// Writes the statements of a direction from its comparison and its order.
macro_rules! listing {
    ($beyond:literal, $order:literal) => {
        Listing {
            all: sql!(
                "SELECT number FROM tasks WHERE number ",
                $beyond,
                " $1 AND ($2 = 1 OR is_delegated = 0) ORDER BY number ",
                $order,
                " LIMIT $3"
            ),
            by_status: sql!(
                "SELECT number FROM tasks WHERE number ",
                $beyond,
                " $1 AND status = $2 AND ($3 = 1 OR is_delegated = 0) ORDER BY number ",
                $order,
                " LIMIT $4"
            ),
            by_role: sql!(
                "SELECT number FROM tasks
                  WHERE number ",
                $beyond,
                " $1 AND agent_role = $2 AND ($3 IS NULL OR status = $3)
                    AND ($4 = 1 OR is_delegated = 0)
                  ORDER BY number ",
                $order,
                " LIMIT $5"
            ),
            by_tag: sql!(
                "SELECT t.number FROM task_tags g CROSS JOIN tasks t ON t.number = g.task_number
                  WHERE g.tag = $1 AND g.task_number ",
                $beyond,
                " $2 AND ($3 IS NULL OR t.status = $3)
                    AND ($4 IS NULL OR t.agent_role = $4)
                    AND ($5 = 1 OR t.is_delegated = 0)
                  ORDER BY g.task_number ",
                $order,
                " LIMIT $6"
            ),
        }
    };
}

const AFTER: Listing = listing!(">", "ASC");
const BEFORE: Listing = listing!("<", "DESC");

/// Lists task numbers after a number, oldest first.
pub fn numbers(view: &View<'_>, query: &TaskQuery, after: i64, limit: u32) -> Result<Vec<i64>> {
    let mut found = AFTER.read(view, query, after, limit)?;
    found.sort_unstable();
    found.dedup();
    found.truncate(limit as usize);
    Ok(found)
}

/// Lists task numbers before a number, newest first.
pub fn numbers_before(
    view: &View<'_>,
    query: &TaskQuery,
    before: i64,
    limit: u32,
) -> Result<Vec<i64>> {
    let mut found = BEFORE.read(view, query, before, limit)?;
    found.sort_unstable_by(|one, other| other.cmp(one));
    found.dedup();
    found.truncate(limit as usize);
    Ok(found)
}

impl Listing {
    /// Reads up to `limit` numbers. With tags, each tag is looked up in its own index: up to `limit` numbers for each, not merged.
    fn read(&self, view: &View<'_>, query: &TaskQuery, from: i64, limit: u32) -> Result<Vec<i64>> {
        let number = |row: &Row<'_>| row.get(0);
        let (status, role) = (query.status, query.agent_role.as_ref());
        let all = query.delegated;
        if !query.tags.is_empty() {
            let mut found = Vec::new();
            for tag in &query.tags {
                let tagged = params![tag, from, status, role, all, limit];
                found.extend(view.rows(self.by_tag, tagged, number)?);
            }
            return Ok(found);
        }
        match (role, status) {
            (Some(role), status) => view.rows(
                self.by_role,
                params![from, role, status, all, limit],
                number,
            ),
            (None, Some(status)) => {
                view.rows(self.by_status, params![from, status, all, limit], number)
            }
            (None, None) => view.rows(self.all, params![from, all, limit], number),
        }
    }
}

/// Lists the numbers of the tasks that have a waiting reason, oldest first.
pub fn held(view: &View<'_>, after: i64, limit: u32) -> Result<Vec<i64>> {
    view.rows(
        sql!(
            "SELECT number FROM tasks WHERE number > $1 AND waiting_reason IS NOT NULL ORDER BY number LIMIT $2"
        ),
        params![after, limit],
        |row| row.get(0),
    )
}

/// A position in the order of ready tasks: by priority, then by number.
#[derive(Debug, Clone, Copy)]
pub struct ReadyCursor {
    pub priority: i64,
    pub number: i64,
}

impl ReadyCursor {
    /// The position before the first task.
    pub const START: Self = Self {
        priority: -1,
        number: 0,
    };
}

pub fn find_cursor(view: &View<'_>, id: &TaskId) -> Result<Option<ReadyCursor>> {
    view.row(
        sql!("SELECT priority, number FROM tasks WHERE id = $1"),
        params![id],
        |row| {
            Ok(ReadyCursor {
                priority: row.get(0)?,
                number: row.get(1)?,
            })
        },
    )
}

/// Lists the numbers of ready tasks, most urgent first, then oldest first.
pub fn ready(view: &View<'_>, after: ReadyCursor, limit: u32) -> Result<Vec<i64>> {
    view.rows(
        sql!(
            "SELECT number FROM tasks INDEXED BY tasks_ready
              WHERE status = 'pending' AND unmet = 0
                AND (priority, number) > ($1, $2)
              ORDER BY priority, number LIMIT $3"
        ),
        params![after.priority, after.number, limit],
        |row| row.get(0),
    )
}

/// Lists the numbers of the tasks that are ready for one of these roles and have no tags or one of these, most urgent first,
/// then oldest first. Each role is looked up in the index, and the results are merged.
pub fn ready_for(
    view: &View<'_>,
    roles: &[Role],
    tags: &[&str],
    after: ReadyCursor,
    limit: u32,
) -> Result<Vec<i64>> {
    const BY_ROLE: Statement<5> = sql!(
        "SELECT priority, number FROM tasks
          WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL AND agent_role = $1
            AND (priority, number) > ($2, $3)
            AND (specialist_tags = '[]'
                 OR EXISTS (SELECT 1 FROM json_each(specialist_tags) t JOIN json_each($4) s ON s.value = t.value))
          ORDER BY priority, number LIMIT $5"
    );
    let tags = to_json(&tags);
    let mut found: Vec<(i64, i64)> = Vec::new();
    for role in roles {
        let suited = params![role, after.priority, after.number, tags, limit];
        found.extend(view.rows(BY_ROLE, suited, |row| Ok((row.get(0)?, row.get(1)?)))?);
    }
    found.sort_unstable();
    found.truncate(limit as usize);
    Ok(found.into_iter().map(|(_, number)| number).collect())
}
