//! Figures over many hand-offs.

use super::{Engine, Result};
use crate::domain::{AgentName, HandoffAnalytics, Timestamp};

impl Engine {
    /// Adds up how hand-offs went, since a time and with an agent.
    pub async fn handoff_analytics(
        &self,
        since: Option<Timestamp>,
        agent: Option<&AgentName>,
    ) -> Result<HandoffAnalytics> {
        Ok(self.store.analytics(since, agent).await?)
    }
}
