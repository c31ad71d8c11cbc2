//! The hand-offs of one trace.

use super::{Engine, Result};
use crate::domain::{Handoff, HandoffId};
use crate::store::Page;

impl Engine {
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
