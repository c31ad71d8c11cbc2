//! The requests that wait for the dispatcher.

use super::find::{SELECT, request_from_row};
use crate::domain::{Due, Request, Timestamp};
use crate::store::{FromRow, Result, Statement, View, columns, params, sql, text};

/// Lists the requests to start next: by priority, then by the rank of their kind rule, then oldest first.
pub fn next(view: &View<'_>, limit: u32) -> Result<Vec<Request>> {
    // Reads only the oldest requests of each priority and kind.
    const NEXT: Statement<1> = sql!(
        SELECT,
        " JOIN (SELECT q.number AS number, p.priority AS priority, d.rank AS rank
                  FROM (SELECT 0 AS priority UNION ALL SELECT 1 UNION ALL SELECT 2) p
                 CROSS JOIN dispatch_routes d
                 CROSS JOIN requests q ON q.number IN (SELECT o.number FROM requests o
                                                        WHERE o.state = 'delegated' AND o.withdrawn_at IS NULL
                                                          AND o.priority = p.priority AND o.kind = d.kind
                                                        ORDER BY o.number LIMIT $1)
                 WHERE d.mode <> 'interactive'
                   AND EXISTS (SELECT 1 FROM agents a WHERE a.name = d.agent_name AND a.available = 1)
                 ORDER BY p.priority, d.rank, q.number LIMIT $1) c ON c.number = r.number
          ORDER BY c.priority, c.rank, c.number"
    );
    view.rows(NEXT, params![limit], request_from_row)
}

/// Selects the approval times of waiting requests that can be started.
const APPROVALS: &str = "SELECT o.approved_at FROM requests o INDEXED BY requests_approved
      WHERE o.state = 'delegated' AND o.withdrawn_at IS NULL AND o.approved_at IS NOT NULL
        AND EXISTS (SELECT 1 FROM dispatch_routes d JOIN agents a ON a.name = d.agent_name
                     WHERE d.kind = o.kind AND d.mode <> 'interactive' AND a.available = 1)";

columns! {
    struct DueRow {
        first_approval: Option<Timestamp> = text!("(", APPROVALS, " ORDER BY o.approved_at LIMIT 1)"),
        last_approval: Option<Timestamp> = text!("(", APPROVALS, " ORDER BY o.approved_at DESC LIMIT 1)"),
        lease: Option<Timestamp> =
            "(SELECT min(lease_expires_at) FROM requests
               WHERE lease_expires_at IS NOT NULL AND handoff_number IS NULL AND claimant_number IS NULL)",
        kept_lease: Option<Timestamp> =
            "(SELECT min(lease_expires_at) FROM requests
               WHERE lease_expires_at IS NOT NULL AND (handoff_number IS NOT NULL OR claimant_number IS NOT NULL))",
    }
}

impl From<DueRow> for Due {
    fn from(row: DueRow) -> Self {
        Self {
            first_approval: row.first_approval,
            last_approval: row.last_approval,
            lease: row.lease,
            kept_lease: row.kept_lease,
        }
    }
}

/// Finds the next times at which the dispatcher has work.
pub fn due(view: &View<'_>) -> Result<Due> {
    const DUE: Statement<0> = sql!("SELECT ", DueRow::COLUMNS);
    view.one(DUE, params![], |row| Ok(DueRow::from_row(row)?.into()))
}
