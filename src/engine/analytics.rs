//! What many hand-offs have in common, and those of one trace.

use super::{Engine, Result};
use crate::domain::{AgentName, Handoff, HandoffAnalytics, HandoffId, Timestamp};
use crate::store::Page;

impl Engine {
    /// Adds up how hand-offs went, since a time and with an agent.
    pub async fn handoff_analytics(
        &self,
        since: Option<Timestamp>,
        agent: Option<&AgentName>,
    ) -> Result<HandoffAnalytics> {
        Ok(self.store.analytics(since, agent).await?)
    }

    /// Lists the hand-offs of a trace, W3C's or a harness's, oldest first.
    pub async fn handoffs_of_trace(
        &self,
        trace: &str,
        after: Option<&HandoffId>,
        limit: u32,
    ) -> Result<Page<Handoff>> {
        Ok(self.store.handoffs_of_trace(trace, after, limit).await?)
    }
}
