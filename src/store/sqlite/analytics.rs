//! Sums over the table `handoffs`.

use std::collections::HashMap;

use sqlx::SqlitePool;

use super::row::{self, Columns};
use super::sql::{Statement, query, sql};
use crate::domain::{
    AgentName, CommonPath, HandoffAnalytics, HandoffFigures, PairFigures, Timestamp,
};
use crate::store::{Result, StoreError};

/// How many paths of each length are shown.
const MOST_PATHS: u32 = 10;

/// Chooses hand-offs by the time of their start and an agent on either side, each with its cost.
macro_rules! chosen {
    () => {
        "WITH chosen AS (
             SELECT h.number, h.from_number, h.from_agent, h.agent_name, h.outcome,
                    CASE WHEN h.is_invoked = 1 THEN h.completed_at - h.started_at END AS took,
                    (SELECT sum(r.cost_usd) FROM runs r WHERE r.handoff_number = h.number) AS cost
               FROM handoffs h
              WHERE h.started_at >= $1
                AND ($2 IS NULL OR h.agent_name = $2 COLLATE NOCASE OR h.from_agent = $2 COLLATE NOCASE)
         ) "
    };
}

/// The columns that [`figures`] reads, over hand-offs that are ranked by how long they took.
macro_rules! figures {
    () => {
        " count(*), count(outcome), coalesce(sum(outcome = 'completed'), 0), coalesce(sum(cost), 0.0),
          min(CASE WHEN 2 * place >= timed THEN took END), min(CASE WHEN 20 * place >= 19 * timed THEN took END) "
    };
}

fn figures(row: &sqlx::sqlite::SqliteRow, column: usize) -> Result<HandoffFigures> {
    let [handoffs, ended, completed] =
        [column, column + 1, column + 2].map(|column| count(row, column));
    let (ended, completed) = (ended?, completed?);
    let took = |column| {
        let took = row.optional_integer(column)?;
        // A clock that went back makes no time negative.
        Ok::<_, StoreError>(took.map(|took| u64::try_from(took).unwrap_or_default()))
    };
    #[expect(
        clippy::cast_precision_loss,
        reason = "a rate needs no more digits than a float has"
    )]
    let success_rate = (ended > 0).then(|| completed as f64 / ended as f64);
    Ok(HandoffFigures {
        handoffs: handoffs?,
        ended,
        completed,
        success_rate,
        cost_usd: row.optional_real(column + 3)?.unwrap_or_default(),
        median_ms: took(column + 4)?,
        p95_ms: took(column + 5)?,
    })
}

fn count(row: &sqlx::sqlite::SqliteRow, column: usize) -> Result<u64> {
    u64::try_from(row.integer(column)?).map_err(StoreError::inconsistent)
}

pub(super) async fn handoffs(
    readers: &SqlitePool,
    since: Option<Timestamp>,
    agent: Option<&AgentName>,
) -> Result<HandoffAnalytics> {
    const TOTAL: Statement = sql!(
        chosen!(),
        "SELECT", figures!(),
        "FROM (SELECT outcome, cost, took, row_number() OVER (ORDER BY took IS NULL, took) AS place,
                      count(took) OVER () AS timed
                 FROM chosen)"
    );
    let (since, agent) = (
        since.map_or(i64::MIN, Timestamp::as_millis),
        agent.map(AgentName::as_str),
    );
    let total = query!(TOTAL, since, agent).fetch_one(readers).await?;
    let pairs = pairs(readers, since, agent).await?;
    Ok(HandoffAnalytics {
        total: figures(&total, 0)?,
        bounces: pairs.iter().map(|pair| pair.bounces).sum(),
        pairs,
        paths: paths(readers, since, agent).await?,
    })
}

async fn pairs(readers: &SqlitePool, since: i64, agent: Option<&str>) -> Result<Vec<PairFigures>> {
    const PAIRS: Statement = sql!(
        chosen!(),
        "SELECT from_agent, agent_name,", figures!(),
        "FROM (SELECT from_agent, agent_name, outcome, cost, took,
                      row_number() OVER (PARTITION BY from_agent, agent_name ORDER BY took IS NULL, took) AS place,
                      count(took) OVER (PARTITION BY from_agent, agent_name) AS timed
                 FROM chosen)
         GROUP BY from_agent, agent_name
         ORDER BY count(*) DESC, from_agent, agent_name"
    );
    const BOUNCES: Statement = sql!(
        chosen!(),
        "SELECT c.from_agent, c.agent_name, count(*) FROM chosen c
           JOIN handoffs b ON b.number = c.from_number AND b.from_agent = c.agent_name AND b.agent_name = c.from_agent
          GROUP BY c.from_agent, c.agent_name"
    );
    let mut bounces: HashMap<(Option<AgentName>, AgentName), u64> = HashMap::new();
    for row in query!(BOUNCES, since, agent).fetch_all(readers).await? {
        bounces.insert((row.optional_parsed(0)?, row.parsed(1)?), count(&row, 2)?);
    }
    let rows = query!(PAIRS, since, agent).fetch_all(readers).await?;
    let pair = |row: &sqlx::sqlite::SqliteRow| {
        let (from_agent, to_agent) = (row.optional_parsed(0)?, row.parsed(1)?);
        let key = (from_agent, to_agent);
        let bounces = bounces.get(&key).copied().unwrap_or_default();
        let (from_agent, to_agent) = key;
        Ok(PairFigures {
            from_agent,
            to_agent,
            figures: figures(row, 2)?,
            bounces,
        })
    };
    rows.iter().map(pair).collect()
}

/// Lists the most common ways over two and three hand-offs, each counted where it ends.
async fn paths(readers: &SqlitePool, since: i64, agent: Option<&str>) -> Result<Vec<CommonPath>> {
    const TWO: Statement = sql!(
        chosen!(),
        "SELECT count(*), b.from_agent, c.from_agent, c.agent_name FROM chosen c
           JOIN handoffs b ON b.number = c.from_number
          WHERE b.from_agent IS NOT NULL AND c.from_agent IS NOT NULL
          GROUP BY 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4 LIMIT $3"
    );
    const THREE: Statement = sql!(
        chosen!(),
        "SELECT count(*), a.from_agent, b.from_agent, c.from_agent, c.agent_name FROM chosen c
           JOIN handoffs b ON b.number = c.from_number
           JOIN handoffs a ON a.number = b.from_number
          WHERE a.from_agent IS NOT NULL AND b.from_agent IS NOT NULL AND c.from_agent IS NOT NULL
          GROUP BY 2, 3, 4, 5 ORDER BY 1 DESC, 2, 3, 4, 5 LIMIT $3"
    );
    fn path<const AGENTS: usize>(row: &sqlx::sqlite::SqliteRow) -> Result<CommonPath> {
        let agents = (1..=AGENTS).map(|column| row.parsed(column));
        Ok(CommonPath {
            agents: agents.collect::<Result<_>>()?,
            length: u32::try_from(AGENTS - 1).map_err(StoreError::inconsistent)?,
            count: count(row, 0)?,
        })
    }
    let two = query!(TWO, since, agent, MOST_PATHS)
        .fetch_all(readers)
        .await?;
    let three = query!(THREE, since, agent, MOST_PATHS)
        .fetch_all(readers)
        .await?;
    let mut paths = row::all(&two, path::<3>)?;
    paths.extend(row::all(&three, path::<4>)?);
    Ok(paths)
}
