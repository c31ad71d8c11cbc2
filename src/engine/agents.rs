//! Creates and changes agents, whose specs are files.

use super::{Engine, Result};
use crate::domain::{Agent, AgentChange, AgentName, Caller, Idempotency, Problems};
use crate::ledger::agent::{self, AgentPut, ChangeAgent, PutAgent};
use crate::runner::read_spec;

impl Engine {
    /// Creates an agent, or replaces the one with the same name.
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

    /// Changes an agent. A run may change only its own agent.
    pub async fn change_agent(
        &self,
        name: AgentName,
        change: AgentChange,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Agent> {
        let mut problems = Problems::default();
        let before = self.read({
            let name = name.clone();
            move |view| agent::find(view, &name)
        });
        if let Some(before) = before.await? {
            let after = change.clone().apply_to(before.clone());
            if (&after.spec_path, after.provider) != (&before.spec_path, before.provider) {
                problems = self.spec_problems(&after).await;
            }
        }
        let change = ChangeAgent {
            name,
            change,
            problems,
            caller: caller.clone(),
        };
        self.write(once, move |tx| agent::change(tx, &change)).await
    }

    /// Lists the problems of an agent's spec file. A blank path is left to `Agent::check`.
    async fn spec_problems(&self, agent: &Agent) -> Problems {
        let mut problems = Problems::default();
        if agent.spec_path.is_blank() {
            return problems;
        }
        let (agent, data_dir) = (agent.clone(), self.options.data_dir.clone());
        let read = tokio::task::spawn_blocking(move || read_spec(&agent, data_dir.path()));
        if let Ok(Err(problem)) = read.await {
            problems.add("specPath", problem.to_string());
        }
        problems
    }
}
