//! Kind rules: the agent and the mode for each kind of request.

use crate::domain::{EventKind, Kind, KindRule, Problems, Refusal, match_agent_name};
use crate::ledger::{agent, history};
use crate::store::tables::agents;
use crate::store::tables::{dispatch_routes, installation};
use crate::store::{Result, Tx, View};

/// Lists the rules in dispatch order.
pub fn list(view: &View<'_>) -> Result<Vec<KindRule>> {
    dispatch_routes::list(view)
}

/// Lists the kinds that have a rule, in dispatch order.
pub fn list_kinds(view: &View<'_>) -> Result<Vec<Kind>> {
    dispatch_routes::list_kinds(view)
}

/// Whether the rules were changed since the default ones were seeded.
pub fn are_chosen(view: &View<'_>) -> Result<bool> {
    installation::are_routes_chosen(view)
}

/// Replaces all rules. Returns them in dispatch order.
pub fn set(tx: &mut Tx<'_>, rules: &[KindRule]) -> Result<Vec<KindRule>> {
    let mut rules = with_known_agents(tx, rules)?;
    rules.sort_by(|a, b| a.rank.total_cmp(&b.rank).then_with(|| a.kind.cmp(&b.kind)));
    dispatch_routes::replace_all(tx, &rules)?;
    installation::mark_routes_chosen(tx)?;
    let kinds = rules.iter().map(|rule| rule.kind.clone()).collect();
    history::record_alone(tx, EventKind::RoutesChanged { kinds })?;
    Ok(rules)
}

/// Seeds the default rules once in the life of a database, unless it has rules.
pub fn seed(tx: &Tx<'_>, rules: &[KindRule]) -> Result<()> {
    if installation::mark_routes_seeded(tx)? && !dispatch_routes::has_any(tx)? {
        dispatch_routes::replace_all(tx, rules)?;
    }
    Ok(())
}

/// Replaces all rules by those of an archive. Archives of earlier versions do not record when the default rules were seeded.
pub fn import(tx: &Tx<'_>, rules: &[KindRule], is_of_earlier_version: bool) -> Result<()> {
    if is_of_earlier_version {
        installation::mark_routes_seeded(tx)?;
    }
    dispatch_routes::replace_all(tx, rules)
}

/// Resolves the agent names in rules.
fn with_known_agents(tx: &Tx<'_>, rules: &[KindRule]) -> Result<Vec<KindRule>> {
    let known = agents::names(tx)?;
    let mut problems = Problems::default();
    let mut found = Vec::new();
    for (place, rule) in rules.iter().enumerate() {
        if let Some(agent) = match_agent_name(rule.agent.as_str(), &known) {
            found.push(KindRule {
                agent: agent.clone(),
                ..rule.clone()
            });
        } else {
            let field = format!("routes[{place}].agent");
            problems.add(field, agent::describe_unknown(&rule.agent, &known));
        }
    }
    Ok(problems.into_result(|| found).map_err(Refusal::Invalid)?)
}
