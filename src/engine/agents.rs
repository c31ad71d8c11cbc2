//! The configured agents, and those that a new installation begins with.

use include_dir::{Dir, include_dir};

use serde::de::DeserializeOwned;

use super::{Engine, Result};
use crate::domain::{Agent, AgentChange, AgentName, Idempotency, KindRule, Problems, RunIdentity};
use crate::error::Error;
use crate::runner::read_spec;
use crate::store::{AgentPut, ChangeAgent, PutAgent};

/// What a new installation begins with.
pub(super) static SEEDS: Dir<'static> = include_dir!("$CARGO_MANIFEST_DIR/seeds");

/// Returns the agents that a new installation begins with.
pub fn default_agents() -> Vec<Agent> {
    seed("agents.json")
}

/// Returns the specialists: agents that each play one role, for tasks that name a role.
pub fn specialists() -> Vec<Agent> {
    seed("roles.json")
}

/// Returns the kind rules that a new installation begins with.
pub fn default_kind_rules() -> Vec<KindRule> {
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

    /// Plants the specialists beside the agents that are there, once in the life of a database.
    pub async fn seed_specialists(&self, agents: Vec<Agent>) -> Result<usize> {
        Ok(self.store.seed_specialists(agents).await?)
    }

    /// Makes an agent, or puts it in the place of the one that has its name.
    pub async fn put_agent(
        &self,
        agent: Agent,
        only_new: bool,
        once: Option<Idempotency>,
    ) -> Result<AgentPut> {
        let put = PutAgent {
            problems: self.spec_problems(&agent).await,
            agent,
            only_new,
        };
        Ok(self.store.put_agent(put, once).await?)
    }

    /// Changes an agent, in the name of a run of its own if one says so.
    pub async fn change_agent(
        &self,
        name: AgentName,
        change: AgentChange,
        caller: Option<RunIdentity>,
        once: Option<Idempotency>,
    ) -> Result<Agent> {
        let mut problems = Problems::default();
        if let Some(before) = self.store.agent(&name).await? {
            let after = change.clone().applied_to(before.clone());
            if (&after.spec_path, after.provider) != (&before.spec_path, before.provider) {
                problems = self.spec_problems(&after).await;
            }
        }
        let change = ChangeAgent {
            name,
            change,
            problems,
            caller,
        };
        Ok(self.store.change_agent(change, once).await?)
    }

    /// Deletes an agent that nothing needs. What it did stays.
    pub async fn delete_agent(&self, name: AgentName, once: Option<Idempotency>) -> Result<Agent> {
        Ok(self.store.delete_agent(name, once).await?)
    }

    /// Looks for the spec of an agent. That one must be named at all, the agent itself shows.
    async fn spec_problems(&self, agent: &Agent) -> Problems {
        let mut problems = Problems::default();
        if agent.spec_path.is_blank() {
            return problems;
        }
        let (agent, data_dir) = (agent.clone(), self.options.data_dir.clone());
        let read = tokio::task::spawn_blocking(move || read_spec(&agent, data_dir.path()));
        if let Ok(Err(problem)) = read.await {
            problems.add("specPath", problem);
        }
        problems
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_default_kind_has_a_rule_for_a_default_agent() {
        let rules = default_kind_rules();
        let shown: Vec<_> = rules
            .iter()
            .map(|rule| (rule.kind.as_str(), rule.rank, rule.agent.as_str()))
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
        assert_eq!(KindRule::check_all(&rules), Ok(()));
    }

    #[test]
    fn every_role_has_a_specialist_that_could_run_now() {
        let shown: Vec<_> = specialists()
            .iter()
            .map(|agent| {
                assert_eq!(agent.check(), Problems::default(), "{}", agent.name);
                assert_eq!(agent.check_new_name(), Problems::default());
                let spec = read_spec(agent, std::path::Path::new("/nowhere")).unwrap();
                for part in ["## Your report", "\"result\": \"passed\"", "chorus report"] {
                    assert!(spec.contains(part), "{} has no {part}", agent.name);
                }
                let role = agent.roles.iter().map(ToString::to_string);
                let minutes = agent.max_session_duration.unwrap().get();
                assert!(!agent.skills.is_empty() && !agent.responsibilities.is_blank());
                (
                    agent.name.to_string(),
                    role.collect::<Vec<_>>().join(" "),
                    minutes,
                )
            })
            .collect();
        let expected = [
            ("implementation", 120),
            ("testing", 60),
            ("fixing", 90),
            ("verification", 30),
        ]
        .map(|(role, minutes)| (format!("{role}-specialist"), role.to_owned(), minutes));
        assert_eq!(shown, expected);
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
