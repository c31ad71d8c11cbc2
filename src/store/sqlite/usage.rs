//! Sums over the table `runs`.

use sqlx::SqlitePool;

use super::row::Columns;
use super::sql::{Statement, query, sql};
use crate::domain::{AgentName, UsageSum};
use crate::store::{Result, StoreError};

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

fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<UsageSum> {
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

pub(super) async fn of_task(readers: &SqlitePool, task_number: i64) -> Result<UsageSum> {
    const OF_TASK: Statement = sql!(sum_runs!(), " WHERE h.task_number = $1");
    from_row(&query!(OF_TASK, task_number).fetch_one(readers).await?)
}

pub(super) async fn of_agent(readers: &SqlitePool, name: &AgentName) -> Result<UsageSum> {
    const OF_AGENT: Statement = sql!(sum_runs!(), " WHERE h.agent_name = $1");
    from_row(&query!(OF_AGENT, name.as_str()).fetch_one(readers).await?)
}
