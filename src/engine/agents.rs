//! The configured agents, and those that a new installation begins with.

use include_dir::{Dir, include_dir};

use super::{Engine, Result};
use crate::domain::{Agent, AgentName};
use crate::error::Error;

/// What a new installation begins with.
pub(super) static SEEDS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/seeds");

/// Returns the agents that a new installation begins with.
pub fn default_agents() -> Vec<Agent> {
    let file = SEEDS
        .get_file("agents.json")
        .expect("seeds/agents.json is embedded");
    serde_json::from_slice(file.contents()).expect("seeds/agents.json is a list of agents")
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
