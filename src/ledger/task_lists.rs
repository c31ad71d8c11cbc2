//! Lists of tasks: all, by status, by role and tags, those that are ready, and those that are held.

use crate::domain::{
    AgentName, Refusal, Role, Skill, StatusName, Task, TaskId, TaskPriority, TaskSummary,
};
use crate::store::tables::tasks::{SELECT, find_number, from_row, status};
use crate::store::{
    Page, ReadyQuery, Result, Row, Statement, StoreError, TaskQuery, View, params, sql,
};

/// Selects the page of a list by the numbers of its tasks.
const SELECT_NUMBERED: Statement<1> = sql!(
    SELECT,
    " JOIN json_each($1) page ON page.value = t.number ORDER BY page.key"
);

const SUMMARIES_NUMBERED: Statement<1> = sql!(
    "SELECT t.id, t.description, t.status, t.failure_message, t.created_at, t.updated_at, h.agent_name, t.agent_role,
            t.priority, t.waiting_reason, t.is_blocked
       FROM json_each($1) page
       JOIN tasks t ON t.number = page.value
       LEFT JOIN handoffs h ON h.task_number = t.number AND h.completed_at IS NULL
      ORDER BY page.key"
);

fn summary_from_row(row: &Row<'_>) -> Result<TaskSummary> {
    Ok(TaskSummary {
        id: row.parsed(0)?,
        description: row.text(1)?,
        status: status(row.get(2)?, row.get(3)?)?,
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
pub(crate) fn list(view: &View<'_>, asked: &TaskQuery) -> Result<Page<Task>> {
    let numbers = numbers(view, asked)?;
    let tasks = load(view, &numbers)?;
    Ok(Page::cut(tasks, asked.limit, |task: &Task| {
        task.id.to_string()
    }))
}

/// Lists tasks in short.
pub(crate) fn list_summaries(view: &View<'_>, asked: &TaskQuery) -> Result<Page<TaskSummary>> {
    let numbers = numbers(view, asked)?;
    summaries(view, &numbers, asked.limit)
}

/// Lists the tasks that the router does not go on with, in short, oldest first.
pub(crate) fn held(
    view: &View<'_>,
    after: Option<&TaskId>,
    limit: u32,
) -> Result<Page<TaskSummary>> {
    const HELD: Statement<2> = sql!(
        "SELECT number FROM tasks WHERE number > $1 AND waiting_reason IS NOT NULL ORDER BY number LIMIT $2"
    );
    let after = cursor(view, after)?;
    let numbers = view.rows(HELD, params![after, limit + 1], |row| row.integer(0))?;
    summaries(view, &numbers, limit)
}

fn summaries(view: &View<'_>, numbers: &[i64], limit: u32) -> Result<Page<TaskSummary>> {
    let summaries = view.rows(SUMMARIES_NUMBERED, params![json(numbers)], summary_from_row)?;
    Ok(Page::cut(summaries, limit, |summary| {
        summary.id.to_string()
    }))
}

/// Lists the tasks that are ready, the most urgent first, then the oldest.
pub(crate) fn ready(view: &View<'_>, asked: &ReadyQuery) -> Result<Page<Task>> {
    let numbers = ready_numbers(view, asked)?;
    let tasks = load(view, &numbers)?;
    Ok(Page::cut(tasks, asked.limit, |task: &Task| {
        task.id.to_string()
    }))
}

fn load(view: &View<'_>, numbers: &[i64]) -> Result<Vec<Task>> {
    view.rows(SELECT_NUMBERED, params![json(numbers)], |row| {
        Ok(from_row(row)?.task)
    })
}

fn json(numbers: &[i64]) -> String {
    serde_json::to_string(numbers).expect("numbers are JSON")
}

/// Finds the tasks of a page, and one more. With tags each is looked up in its own index, and what they find is put together.
fn numbers(view: &View<'_>, asked: &TaskQuery) -> Result<Vec<i64>> {
    const ALL: Statement<2> =
        sql!("SELECT number FROM tasks WHERE number > $1 ORDER BY number LIMIT $2");
    const BY_STATUS: Statement<3> =
        sql!("SELECT number FROM tasks WHERE number > $1 AND status = $2 ORDER BY number LIMIT $3");
    const BY_ROLE: Statement<4> = sql!(
        "SELECT number FROM tasks WHERE number > $1 AND agent_role = $2 AND ($3 IS NULL OR status = $3)
          ORDER BY number LIMIT $4"
    );
    const BY_TAG: Statement<5> = sql!(
        "SELECT t.number FROM task_tags g CROSS JOIN tasks t ON t.number = g.task_number
          WHERE g.tag = $1 AND g.task_number > $2 AND ($3 IS NULL OR t.status = $3) AND ($4 IS NULL OR t.agent_role = $4)
          ORDER BY g.task_number LIMIT $5"
    );
    let (after, limit) = (cursor(view, asked.after.as_ref())?, asked.limit + 1);
    let number = |row: &Row<'_>| row.integer(0);
    let status = asked.status.map(StatusName::as_str);
    let role = asked.agent_role.as_ref().map(Role::as_str);
    if !asked.tags.is_empty() {
        let mut found = Vec::new();
        for tag in &asked.tags {
            let tagged = params![tag, after, status, role, limit];
            found.extend(view.rows(BY_TAG, tagged, |row| row.integer(0))?);
        }
        found.sort_unstable();
        found.dedup();
        found.truncate(limit as usize);
        return Ok(found);
    }
    match (role, status) {
        (Some(role), status) => view.rows(BY_ROLE, params![after, role, status, limit], number),
        (None, Some(status)) => view.rows(BY_STATUS, params![after, status, limit], number),
        (None, None) => view.rows(ALL, params![after, limit], number),
    }
}

/// Finds the ready tasks of a page, and one more. For an agent each of its roles is looked up in the index.
fn ready_numbers(view: &View<'_>, asked: &ReadyQuery) -> Result<Vec<i64>> {
    const ALL: Statement<3> = sql!(
        "SELECT number, priority FROM tasks INDEXED BY tasks_ready
          WHERE status = 'pending' AND unmet = 0
            AND (priority, number) > ($1, $2)
          ORDER BY priority, number LIMIT $3"
    );
    const BY_ROLE: Statement<5> = sql!(
        "SELECT number, priority FROM tasks
          WHERE status = 'pending' AND unmet = 0 AND agent_role IS NOT NULL AND agent_role = $1
            AND (priority, number) > ($2, $3)
            AND (specialist_tags = '[]'
                 OR EXISTS (SELECT 1 FROM json_each(specialist_tags) t JOIN json_each($4) s ON s.value = t.value))
          ORDER BY priority, number LIMIT $5"
    );
    let after = cursor(view, asked.after.as_ref())?;
    let priority = priority_of(view, after)?;
    let limit = asked.limit + 1;
    let in_order = |row: &Row<'_>| Ok((row.integer(1)?, row.integer(0)?));
    let Some(name) = &asked.for_agent else {
        let found: Vec<(i64, i64)> = view.rows(ALL, params![priority, after, limit], in_order)?;
        return Ok(found.into_iter().map(|(_, number)| number).collect());
    };
    let (roles, skills) = offers(view, name)?;
    let mut found = Vec::new();
    for role in &roles {
        let suited = params![role, priority, after, skills, limit];
        found.extend(view.rows(BY_ROLE, suited, in_order)?);
    }
    found.sort_unstable();
    found.truncate(limit as usize);
    Ok(found.into_iter().map(|(_, number)| number).collect())
}

/// Finds what an agent offers: its roles, and its skills as JSON, among which its roles count.
fn offers(view: &View<'_>, name: &AgentName) -> Result<(Vec<Role>, String)> {
    let offers = view.row(
        sql!("SELECT roles, skills FROM agents WHERE name = $1"),
        params![name.as_str()],
        |row| Ok((row.json(0)?, row.json(1)?)),
    )?;
    let (roles, skills): (Vec<Role>, Vec<Skill>) =
        offers.ok_or_else(|| Refusal::AgentNotFound(name.clone()))?;
    let mut words: Vec<_> = skills.iter().map(Skill::as_str).collect();
    words.extend(roles.iter().map(Role::as_str));
    let words = serde_json::to_string(&words).expect("words are JSON");
    Ok((roles, words))
}

/// Finds the number of the task behind which a page begins; 0 for the first page.
fn cursor(view: &View<'_>, after: Option<&TaskId>) -> Result<i64> {
    match after {
        None => Ok(0),
        Some(id) => find_number(view, id)?.ok_or_else(|| Refusal::TaskNotFound(id.clone()).into()),
    }
}

/// Finds the priority behind which a page of ready tasks begins.
fn priority_of(view: &View<'_>, number: i64) -> Result<i64> {
    let priority = view.row(
        sql!("SELECT priority FROM tasks WHERE number = $1"),
        params![number],
        |row| row.integer(0),
    )?;
    Ok(priority.unwrap_or(-1))
}
