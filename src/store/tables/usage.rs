//! Sums of usage over the table `runs`.

use crate::domain::{AgentName, UsageSum};
use crate::store::{FromRow, Result, Row, Statement, View, columns, params, sql, text};

columns! {
    struct UsageRow {
        runs: u64 = "count(*)",
        input_tokens: u64 = "coalesce(sum(r.usage ->> 'inputTokens'), 0)",
        output_tokens: u64 = "coalesce(sum(r.usage ->> 'outputTokens'), 0)",
        turns: u64 = "coalesce(sum(r.usage ->> 'turns'), 0)",
        duration_ms: u64 = "coalesce(sum(r.ended_at - r.started_at), 0)",
        cost_usd: Option<f64> = "sum(r.cost_usd)",
    }
}

const SUM: &str = text!(
    "SELECT ",
    UsageRow::COLUMNS,
    " FROM handoffs h
      JOIN runs r ON r.handoff_number = h.number AND r.state = 'ended' AND r.started_at IS NOT NULL"
);

fn from_row(row: &Row<'_>) -> Result<UsageSum> {
    let row = UsageRow::from_row(row)?;
    Ok(UsageSum {
        runs: row.runs,
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        turns: row.turns,
        duration_ms: row.duration_ms,
        cost_usd: row.cost_usd,
    })
}

/// Sums the usage of the ended runs of a task and of all tasks below it.
pub fn of_task(view: &View<'_>, task_number: i64) -> Result<UsageSum> {
    const OF_TASK: Statement<1> = sql!(
        "WITH RECURSIVE below (number) AS (
             SELECT $1
             UNION ALL
             SELECT c.number FROM below JOIN tasks c ON c.parent_number = below.number
         ) ",
        SUM,
        " JOIN below ON below.number = h.task_number"
    );
    view.one(OF_TASK, params![task_number], from_row)
}

/// Sums the usage of the ended runs of an agent.
pub fn of_agent(view: &View<'_>, name: &AgentName) -> Result<UsageSum> {
    const OF_AGENT: Statement<1> = sql!(SUM, " WHERE h.agent_name = $1");
    view.one(OF_AGENT, params![name], from_row)
}
