//! The table `dispatch_routes`.

use super::agent;
use crate::domain::{EventKind, Kind, Problems, Refusal, Route, RouteMode, Text, match_agent_name};
use crate::ledger::history;
use crate::store::tables::{agents, installation};
use crate::store::{Result, Row, Statement, StoreError, Tx, View, params, sql};

macro_rules! select_routes {
    () => {
        "SELECT kind, agent_name, mode, rank, batch, retry, max_attempts, start_command, poll_command, poll_seconds
           FROM dispatch_routes"
    };
}

const ONE: Statement<1> = sql!(select_routes!(), " WHERE kind = $1");

fn from_row(row: &Row<'_>) -> Result<Route> {
    Ok(Route {
        kind: row.parsed(0)?,
        agent: row.parsed(1)?,
        mode: row.word(2, RouteMode::parse)?,
        rank: row
            .optional_real(3)?
            .ok_or_else(|| StoreError::inconsistent("a route without a rank"))?,
        batch: row.integer(4)? != 0,
        retry: row.integer(5)? != 0,
        max_attempts: row.unsigned(6)?,
        start_command: row.optional_json(7)?,
        poll_command: row.optional_json(8)?,
        poll_seconds: row.unsigned(9)?,
    })
}

/// Finds the route of a kind within a transaction.
pub(crate) fn load(tx: &Tx<'_>, kind: &Kind) -> Result<Option<Route>> {
    tx.row(ONE, params![kind.as_str()], |row| from_row(row))
}

/// Replaces all routes. Returns them as they are listed.
pub(crate) fn replace(tx: &mut Tx<'_>, routes: &[Route]) -> Result<Vec<Route>> {
    let mut routes = with_known_agents(tx, routes)?;
    routes.sort_by(|a, b| a.rank.total_cmp(&b.rank).then_with(|| a.kind.cmp(&b.kind)));
    insert_all(tx, &routes)?;
    let kinds = routes.iter().map(|route| route.kind.clone()).collect();
    history::record_alone(tx, EventKind::RoutesChanged { kinds })?;
    Ok(routes)
}

/// Plants routes, unless that was done before or there are any.
pub(crate) fn seed(tx: &Tx<'_>, routes: &[Route]) -> Result<()> {
    if !installation::mark_routes_seeded(tx)? {
        return Ok(());
    }
    let found = tx.row(
        sql!("SELECT 1 FROM dispatch_routes LIMIT 1"),
        params![],
        |_| Ok(()),
    )?;
    if found.is_none() {
        insert_all(tx, routes)?;
    }
    Ok(())
}

/// Finds the agents that routes name, as hand-offs find them.
fn with_known_agents(tx: &Tx<'_>, routes: &[Route]) -> Result<Vec<Route>> {
    let known = agents::names(tx)?;
    let mut problems = Problems::default();
    let mut found = Vec::new();
    for (place, route) in routes.iter().enumerate() {
        if let Some(agent) = match_agent_name(route.agent.as_str(), &known) {
            found.push(Route {
                agent: agent.clone(),
                ..route.clone()
            });
        } else {
            let field = format!("routes[{place}].agent");
            problems.add(field, agent::describe_unknown(&route.agent, &known));
        }
    }
    Ok(problems.none_or(|| found).map_err(Refusal::Invalid)?)
}

/// Puts these routes in the place of all that there are.
pub(crate) fn insert_all(tx: &Tx<'_>, routes: &[Route]) -> Result<()> {
    tx.execute(sql!("DELETE FROM dispatch_routes"), params![])?;
    for route in routes {
        tx.insert(
            sql!(
                "INSERT INTO dispatch_routes (kind, agent_name, mode, rank, batch, retry, max_attempts, start_command,
                                              poll_command, poll_seconds)
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)"
            ),
            params![
                route.kind.as_str(),
                route.agent.as_str(),
                route.mode.as_str(),
                route.rank,
                route.batch,
                route.retry,
                route.max_attempts,
                route.start_command.as_deref().map(json),
                route.poll_command.as_deref().map(json),
                route.poll_seconds,
            ],
        )?;
    }
    Ok(())
}

fn json(words: &[Text]) -> String {
    serde_json::to_string(words).expect("texts are JSON")
}

/// Tells whether somebody has set the routes since the default ones were planted.
pub(crate) fn are_chosen(view: &View<'_>) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM events WHERE type = 'dispatch_routes_changed' LIMIT 1"),
        params![],
    )
}

/// Lists the routes: first those that are dispatched first.
pub(crate) fn list(view: &View<'_>) -> Result<Vec<Route>> {
    const ALL: Statement<0> = sql!(select_routes!(), " ORDER BY rank, kind");
    view.rows(ALL, params![], from_row)
}

/// Lists the kinds that have a route: first those that are dispatched first.
pub(crate) fn kinds(view: &View<'_>) -> Result<Vec<Kind>> {
    view.rows(
        sql!("SELECT kind FROM dispatch_routes ORDER BY rank, kind"),
        params![],
        |row| row.parsed(0),
    )
}
