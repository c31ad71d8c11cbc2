//! The requests that wait for the next agent.

use super::find::{SELECT, StoredRequest, from_row};
use crate::domain::Kind;
use crate::store::{Result, Statement, View, params, sql};

/// Lists the kinds of the requests that wait for the next agent.
pub fn kinds_of_next(view: &View<'_>) -> Result<Vec<Kind>> {
    view.rows(
        sql!(
            "SELECT DISTINCT kind FROM requests INDEXED BY requests_next
              WHERE state = 'next' AND withdrawn_at IS NULL ORDER BY kind"
        ),
        params![],
        |row| row.get(0),
    )
}

/// Lists the requests of a kind that wait for the next agent, most urgent and oldest first.
pub fn next_of_kind(view: &View<'_>, kind: &Kind, limit: u32) -> Result<Vec<StoredRequest>> {
    const NEXT: Statement<2> = sql!(
        SELECT,
        " WHERE r.state = 'next' AND r.withdrawn_at IS NULL AND r.kind = $1 ORDER BY r.priority, r.number LIMIT $2"
    );
    view.rows(NEXT, params![kind, limit], from_row)
}
