//! The quality of hand-offs by agent: aggregates over `handoffs`, `runs`, `messages` and the dependencies of tasks.

use super::handoff_sums::{Chosen, ROUNDED};
use crate::domain::{AgentName, FirstMessages, JudgedWork};
use crate::store::{FromRow, Result, Statement, View, columns, params, sql};

/// The condition of [`Chosen`] on a hand-off `h`, as its target: `$1` is the time, `$2` the agent.
const IS_CHOSEN: &str = "h.started_at >= $1 AND ($2 IS NULL OR h.agent_name = $2 COLLATE NOCASE)";

columns! {
    struct FirstMessagesRow {
        agent: AgentName = "agent_name",
        took: u64 = "took",
        handoffs: u64 = "count(*)",
    }
}

/// Counts hand-offs by agent and by the time from the start of the last run to its first message. A run that was stopped does not
/// count: others may have written its message.
pub fn first_messages(view: &View<'_>, chosen: Chosen<'_>) -> Result<Vec<FirstMessages>> {
    const FIRST: Statement<2> = sql!(
        "WITH timed AS MATERIALIZED (
             SELECT h.agent_name,
                    (SELECT m.occurred_at FROM messages m
                      WHERE m.handoff_number = h.number AND m.type = 'assistant_message' AND m.occurred_at >= r.started_at
                      ORDER BY m.occurred_at LIMIT 1) - r.started_at AS millis
               FROM handoffs h
               JOIN runs r ON r.handoff_number = h.number
                          AND r.attempt = (SELECT max(attempt) FROM runs WHERE handoff_number = h.number)
              WHERE r.started_at IS NOT NULL AND r.outcome IS NOT 'cancelled' AND ",
        IS_CHOSEN,
        "), rounded AS (SELECT agent_name, ",
        ROUNDED,
        " AS took FROM timed WHERE millis IS NOT NULL)
         SELECT ",
        FirstMessagesRow::COLUMNS,
        " FROM rounded GROUP BY agent_name, took"
    );
    view.rows(FIRST, params![chosen.since(), chosen.agent], |row| {
        let row = FirstMessagesRow::from_row(row)?;
        Ok(FirstMessages {
            agent: row.agent,
            took: row.took,
            handoffs: row.handoffs,
        })
    })
}

columns! {
    struct JudgedRow {
        agent: AgentName = "agent_name",
        judged: u64 = "sum(is_judged)",
        reworked: u64 = "sum(is_reworked)",
        reviewed: u64 = "sum(is_reviewed)",
        returned: u64 = "sum(is_returned)",
    }
}

/// Counts the tasks on which an agent completed a hand-off and whose work was judged, by agent.
///
/// A test `j` depends on the work. A review `j` depends on the work, a review `v` on its test. A fix `j` that depends on the work
/// itself has begun if it is no longer pending.
pub fn judged_work(view: &View<'_>, chosen: Chosen<'_>) -> Result<Vec<JudgedWork>> {
    const JUDGED: Statement<2> = sql!(
        "WITH work AS (
             SELECT DISTINCT h.agent_name, h.task_number FROM handoffs h
               JOIN tasks t ON t.number = h.task_number
              WHERE h.outcome = 'completed' AND coalesce(t.agent_role, '') NOT IN ('testing', 'verification')
                AND EXISTS (SELECT 1 FROM task_dependencies d WHERE d.depends_on_number = h.task_number) AND ",
        IS_CHOSEN,
        "), verdicts AS (
             SELECT w.agent_name, w.task_number,
                    max(j.agent_role = 'fixing' AND j.status <> 'pending') AS is_fixed,
                    max(j.agent_role = 'testing' AND j.status IN ('completed', 'failed')) AS is_tested,
                    max(j.agent_role = 'testing' AND j.status = 'failed') AS has_failed,
                    max((j.agent_role = 'verification' AND j.status IN ('completed', 'failed'))
                        OR coalesce(v.status IN ('completed', 'failed'), 0)) AS is_reviewed,
                    max((j.agent_role = 'verification' AND j.status = 'failed')
                        OR coalesce(v.status = 'failed', 0)) AS is_returned
               FROM work w
         CROSS JOIN task_dependencies d ON d.depends_on_number = w.task_number
         CROSS JOIN tasks j ON j.number = d.task_number AND j.agent_role IN ('testing', 'verification', 'fixing')
               LEFT JOIN task_dependencies e ON e.depends_on_number = j.number AND j.agent_role = 'testing'
               LEFT JOIN tasks v ON v.number = e.task_number AND v.agent_role = 'verification'
              GROUP BY w.agent_name, w.task_number
         ), judged AS (
             SELECT agent_name, is_fixed OR is_tested OR is_reviewed AS is_judged,
                    is_fixed OR has_failed OR is_returned AS is_reworked, is_reviewed, is_returned
               FROM verdicts
         )
         SELECT ",
        JudgedRow::COLUMNS,
        " FROM judged GROUP BY agent_name"
    );
    view.rows(JUDGED, params![chosen.since(), chosen.agent], |row| {
        let row = JudgedRow::from_row(row)?;
        Ok(JudgedWork {
            agent: row.agent,
            judged: row.judged,
            reworked: row.reworked,
            reviewed: row.reviewed,
            returned: row.returned,
        })
    })
}
