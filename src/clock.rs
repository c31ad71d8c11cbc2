//! The one source of time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::domain::Timestamp;

/// The system's clock, or a clock that a test sets.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    pub const fn system() -> Self {
        Self(None)
    }

    /// A clock that only [`advance`](Self::advance) moves. Its clones share the time.
    pub fn standing_at(time: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(time.as_millis()))))
    }

    /// # Panics
    /// Panics on the system's clock.
    pub fn advance(&self, millis: i64) {
        self.0
            .as_ref()
            .expect("only a test clock can be advanced")
            .fetch_add(millis, Ordering::Relaxed);
    }

    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Some(millis) => Timestamp::from_millis(millis.load(Ordering::Relaxed)),
            None => Timestamp::from_millis(system_millis()),
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the clock that everything else must use"
)]
fn system_millis() -> i64 {
    chrono::Utc::now().timestamp_millis()
}
