//! Reports ended hand-offs to the log and to a trace collector.

use super::Engine;
use crate::domain::HandoffSpan;

impl Engine {
    /// Records a span for every hand-off that ends from now on, after its commit, until the store is closed.
    pub fn record_handoff_spans(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut spans = self.feed().spans(HandoffSpan::is_wanted);
        async move {
            while let Some(span) = spans.recv().await {
                span.record();
            }
        }
    }
}
