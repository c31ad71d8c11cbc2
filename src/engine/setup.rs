//! Checks whether an agent could run now: its program and its spec are files of this machine.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::config::DataDir;
use crate::domain::{Agent, AgentName, Provider};
use crate::error::Error;
use crate::ledger::agent;
use crate::runner::providers::{find_program, program_of};
use crate::runner::read_spec;

/// Whether an agent could run now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSetup {
    pub agent_name: AgentName,
    /// The program that runs the agent: its own, or the one of its provider. Empty if the agent has none.
    pub program: String,
    /// The place of the program; null if it is not found.
    #[schema(required)]
    pub program_path: Option<String>,
    /// The reason why the spec cannot be read; null if it can, or if the agent needs none.
    #[schema(required)]
    pub spec_problem: Option<String>,
}

/// Whether an agent could run now, with its spec.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentSpec {
    #[serde(flatten)]
    pub setup: AgentSetup,
    /// The text of the spec; null without one.
    #[schema(required)]
    pub spec: Option<String>,
}

impl Engine {
    /// Checks all agents, in the order of their names.
    pub async fn agent_setups(&self) -> Result<Vec<AgentSetup>> {
        let agents = self.read(agent::list).await?;
        let setups = move |data_dir: &DataDir| {
            let check = |agent: &Agent| check(agent, data_dir).setup;
            agents.iter().map(check).collect()
        };
        self.with_data_dir(setups).await
    }

    /// Checks an agent, and reads its spec.
    pub async fn agent_setup(&self, name: AgentName) -> Result<AgentSpec> {
        let agent = self.read(move |view| agent::get(view, &name)).await?;
        self.with_data_dir(move |data_dir| check(&agent, data_dir))
            .await
    }

    async fn with_data_dir<T: Send + 'static>(
        &self,
        look: impl FnOnce(&DataDir) -> T + Send + 'static,
    ) -> Result<T> {
        let data_dir = self.options.data_dir.clone();
        tokio::task::spawn_blocking(move || look(&data_dir))
            .await
            .map_err(Error::internal)
    }
}

fn check(agent: &Agent, data_dir: &DataDir) -> AgentSpec {
    let program = program_of(agent);
    let place = find_program(&program).filter(|_| !program.is_empty());
    let needs_spec = agent.provider != Provider::Command || !agent.spec_path.is_blank();
    let (spec, spec_problem) = match read_spec(agent, data_dir.path()) {
        Ok(spec) => (Some(spec), None),
        Err(problem) => (None, needs_spec.then(|| problem.to_string())),
    };
    AgentSpec {
        setup: AgentSetup {
            agent_name: agent.name.clone(),
            program,
            program_path: place.map(|place| place.display().to_string()),
            spec_problem,
        },
        spec,
    }
}
