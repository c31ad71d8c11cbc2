//! Telling of hand-offs that ended, in the log and to a collector.

use super::Engine;
use crate::domain::HandoffSpan;

impl Engine {
    /// Tells of every hand-off that ends from now on, once it is committed, until the store is closed.
    pub fn tell_of_handoffs(&self) -> impl Future<Output = ()> + Send + use<> {
        let mut spans = self.feed().spans(HandoffSpan::is_wanted);
        async move {
            while let Some(span) = spans.recv().await {
                span.record();
            }
        }
    }
}
