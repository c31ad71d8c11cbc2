//! Who handed on to whom: the chain that limits are counted on, whichever doors it came through.

use crate::domain::{AgentName, Lineage, Refusal};
use crate::store::{Result, Tx, params, sql};

/// A hand-off that is about to be begun.
pub struct Step<'a> {
    /// The hand-off that it comes from.
    pub from_number: Option<i64>,
    /// Who hands off.
    pub from_agent: Option<&'a AgentName>,
    /// Who is asked.
    pub to_agent: &'a AgentName,
    /// The task that is handed off.
    pub task_number: i64,
    /// Whether the work goes on in a child of that task.
    pub makes_child: bool,
}

/// Refuses a hand-off that would make its chain too long. Returns the agents so far, without the one that is asked.
pub fn check(tx: &Tx<'_>, step: &Step<'_>) -> Result<Vec<AgentName>> {
    let mut agents = so_far(tx, step.from_number)?;
    push(&mut agents, step.from_agent);
    let mut lineage = Lineage {
        agents: agents.clone(),
        depth: depth(tx, step.task_number)? + u32::from(step.makes_child),
        hops: hops(tx, step.task_number)?,
    };
    lineage.agents.push(step.to_agent.clone());
    lineage.check(tx.rules.chain)?;
    Ok(agents)
}

/// Refuses a task below another one that would make its chain too deep. The refusal names who works on those above.
pub fn check_depth(tx: &Tx<'_>, parent_number: i64) -> Result<()> {
    let (depth, limit) = (depth(tx, parent_number)? + 1, tx.rules.chain.depth);
    if depth <= limit {
        return Ok(());
    }
    let open = tx.row(
        sql!("SELECT number FROM handoffs WHERE task_number = $1 AND completed_at IS NULL"),
        params![parent_number],
        |row| row.integer(0),
    )?;
    let agents = so_far(tx, open)?;
    Err(Refusal::LimitExceeded {
        what: "tasks deep",
        limit,
        chain: agents.iter().map(ToString::to_string).collect(),
    }
    .into())
}

fn push(agents: &mut Vec<AgentName>, agent: Option<&AgentName>) {
    if let Some(agent) = agent
        && agents.last() != Some(agent)
    {
        agents.push(agent.clone());
    }
}

/// Lists the agents of the hand-offs that led to one, the first one first. What was only recorded does not count.
fn so_far(tx: &Tx<'_>, handoff_number: Option<i64>) -> Result<Vec<AgentName>> {
    let steps = tx.rows(
        sql!(
            "WITH RECURSIVE before (number, distance) AS (
                 SELECT $1, 0
                 UNION ALL
                 SELECT h.from_number, distance + 1 FROM before JOIN handoffs h ON h.number = before.number
                  WHERE h.from_number IS NOT NULL AND distance < 1000
             )
             SELECT h.from_agent, h.agent_name FROM before
               JOIN handoffs h ON h.number = before.number
              WHERE h.is_invoked = 1
              ORDER BY distance DESC"
        ),
        params![handoff_number],
        |row| {
            let (from, to): (Option<AgentName>, AgentName) = (row.optional_parsed(0)?, row.parsed(1)?);
            Ok((from, to))
        },
    )?;
    let mut agents = Vec::new();
    for (from, to) in &steps {
        push(&mut agents, from.as_ref());
        push(&mut agents, Some(to));
    }
    Ok(agents)
}

/// Counts the tasks from the first of the chain to this one.
fn depth(tx: &Tx<'_>, task_number: i64) -> Result<u32> {
    let depth = tx.row(
        sql!(
            "WITH RECURSIVE above (number) AS (
                 SELECT $1
                 UNION ALL
                 SELECT t.parent_number FROM above JOIN tasks t ON t.number = above.number WHERE t.parent_number IS NOT NULL
             )
             SELECT count(*) FROM above"
        ),
        params![task_number],
        |row| row.integer(0),
    )?;
    Ok(count(depth))
}

/// Counts the hand-offs from agent to agent on all tasks of the chain.
fn hops(tx: &Tx<'_>, task_number: i64) -> Result<u32> {
    let hops = tx.row(
        sql!(
            "WITH master (number) AS (SELECT coalesce(master_number, number) FROM tasks WHERE number = $1),
                  chain (number) AS (SELECT number FROM master
                                     UNION ALL
                                     SELECT t.number FROM tasks t JOIN master ON t.master_number = master.number)
             SELECT count(*) FROM chain
               JOIN handoffs h ON h.task_number = chain.number AND h.from_number IS NOT NULL AND h.is_invoked = 1"
        ),
        params![task_number],
        |row| row.integer(0),
    )?;
    Ok(count(hops))
}

fn count(number: Option<i64>) -> u32 {
    u32::try_from(number.unwrap_or_default()).unwrap_or(u32::MAX)
}
