//! Making and changing agents, whose specs are files.

use super::{Engine, Result};
use crate::domain::{Agent, AgentChange, AgentName, Caller, Idempotency, Problems};
use crate::ledger::agent::{self, AgentPut, ChangeAgent, PutAgent};
use crate::runner::read_spec;

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
        caller: &Caller,
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
            caller: caller.clone(),
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
