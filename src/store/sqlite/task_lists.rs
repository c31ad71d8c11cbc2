//! Lists of tasks: all, by status, by role and tags, those that are ready, and those that are held.

use sqlx::SqlitePool;

use super::row::{self, Columns};
use super::sql::{Statement, query, sql};
use super::tasks::{find_number, from_row, select_tasks, status};
use crate::domain::{
    AgentName, Refusal, Role, Skill, StatusName, Task, TaskId, TaskPriority, TaskSummary,
};
use crate::store::{Page, ReadyQuery, Result, StoreError, TaskQuery};

/// Selects the page of a list by the numbers of its tasks.
const SELECT_NUMBERED: Statement = sql!(
    select_tasks!("NULL"),
    " JOIN json_each($1) page ON page.value = t.number ORDER BY page.key"
);

const SUMMARIES_NUMBERED: Statement = sql!(
    "SELECT t.id, t.description, t.status, t.failure_message, t.created_at, t.updated_at, h.agent_name, t.agent_role,
            t.priority, t.waiting_reason, t.is_blocked
       FROM json_each($1) page
       JOIN tasks t ON t.number = page.value
       LEFT JOIN handoffs h ON h.task_number = t.number AND h.completed_at IS NULL
      ORDER BY page.key"
);

fn summary_from_row(row: &sqlx::sqlite::SqliteRow) -> Result<TaskSummary> {
    Ok(TaskSummary {
        id: row.parsed(0)?,
        description: row.text(1)?,
        status: status(row, 2)?,
        created_at: row.timestamp(4)?,
        updated_at: row.timestamp(5)?,
        current_agent: row.optional_parsed(6)?,
        agent_role: row.optional_parsed(7)?,
        priority: TaskPriority::new(row.unsigned(8)?).map_err(StoreError::inconsistent)?,
        waiting_reason: row.optional_text(9)?,
        blocked: row.integer(10)? != 0,
    })
}

/// Lists tasks in full.
pub(super) async fn list(readers: &SqlitePool, asked: &TaskQuery) -> Result<Page<Task>> {
    let numbers = numbers(readers, asked).await?;
    let tasks = load(readers, &numbers).await?;
    Ok(Page::cut(tasks, asked.limit, |task: &Task| {
        task.id.to_string()
    }))
}

/// Lists tasks in short.
pub(super) async fn list_summaries(
    readers: &SqlitePool,
    asked: &TaskQuery,
) -> Result<Page<TaskSummary>> {
    let numbers = numbers(readers, asked).await?;
    summaries(readers, &numbers, asked.limit).await
}

/// Lists the tasks that the router does not go on with, in short, oldest first.
pub(super) async fn held(
    readers: &SqlitePool,
    after: Option<&TaskId>,
    limit: u32,
) -> Result<Page<TaskSummary>> {
    const HELD: Statement = sql!(
        "SELECT number FROM tasks WHERE number > $1 AND waiting_reason IS NOT NULL ORDER BY number LIMIT $2"
    );
    let after = cursor(readers, after).await?;
    let rows = query!(HELD, after, limit + 1).fetch_all(readers).await?;
    let numbers = row::all(&rows, |row| row.integer(0))?;
    summaries(readers, &numbers, limit).await
}

async fn summaries(readers: &SqlitePool, numbers: &[i64], limit: u32) -> Result<Page<TaskSummary>> {
    let rows = query!(SUMMARIES_NUMBERED, json(numbers))
        .fetch_all(readers)
        .await?;
    let summaries = row::all(&rows, summary_from_row)?;
    Ok(Page::cut(summaries, limit, |summary| {
        summary.id.to_string()
    }))
}

/// Lists the tasks that are ready, the most urgent first, then the oldest.
pub(super) async fn ready(readers: &SqlitePool, asked: &ReadyQuery) -> Result<Page<Task>> {
    let numbers = ready_numbers(readers, asked).await?;
    let tasks = load(readers, &numbers).await?;
    Ok(Page::cut(tasks, asked.limit, |task: &Task| {
        task.id.to_string()
    }))
}

async fn load(readers: &SqlitePool, numbers: &[i64]) -> Result<Vec<Task>> {
    let rows = query!(SELECT_NUMBERED, json(numbers))
        .fetch_all(readers)
        .await?;
    rows.iter().map(|row| Ok(from_row(row)?.task)).collect()
}

fn json(numbers: &[i64]) -> String {
    serde_json::to_string(numbers).expect("numbers are JSON")
}

/// Finds the tasks of a page, and one more. With tags each is looked up in its own index, and what they find is put together.
async fn numbers(readers: &SqlitePool, asked: &TaskQuery) -> Result<Vec<i64>> {
    const ALL: Statement =
        sql!("SELECT number FROM tasks WHERE number > $1 ORDER BY number LIMIT $2");
    const BY_STATUS: Statement =
        sql!("SELECT number FROM tasks WHERE number > $1 AND status = $2 ORDER BY number LIMIT $3");
    const BY_ROLE: Statement = sql!(
        "SELECT number FROM tasks WHERE number > $1 AND agent_role = $2 AND ($3 IS NULL OR status = $3)
          ORDER BY number LIMIT $4"
    );
    const BY_TAG: Statement = sql!(
        "SELECT t.number FROM task_tags g CROSS JOIN tasks t ON t.number = g.task_number
          WHERE g.tag = $1 AND g.task_number > $2 AND ($3 IS NULL OR t.status = $3) AND ($4 IS NULL OR t.agent_role = $4)
          ORDER BY g.task_number LIMIT $5"
    );
    let (after, limit) = (
        cursor(readers, asked.after.as_ref()).await?,
        asked.limit + 1,
    );
    let status = asked.status.map(StatusName::as_str);
    let role = asked.agent_role.as_ref().map(Role::as_str);
    if !asked.tags.is_empty() {
        let mut found = Vec::new();
        for tag in &asked.tags {
            let rows = query!(BY_TAG, tag.as_str(), after, status, role, limit)
                .fetch_all(readers)
                .await?;
            found.extend(row::all(&rows, |row| row.integer(0))?);
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(limit as usize);
        return Ok(found);
    }
    let rows = match (role, status) {
        (Some(role), status) => {
            query!(BY_ROLE, after, role, status, limit)
                .fetch_all(readers)
                .await?
        }
        (None, Some(status)) => {
            query!(BY_STATUS, after, status, limit)
                .fetch_all(readers)
                .await?
        }
        (None, None) => query!(ALL, after, limit).fetch_all(readers).await?,
    };
    row::all(&rows, |row| row.integer(0))
}

/// Finds the ready tasks of a page, and one more. For an agent each of its roles is looked up in the index.
async fn ready_numbers(readers: &SqlitePool, asked: &ReadyQuery) -> Result<Vec<i64>> {
    const ALL: Statement = sql!(
        "SELECT number, priority FROM tasks INDEXED BY tasks_ready
          WHERE status = 'pending' AND unmet = 0
            AND (priority, number) > ($1, $2)
          ORDER BY priority, number LIMIT $3"
    );
    const BY_ROLE: Statement = sql!(
        "SELECT number, priority FROM tasks
          WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL AND agent_role = $1
            AND (priority, number) > ($2, $3)
            AND (specialist_tags = '[]'
                 OR EXISTS (SELECT 1 FROM json_each(specialist_tags) t JOIN json_each($4) s ON s.value = t.value))
          ORDER BY priority, number LIMIT $5"
    );
    let after = cursor(readers, asked.after.as_ref()).await?;
    let priority = priority_of(readers, after).await?;
    let limit = asked.limit + 1;
    let in_order = |row: &sqlx::sqlite::SqliteRow| Ok((row.integer(1)?, row.integer(0)?));
    let Some(name) = &asked.for_agent else {
        let rows = query!(ALL, priority, after, limit)
            .fetch_all(readers)
            .await?;
        let found: Vec<(i64, i64)> = row::all(&rows, in_order)?;
        return Ok(found.into_iter().map(|(_, number)| number).collect());
    };
    let (roles, skills) = offers(readers, name).await?;
    let mut found = Vec::new();
    for role in &roles {
        let rows = query!(
            BY_ROLE,
            role.as_str(),
            priority,
            after,
            skills.as_str(),
            limit
        )
        .fetch_all(readers)
        .await?;
        found.extend(row::all(&rows, in_order)?);
    }
    found.sort_unstable();
    found.truncate(limit as usize);
    Ok(found.into_iter().map(|(_, number)| number).collect())
}

/// Finds what an agent offers: its roles, and its skills as JSON, among which its roles count.
async fn offers(readers: &SqlitePool, name: &AgentName) -> Result<(Vec<Role>, String)> {
    let row = query!(
        sql!("SELECT roles, skills FROM agents WHERE name = $1"),
        name.as_str()
    )
    .fetch_optional(readers)
    .await?
    .ok_or_else(|| Refusal::AgentNotFound(name.clone()))?;
    let (roles, skills): (Vec<Role>, Vec<Skill>) = (row.json(0)?, row.json(1)?);
    let mut words: Vec<_> = skills.iter().map(Skill::as_str).collect();
    words.extend(roles.iter().map(Role::as_str));
    let words = serde_json::to_string(&words).expect("words are JSON");
    Ok((roles, words))
}

/// Finds the number of the task behind which a page begins; 0 for the first page.
async fn cursor(readers: &SqlitePool, after: Option<&TaskId>) -> Result<i64> {
    match after {
        None => Ok(0),
        Some(id) => find_number(readers, id)
            .await?
            .ok_or_else(|| Refusal::TaskNotFound(id.clone()).into()),
    }
}

/// Finds the priority behind which a page of ready tasks begins.
async fn priority_of(readers: &SqlitePool, number: i64) -> Result<i64> {
    let row = query!(sql!("SELECT priority FROM tasks WHERE number = $1"), number)
        .fetch_optional(readers)
        .await?;
    row.map_or(Ok(-1), |row| row.integer(0))
}
