//! What runs used, added up.

use super::{Engine, Result};
use crate::domain::{AgentName, TaskId, UsageSum};
use crate::error::Error;
use crate::ledger::agent;

impl Engine {
    /// Adds up what the runs of a task used.
    pub async fn task_usage(&self, id: &TaskId) -> Result<UsageSum> {
        self.store
            .task_usage(id)
            .await?
            .ok_or_else(|| Error::not_found("Task", id))
    }

    /// Adds up what the runs of an agent used.
    pub async fn agent_usage(&self, name: &AgentName) -> Result<UsageSum> {
        self.read({
            let name = name.clone();
            move |view| agent::get(view, &name)
        })
        .await?;
        Ok(self.store.agent_usage(name).await?)
    }
}
