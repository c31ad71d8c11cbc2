//! Hand-offs: their ends, logs and figures.

use bytes::Bytes;
use futures_util::Stream;
use reqwest::Method;
use serde::Serialize;

use super::{ClientError, Handoffs, Replied};
use crate::api::LogStream;
use crate::domain::{Handoff, HandoffAnalytics};

/// Filters of the figures.
#[derive(Debug, Default, Serialize)]
pub struct AnalyticsQuery {
    /// Milliseconds since the epoch.
    pub since: Option<i64>,
    pub agent: Option<String>,
}

impl Handoffs<'_> {
    /// Waits up to this many seconds for the end.
    pub async fn get(&self, id: &str, wait: u64) -> Replied<Handoff> {
        self.0.fetch(&["handoffs", id], &[("wait", wait)]).await
    }

    pub async fn of_task(&self, task: &str) -> Replied<Vec<Handoff>> {
        self.0.fetch(&["tasks", task, "handoffs"], &()).await
    }

    /// Streams the output of the last run; with `follow` until the run ends.
    pub async fn log(
        &self,
        id: &str,
        stream: LogStream,
        follow: bool,
    ) -> Result<impl Stream<Item = Result<Bytes, ClientError>> + Unpin + use<>, ClientError> {
        let request = self.0.at(Method::GET, &["handoffs", id, "log"])?;
        let query = (("stream", stream), ("follow", follow));
        self.0.stream(request.query(&query)).await
    }

    pub async fn analytics(&self, query: &AnalyticsQuery) -> Replied<HandoffAnalytics> {
        self.0.fetch(&["analytics", "handoffs"], query).await
    }
}
