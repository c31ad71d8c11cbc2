//! Aggregates over the table `handoffs`.

use crate::domain::{AgentName, AgentPair, CommonPath, HandoffCount, Timestamp};
use crate::store::{FromRow, Result, Row, Statement, StoreError, View, columns, params, sql, text};

/// A filter: hand-offs that started at or after a time, optionally with an agent on either side.
#[derive(Debug, Clone, Copy)]
pub struct Chosen<'a> {
    pub since: Option<Timestamp>,
    pub agent: Option<&'a AgentName>,
}

impl Chosen<'_> {
    pub(super) fn since(&self) -> i64 {
        self.since.map_or(i64::MIN, Timestamp::as_millis)
    }
}

/// The condition of [`Chosen`] on a hand-off `h`: `$1` is the time, `$2` the agent.
const IS_CHOSEN: &str = "h.started_at >= $1
    AND ($2 IS NULL OR h.agent_name = $2 COLLATE NOCASE OR h.from_agent = $2 COLLATE NOCASE)";

/// A time `millis`, rounded down to three digits. So there are few distinct times to group by, whatever the number of hand-offs, and
/// no sorting.
pub(super) const ROUNDED: &str = "CASE WHEN millis < 1000 THEN millis
                     WHEN millis < 10000 THEN millis / 10 * 10
                     WHEN millis < 100000 THEN millis / 100 * 100
                     WHEN millis < 1000000 THEN millis / 1000 * 1000
                     WHEN millis < 10000000 THEN millis / 10000 * 10000
                     ELSE millis / 100000 * 100000 END";

/// The chosen hand-offs with their rounded durations.
const CHOSEN: &str = text!(
    "WITH timed AS (
         SELECT h.number, h.from_number, h.from_agent, h.agent_name, h.outcome,
                CASE WHEN h.is_invoked = 1 THEN max(h.completed_at - h.started_at, 0) END AS millis
           FROM handoffs h
          WHERE ",
    IS_CHOSEN,
    "), chosen AS (
         SELECT number, from_number, from_agent, agent_name, outcome,
                ",
    ROUNDED,
    " AS took
           FROM timed
     ) "
);

columns! {
    struct CountRow {
        from_agent: Option<AgentName> = "from_agent",
        to_agent: AgentName = "agent_name",
        took: Option<u64> = "took",
        handoffs: u64 = "count(*)",
        ended: u64 = "count(outcome)",
        completed: u64 = "sum(outcome IS 'completed')",
    }
}

/// Counts hand-offs by pair of agents and duration.
pub fn count_by_time(view: &View<'_>, chosen: Chosen<'_>) -> Result<Vec<HandoffCount>> {
    const BY_TIME: Statement<2> = sql!(
        CHOSEN,
        "SELECT ",
        CountRow::COLUMNS,
        " FROM chosen GROUP BY from_agent, agent_name, took"
    );
    view.rows(BY_TIME, params![chosen.since(), chosen.agent], |row| {
        let row = CountRow::from_row(row)?;
        Ok(HandoffCount {
            pair: AgentPair {
                from: row.from_agent,
                to: row.to_agent,
            },
            took: row.took,
            handoffs: row.handoffs,
            ended: row.ended,
            completed: row.completed,
        })
    })
}

columns! {
    struct CostRow {
        from_agent: Option<AgentName> = "h.from_agent",
        to_agent: AgentName = "h.agent_name",
        cost_usd: f64 = "sum(r.cost_usd)",
    }
}

pub fn sum_costs(view: &View<'_>, chosen: Chosen<'_>) -> Result<Vec<(AgentPair, f64)>> {
    const COSTS: Statement<2> = sql!(
        "SELECT ",
        CostRow::COLUMNS,
        " FROM handoffs h
          JOIN runs r ON r.handoff_number = h.number
         WHERE ",
        IS_CHOSEN,
        " AND r.cost_usd IS NOT NULL
         GROUP BY h.from_agent, h.agent_name"
    );
    view.rows(COSTS, params![chosen.since(), chosen.agent], |row| {
        let row = CostRow::from_row(row)?;
        let pair = AgentPair {
            from: row.from_agent,
            to: row.to_agent,
        };
        Ok((pair, row.cost_usd))
    })
}

columns! {
    struct BounceRow {
        from_agent: Option<AgentName> = "c.from_agent",
        to_agent: AgentName = "c.agent_name",
        bounces: u64 = "count(*)",
    }
}

/// Counts the hand-offs that were handed straight back, by pair of agents.
pub fn count_bounces(view: &View<'_>, chosen: Chosen<'_>) -> Result<Vec<(AgentPair, u64)>> {
    const BOUNCES: Statement<2> = sql!(
        CHOSEN,
        "SELECT ",
        BounceRow::COLUMNS,
        " FROM chosen c
          JOIN handoffs b ON b.number = c.from_number AND b.from_agent = c.agent_name AND b.agent_name = c.from_agent
         GROUP BY c.from_agent, c.agent_name"
    );
    view.rows(BOUNCES, params![chosen.since(), chosen.agent], |row| {
        let row = BounceRow::from_row(row)?;
        let pair = AgentPair {
            from: row.from_agent,
            to: row.to_agent,
        };
        Ok((pair, row.bounces))
    })
}

columns! {
    struct MovedOnRow {
        from_agent: Option<AgentName> = "h.from_agent",
        to_agent: AgentName = "h.agent_name",
        handoffs: u64 = "count(DISTINCT h.number)",
    }
}

/// Counts the hand-offs whose agent was stopped because control moved on, by pair of agents. An agent that passed control itself has
/// completed its run.
pub fn count_moved_on(view: &View<'_>, chosen: Chosen<'_>) -> Result<Vec<(AgentPair, u64)>> {
    const MOVED_ON: Statement<2> = sql!(
        "SELECT ",
        MovedOnRow::COLUMNS,
        " FROM handoffs n INDEXED BY handoffs_taking_control
    CROSS JOIN handoffs h ON h.number = n.from_number AND h.outcome = 'completed'
    CROSS JOIN runs r ON r.handoff_number = h.number AND r.outcome = 'cancelled'
         WHERE n.takes_control = 1 AND ",
        IS_CHOSEN,
        " GROUP BY h.from_agent, h.agent_name"
    );
    view.rows(MOVED_ON, params![chosen.since(), chosen.agent], |row| {
        let row = MovedOnRow::from_row(row)?;
        let pair = AgentPair {
            from: row.from_agent,
            to: row.to_agent,
        };
        Ok((pair, row.handoffs))
    })
}

/// Lists the most common paths over two and over three hand-offs, at most `limit` of each length. A path is counted at its last
/// hand-off. A hand-off in the name of another agent than the previous one is on no path.
pub fn common_paths(view: &View<'_>, chosen: Chosen<'_>, limit: u32) -> Result<Vec<CommonPath>> {
    const TWO: Statement<3> = sql!(
        CHOSEN,
        "SELECT count(*), b.from_agent, c.from_agent, c.agent_name FROM chosen c
           JOIN handoffs b ON b.number = c.from_number AND b.agent_name = c.from_agent
          WHERE b.from_agent IS NOT NULL
          GROUP BY 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4 LIMIT $3"
    );
    const THREE: Statement<3> = sql!(
        CHOSEN,
        "SELECT count(*), a.from_agent, b.from_agent, c.from_agent, c.agent_name FROM chosen c
           JOIN handoffs b ON b.number = c.from_number AND b.agent_name = c.from_agent
           JOIN handoffs a ON a.number = b.from_number AND a.agent_name = b.from_agent
          WHERE a.from_agent IS NOT NULL
          GROUP BY 2, 3, 4, 5 ORDER BY 1 DESC, 2, 3, 4, 5 LIMIT $3"
    );
    let (since, agent) = (chosen.since(), chosen.agent);
    let arguments: &[_; 3] = params![since, agent, limit];
    let mut paths = view.rows(TWO, arguments, path::<3>)?;
    paths.extend(view.rows(THREE, arguments, path::<4>)?);
    Ok(paths)
}

/// Reads a count and the agents of a path.
fn path<const AGENTS: usize>(row: &Row<'_>) -> Result<CommonPath> {
    let mut columns = 0..;
    let count = row.next(&mut columns)?;
    let agents = (0..AGENTS).map(|_| row.next(&mut columns));
    Ok(CommonPath {
        agents: agents.collect::<Result<_>>()?,
        length: u32::try_from(AGENTS - 1).map_err(StoreError::inconsistent)?,
        count,
    })
}
