//! What the dispatcher has before it, for people.

use super::dispatches;
use super::requests::priority;
use crate::domain::{DispatchedRequest, HeldKind, WaitingRequest};
use crate::store::{DispatchLists, Result, StoreError, View, params, sql};

/// How many of each are shown.
const MOST: u32 = 100;

pub(crate) fn show(view: &View<'_>) -> Result<DispatchLists> {
    let waiting = dispatches::choose(view, MOST)?;
    let waiting = waiting
        .into_iter()
        .map(|request| WaitingRequest {
            since: request.approved_at.unwrap_or(request.updated_at),
            id: request.id,
            title: request.title,
            kind: request.kind,
            priority: request.priority,
            attempts: request.attempts,
        })
        .collect();
    Ok(DispatchLists {
        running: running(view)?,
        waiting,
        held: held(view)?,
        stuck: stuck(view)?,
    })
}

/// Lists what is claimed: where, by whom, since when.
fn running(view: &View<'_>) -> Result<Vec<DispatchedRequest>> {
    view.rows(sql!(
        "SELECT r.id, r.title, r.kind, r.priority, r.lease_agent,
                (SELECT max(moved_at) FROM request_transitions x
                  WHERE x.request_number = r.number AND x.to_state = 'claimed'),
                t.id, h.id,
                CASE WHEN r.job_id IS NOT NULL THEN 'job'
                     ELSE (SELECT u.state FROM runs u WHERE u.handoff_number = h.number AND u.state <> 'ended') END,
                t.agent_workspace, r.job_id, r.attempts, r.updated_at
           FROM requests r
           LEFT JOIN handoffs h ON h.number = r.handoff_number
           LEFT JOIN tasks t ON t.number = coalesce(h.task_number, r.task_number)
          WHERE r.state = 'claimed'
          ORDER BY 6, r.number LIMIT 1000"
    ), params![], |row| {
        Ok(DispatchedRequest {
            id: row.parsed(0)?,
            title: row.text(1)?,
            kind: row.parsed(2)?,
            priority: priority(row, 3)?,
            agent: row.optional_parsed(4)?,
            since: row.optional_timestamp(5)?.unwrap_or(row.timestamp(12)?),
            task_id: row.optional_parsed(6)?,
            handoff_id: row.optional_parsed(7)?,
            run: row.optional_string(8)?,
            workspace: row.optional_text(9)?,
            job_id: row.optional_text(10)?,
            attempts: row.unsigned(11)?,
        })
    })
}

/// Lists kinds of which requests wait that nobody will start.
fn held(view: &View<'_>) -> Result<Vec<HeldKind>> {
    view.rows(sql!(
        "SELECT r.kind, count(*), d.agent_name, d.mode, a.available
           FROM requests r
           LEFT JOIN dispatch_routes d ON d.kind = r.kind
           LEFT JOIN agents a ON a.name = d.agent_name
          WHERE r.withdrawn_at IS NULL
            AND ((r.state = 'delegated' AND (d.kind IS NULL OR d.mode = 'interactive' OR a.available IS NOT 1))
                 OR (r.state = 'needs' AND d.kind IS NULL))
          GROUP BY r.kind ORDER BY r.kind"
    ), params![], |row| {
        let kind = row.parsed(0)?;
        let agent = row.optional_string(2)?;
        let is_interactive = row.optional_string(3)?.as_deref() == Some("interactive");
        let reason = match (agent, row.optional_integer(4)?) {
            (None, _) => {
                format!(
                    "The kind {kind} has no route: add one with `chorus request routes --set FILE`, or PUT /api/dispatch/routes"
                )
            }
            (Some(_), _) if is_interactive => {
                "Its route is interactive: take it with `chorus request claim`".to_owned()
            }
            (Some(agent), None) => {
                format!("The agent {agent} of its route is not configured: change the route")
            }
            (Some(agent), Some(_)) => format!("The agent {agent} of its route is not available"),
        };
        Ok(HeldKind {
            kind,
            count: u64::try_from(row.integer(1)?).map_err(StoreError::inconsistent)?,
            reason,
        })
    })
}

/// Lists what has failed as often as it may.
fn stuck(view: &View<'_>) -> Result<Vec<WaitingRequest>> {
    view.rows(sql!(
            "SELECT id, title, kind, priority, updated_at, attempts FROM requests
              WHERE state = 'needs' AND is_stuck = 1 AND withdrawn_at IS NULL ORDER BY number LIMIT $1"
        ), params![MOST], |row| {
        Ok(WaitingRequest {
            id: row.parsed(0)?,
            title: row.text(1)?,
            kind: row.parsed(2)?,
            priority: priority(row, 3)?,
            since: row.timestamp(4)?,
            attempts: row.unsigned(5)?,
        })
    })
}
