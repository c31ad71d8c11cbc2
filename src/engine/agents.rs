//! The configured agents, and those that a new installation begins with.

use include_dir::{Dir, include_dir};

use serde::de::DeserializeOwned;

use super::{Engine, Result};
use crate::domain::{Agent, AgentName, Route};
use crate::error::Error;

/// What a new installation begins with.
pub(super) static SEEDS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/seeds");

/// Returns the agents that a new installation begins with.
pub fn default_agents() -> Vec<Agent> {
    seed("agents.json")
}

/// Returns the routes that a new installation begins with.
pub fn default_routes() -> Vec<Route> {
    seed("routes.json")
}

fn seed<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let file = SEEDS.get_file(name).expect("the seeds are embedded");
    serde_json::from_slice(file.contents()).expect("a seed is a list")
}

impl Engine {
    /// Lists the agents by name.
    pub async fn agents(&self) -> Result<Vec<Agent>> {
        Ok(self.store.agents().await?)
    }

    /// Finds an agent.
    pub async fn agent(&self, name: &AgentName) -> Result<Agent> {
        self.store
            .agent(name)
            .await?
            .ok_or_else(|| Error::not_found("Agent", name))
    }

    /// Plants the agents that a database begins with, once in its life.
    pub async fn seed(&self, agents: Vec<Agent>) -> Result<usize> {
        Ok(self.store.seed_agents(agents).await?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_kind_has_a_route_to_a_default_agent() {
        let routes = default_routes();
        let shown: Vec<_> = routes
            .iter()
            .map(|route| (route.kind.as_str(), route.rank, route.agent.as_str()))
            .collect();
        assert_eq!(
            shown,
            [
                ("brainstorm", 1.0, "planner"),
                ("research", 2.0, "planner"),
                ("fix", 3.0, "developer"),
                ("implementation", 4.0, "developer"),
                ("loop", 4.5, "developer"),
                ("chores", 5.0, "developer"),
                ("documentation", 6.0, "developer"),
            ]
        );
        assert_eq!(Route::check_all(&routes), Ok(()));
    }

    #[test]
    fn there_are_five_defaults_that_can_read_edit_and_hand_off() {
        let agents = default_agents();
        let names: Vec<_> = agents.iter().map(|agent| agent.name.as_str()).collect();
        assert_eq!(
            names,
            [
                "developer",
                "developer-review",
                "qa",
                "planner",
                "orchestrator"
            ]
        );
        for agent in agents {
            assert_eq!(
                agent.spec_path.as_str(),
                format!("agents/{}.md", agent.name)
            );
            assert_eq!(agent.permission_mode.as_str(), "bypassPermissions");
            for tool in ["Read", "Edit", "Bash(scripts/agent/handoff.sh *)"] {
                assert!(
                    agent.allowed_tools.as_str().contains(tool),
                    "{} cannot {tool}",
                    agent.name
                );
            }
        }
    }
}
