//! The configured agents, and those that a new installation begins with.

use include_dir::{Dir, include_dir};

use serde::de::DeserializeOwned;

use super::{Engine, Result};
use crate::domain::{Agent, AgentChange, AgentName, Idempotency, Problems, Route, RunIdentity};
use crate::ledger::agent::{self, AgentPut, ChangeAgent, PutAgent};
use crate::runner::read_spec;

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

/// Returns the routes that a new installation begins with.
pub fn default_routes() -> Vec<Route> {
    seed("routes.json")
}

fn seed<T: DeserializeOwned>(name: &str) -> Vec<T> {
    let file = SEEDS.get_file(name).expect("the seeds are embedded");
    serde_json::from_slice(file.contents()).expect("a seed is a list")
}

impl Engine {
    /// Makes an agent, or replaces the one that has its name.
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
        self.write(once, move |tx| agent::put(tx, &put)).await
    }

    /// Changes an agent, in the name of one of its runs if that asks.
    pub async fn change_agent(
        &self,
        name: AgentName,
        change: AgentChange,
        caller: Option<RunIdentity>,
        once: Option<Idempotency>,
    ) -> Result<Agent> {
        let mut problems = Problems::default();
        let before = self.read({
            let name = name.clone();
            move |view| agent::find(view, &name)
        });
        if let Some(before) = before.await? {
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
        self.write(once, move |tx| agent::change(tx, &change)).await
    }

    /// Reads the spec of an agent. A spec that is not named is a problem that the agent itself shows.
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
