//! Sums over the table `handoffs`.

use std::collections::{BTreeMap, HashMap};

use crate::domain::{
    AgentName, CommonPath, HandoffAnalytics, HandoffFigures, PairFigures, Timestamp,
};
use crate::store::{Result, Row, Statement, StoreError, View, params, sql};

/// How many paths of each length are shown.
const MOST_PATHS: u32 = 10;

/// Chooses hand-offs by the time of their start and an agent on either side. How long one took has three digits: so there
/// are few different times to count, whatever the number of hand-offs, and none has to be put in order.
macro_rules! chosen {
    () => {
        "WITH timed AS (
             SELECT h.number, h.from_number, h.from_agent, h.agent_name, h.outcome,
                    CASE WHEN h.is_invoked = 1 THEN max(h.completed_at - h.started_at, 0) END AS millis
               FROM handoffs h
              WHERE h.started_at >= $1
                AND ($2 IS NULL OR h.agent_name = $2 COLLATE NOCASE OR h.from_agent = $2 COLLATE NOCASE)
         ), chosen AS (
             SELECT number, from_number, from_agent, agent_name, outcome,
                    CASE WHEN millis < 1000 THEN millis
                         WHEN millis < 10000 THEN millis / 10 * 10
                         WHEN millis < 100000 THEN millis / 100 * 100
                         WHEN millis < 1000000 THEN millis / 1000 * 1000
                         WHEN millis < 10000000 THEN millis / 10000 * 10000
                         ELSE millis / 100000 * 100000 END AS took
               FROM timed
         ) "
    };
}

/// From whom, and to whom.
type Pair = (Option<AgentName>, AgentName);

fn pair(row: &Row<'_>) -> Result<Pair> {
    Ok((row.optional_parsed(0)?, row.parsed(1)?))
}

/// What is counted of some hand-offs.
#[derive(Default)]
struct Tally {
    handoffs: u64,
    ended: u64,
    completed: u64,
    cost_usd: f64,
    /// How many took so long.
    times: BTreeMap<u64, u64>,
}

impl Tally {
    fn add(&mut self, other: &Self) {
        self.handoffs += other.handoffs;
        self.ended += other.ended;
        self.completed += other.completed;
        self.cost_usd += other.cost_usd;
        for (took, handoffs) in &other.times {
            *self.times.entry(*took).or_default() += handoffs;
        }
    }

    /// Returns the time that so many percent did not exceed.
    fn percentile(&self, percent: u64) -> Option<u64> {
        let all: u64 = self.times.values().sum();
        let mut so_far = 0;
        let mut times = self.times.iter();
        times
            .find(|(_, handoffs)| {
                so_far += *handoffs;
                so_far * 100 >= all * percent
            })
            .map(|(took, _)| *took)
    }

    fn figures(&self) -> HandoffFigures {
        #[expect(
            clippy::cast_precision_loss,
            reason = "a rate needs no more digits than a float has"
        )]
        let success_rate = (self.ended > 0).then(|| self.completed as f64 / self.ended as f64);
        HandoffFigures {
            handoffs: self.handoffs,
            ended: self.ended,
            completed: self.completed,
            success_rate,
            median_ms: self.percentile(50),
            p95_ms: self.percentile(95),
            cost_usd: self.cost_usd,
        }
    }
}

fn count(row: &Row<'_>, column: usize) -> Result<u64> {
    u64::try_from(row.integer(column)?).map_err(StoreError::inconsistent)
}

pub(crate) fn handoffs(
    view: &View<'_>,
    since: Option<Timestamp>,
    agent: Option<&AgentName>,
) -> Result<HandoffAnalytics> {
    let (since, agent) = (
        since.map_or(i64::MIN, Timestamp::as_millis),
        agent.map(AgentName::as_str),
    );
    let tallies = tallies(view, since, agent)?;
    let bounces = bounces(view, since, agent)?;
    let mut total = Tally::default();
    for tally in tallies.values() {
        total.add(tally);
    }
    let mut pairs: Vec<_> = tallies
        .into_iter()
        .map(|(pair, tally)| PairFigures {
            bounces: bounces.get(&pair).copied().unwrap_or_default(),
            from_agent: pair.0,
            to_agent: pair.1,
            figures: tally.figures(),
        })
        .collect();
    pairs.sort_by_key(|pair| std::cmp::Reverse(pair.figures.handoffs));
    Ok(HandoffAnalytics {
        total: total.figures(),
        bounces: bounces.values().sum(),
        pairs,
        paths: paths(view, since, agent)?,
    })
}

/// Counts hand-offs by pair of agents.
fn tallies(view: &View<'_>, since: i64, agent: Option<&str>) -> Result<BTreeMap<Pair, Tally>> {
    const TIMES: Statement<2> = sql!(
        chosen!(),
        "SELECT from_agent, agent_name, took, count(*), count(outcome), sum(outcome IS 'completed')
           FROM chosen GROUP BY from_agent, agent_name, took"
    );
    const COSTS: Statement<2> = sql!(
        "SELECT h.from_agent, h.agent_name, sum(r.cost_usd) FROM handoffs h
           JOIN runs r ON r.handoff_number = h.number
          WHERE h.started_at >= $1
            AND ($2 IS NULL OR h.agent_name = $2 COLLATE NOCASE OR h.from_agent = $2 COLLATE NOCASE)
            AND r.cost_usd IS NOT NULL
          GROUP BY h.from_agent, h.agent_name"
    );
    let mut tallies: BTreeMap<Pair, Tally> = BTreeMap::new();
    view.rows(TIMES, params![since, agent], |row| {
        let tally = tallies.entry(pair(row)?).or_default();
        let handoffs = count(row, 3)?;
        tally.handoffs += handoffs;
        tally.ended += count(row, 4)?;
        tally.completed += count(row, 5)?;
        if let Some(took) = row.get(2)? {
            tally.times.insert(took, handoffs);
        }
        Ok(())
    })?;
    view.rows(COSTS, params![since, agent], |row| {
        let cost = row.optional_real(2)?.unwrap_or_default();
        tallies.entry(pair(row)?).or_default().cost_usd += cost;
        Ok(())
    })?;
    Ok(tallies)
}

/// Counts the hand-offs that went straight back, by pair of agents.
fn bounces(view: &View<'_>, since: i64, agent: Option<&str>) -> Result<HashMap<Pair, u64>> {
    const BOUNCES: Statement<2> = sql!(
        chosen!(),
        "SELECT c.from_agent, c.agent_name, count(*) FROM chosen c
           JOIN handoffs b ON b.number = c.from_number AND b.from_agent = c.agent_name AND b.agent_name = c.from_agent
          GROUP BY c.from_agent, c.agent_name"
    );
    let bounces = view.rows(BOUNCES, params![since, agent], |row| {
        Ok((pair(row)?, count(row, 2)?))
    })?;
    Ok(bounces.into_iter().collect())
}

/// Lists the most common ways over two and three hand-offs, each counted where it ends. One that was handed off in the name
/// of another agent than the one that had it is on no way.
fn paths(view: &View<'_>, since: i64, agent: Option<&str>) -> Result<Vec<CommonPath>> {
    const TWO: Statement<3> = sql!(
        chosen!(),
        "SELECT count(*), b.from_agent, c.from_agent, c.agent_name FROM chosen c
           JOIN handoffs b ON b.number = c.from_number AND b.agent_name = c.from_agent
          WHERE b.from_agent IS NOT NULL
          GROUP BY 2, 3, 4 ORDER BY 1 DESC, 2, 3, 4 LIMIT $3"
    );
    const THREE: Statement<3> = sql!(
        chosen!(),
        "SELECT count(*), a.from_agent, b.from_agent, c.from_agent, c.agent_name FROM chosen c
           JOIN handoffs b ON b.number = c.from_number AND b.agent_name = c.from_agent
           JOIN handoffs a ON a.number = b.from_number AND a.agent_name = b.from_agent
          WHERE a.from_agent IS NOT NULL
          GROUP BY 2, 3, 4, 5 ORDER BY 1 DESC, 2, 3, 4, 5 LIMIT $3"
    );
    fn path<const AGENTS: usize>(row: &Row<'_>) -> Result<CommonPath> {
        let agents = (1..=AGENTS).map(|column| row.parsed(column));
        Ok(CommonPath {
            agents: agents.collect::<Result<_>>()?,
            length: u32::try_from(AGENTS - 1).map_err(StoreError::inconsistent)?,
            count: count(row, 0)?,
        })
    }
    let mut paths = view.rows(TWO, params![since, agent, MOST_PATHS], path::<3>)?;
    paths.extend(view.rows(THREE, params![since, agent, MOST_PATHS], path::<4>)?);
    Ok(paths)
}
