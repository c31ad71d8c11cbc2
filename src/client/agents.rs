//! Agents.

use reqwest::Method;
use reqwest::header::IF_NONE_MATCH;

use super::{Agents, Input, Replied};
use crate::domain::{Agent, AgentChange, Capabilities, FunctionDefinition, UsageSum};

impl Agents<'_> {
    /// Is refused if there is an agent with this name.
    pub async fn create(&self, name: &str, agent: &Input<AgentChange>) -> Replied<Agent> {
        let request = self.0.at(Method::PUT, &["agents", name])?;
        let request = request.header(IF_NONE_MATCH, "*").json(agent);
        self.0.exchange(request).await
    }

    pub async fn list(&self) -> Replied<Vec<Agent>> {
        self.0.fetch(&["agents"], &()).await
    }

    pub async fn get(&self, name: &str) -> Replied<Agent> {
        self.0.fetch(&["agents", name], &()).await
    }

    pub async fn edit(&self, name: &str, change: &Input<AgentChange>) -> Replied<Agent> {
        let request = self.0.at(Method::PATCH, &["agents", name])?.json(change);
        self.0.exchange(request).await
    }

    pub async fn delete(&self, name: &str) -> Replied<Agent> {
        self.0.call(Method::DELETE, &["agents", name]).await
    }

    pub async fn announce(&self, name: &str, offered: &Capabilities) -> Replied<Agent> {
        self.0
            .post(&["agents", name, "capabilities"], offered)
            .await
    }

    pub async fn usage(&self, name: &str) -> Replied<UsageSum> {
        self.0.fetch(&["agents", name, "usage"], &()).await
    }

    /// Lists the tools that the agent may use, as a model sees them.
    pub async fn tools(&self, name: &str) -> Replied<Vec<FunctionDefinition>> {
        self.0.fetch(&["agents", name, "tools"], &()).await
    }
}
