//! Sessions: conversations that move from one agent to another.

use crate::domain::{AgentName, HandoffId, Page, Refusal, Session, SessionHandoff, SessionId};
use crate::store::tables::sessions;
use crate::store::{Result, View};

/// Finds a session.
pub fn get(view: &View<'_>, id: &SessionId) -> Result<Session> {
    sessions::find(view, id)?.ok_or_else(|| Refusal::SessionNotFound(id.clone()).into())
}

/// Tells whether there is a session.
pub fn exists(view: &View<'_>, id: &SessionId) -> Result<bool> {
    Ok(sessions::find_number(view, id)?.is_some())
}

/// Lists sessions behind one, oldest first.
pub fn list(view: &View<'_>, after: Option<&SessionId>, limit: u32) -> Result<Page<Session>> {
    let after = match after {
        None => 0,
        Some(id) => {
            sessions::find_number(view, id)?.ok_or_else(|| Refusal::SessionNotFound(id.clone()))?
        }
    };
    sessions::page(view, after, limit)
}

/// Lists the hand-offs of a session behind one, oldest first. A session that never moved has none.
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

/// Finds the last hand-off of a session.
pub fn last_handoff(view: &View<'_>, id: &SessionId) -> Result<Option<SessionHandoff>> {
    sessions::find_last_handoff(view, id)
}

/// Counts the hand-offs of a session, from an agent and to one.
pub fn count_handoffs(
    view: &View<'_>,
    id: &SessionId,
    from: Option<&AgentName>,
    to: Option<&AgentName>,
) -> Result<u64> {
    sessions::count_handoffs(view, id, from, to)
}
