//! Sentences about agents.

use crate::domain::Agent;

/// The command that sets the variables of an agent that have no value, if there are any. `--env` replaces all variables.
pub fn values_to_set(agent: &Agent) -> Option<String> {
    agent.variables_without_value().next()?;
    let variables = agent.environment.0.keys();
    let options: Vec<_> = variables.map(|name| format!("--env {name}=…")).collect();
    Some(format!(
        "chorus agent edit {} {}",
        agent.name,
        options.join(" ")
    ))
}
