//! Sessions: conversations that move from one agent to another.

use crate::domain::{
    AgentName, HandoffId, Page, Refusal, Session, SessionHandoff, SessionId, TaskId,
};
use crate::store::tables::sessions;
use crate::store::{Result, View};

pub fn get(view: &View<'_>, id: &SessionId) -> Result<Session> {
    sessions::find(view, id)?.ok_or_else(|| Refusal::SessionNotFound(id.clone()).into())
}

pub fn exists(view: &View<'_>, id: &SessionId) -> Result<bool> {
    Ok(sessions::find_number(view, id)?.is_some())
}

/// Lists sessions, oldest first: those of one task and below it, or all.
pub fn list(
    view: &View<'_>,
    of_task: Option<&TaskId>,
    newest: bool,
    after: Option<&SessionId>,
    limit: u32,
) -> Result<Page<Session>> {
    let after = match after {
        None => None,
        Some(id) => Some(
            sessions::find_number(view, id)?.ok_or_else(|| Refusal::SessionNotFound(id.clone()))?,
        ),
    };
    match of_task {
        Some(task_id) => sessions::page_of_task(view, task_id, newest, after, limit),
        None => sessions::page(view, newest, after, limit),
    }
}

/// Lists the hand-offs of a session, oldest first. A session that never moved has none.
pub fn handoffs(
    view: &View<'_>,
    id: &SessionId,
    after: Option<&HandoffId>,
    limit: u32,
) -> Result<Page<SessionHandoff>> {
    let Some(number) = sessions::find_number(view, id)? else {
        return Ok(Page {
            items: Vec::new(),
            next: None,
        });
    };
    let after = match after {
        None => 0,
        Some(id) => sessions::find_handoff_number(view, number, id)?
            .ok_or_else(|| Refusal::HandoffNotFound(id.clone()))?,
    };
    sessions::page_of_handoffs(view, number, after, limit)
}

pub fn last_handoff(view: &View<'_>, id: &SessionId) -> Result<Option<SessionHandoff>> {
    sessions::find_last_handoff(view, id)
}

/// Counts the hand-offs of a session, optionally from one agent or to one agent.
pub fn count_handoffs(
    view: &View<'_>,
    id: &SessionId,
    from: Option<&AgentName>,
    to: Option<&AgentName>,
) -> Result<u64> {
    sessions::count_handoffs(view, id, from, to)
}
