//! Sums over the table `runs`.

use crate::domain::{AgentName, UsageSum};
use crate::store::{Result, Row, Statement, StoreError, View, params, sql};

macro_rules! sum_runs {
    () => {
        "SELECT count(*),
                coalesce(sum(r.usage ->> 'inputTokens'), 0),
                coalesce(sum(r.usage ->> 'outputTokens'), 0),
                coalesce(sum(r.usage ->> 'turns'), 0),
                coalesce(sum(r.ended_at - r.started_at), 0),
                coalesce(sum(r.cost_usd), 0.0)
           FROM handoffs h
           JOIN runs r ON r.handoff_number = h.number AND r.state = 'ended' AND r.started_at IS NOT NULL"
    };
}

fn from_row(row: &Row<'_>) -> Result<UsageSum> {
    let count = |column| u64::try_from(row.integer(column)?).map_err(StoreError::inconsistent);
    Ok(UsageSum {
        runs: count(0)?,
        input_tokens: count(1)?,
        output_tokens: count(2)?,
        turns: count(3)?,
        duration_ms: count(4)?,
        cost_usd: row.optional_real(5)?.unwrap_or_default(),
    })
}

pub(crate) fn of_task(view: &View<'_>, task_number: i64) -> Result<UsageSum> {
    const OF_TASK: Statement<1> = sql!(sum_runs!(), " WHERE h.task_number = $1");
    view.one(OF_TASK, params![task_number], from_row)
}

pub(crate) fn of_agent(view: &View<'_>, name: &AgentName) -> Result<UsageSum> {
    const OF_AGENT: Statement<1> = sql!(sum_runs!(), " WHERE h.agent_name = $1");
    view.one(OF_AGENT, params![name.as_str()], from_row)
}
