//! The one source of time.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use crate::domain::Timestamp;

/// Tells the time: the system's, or one that a test sets.
#[derive(Debug, Clone, Default)]
pub struct Clock(Option<Arc<AtomicI64>>);

impl Clock {
    /// Makes the clock of the system.
    pub const fn system() -> Self {
        Self(None)
    }

    /// Makes a clock that stands still until it is set. Its clones show the same time.
    pub fn standing_at(time: Timestamp) -> Self {
        Self(Some(Arc::new(AtomicI64::new(time.as_millis()))))
    }

    /// Moves a standing clock.
    ///
    /// # Panics
    /// Panics if it is the clock of the system.
    pub fn advance(&self, millis: i64) {
        self.0
            .as_ref()
            .expect("the clock of the system cannot be set")
            .fetch_add(millis, Ordering::Relaxed);
    }

    /// Returns the time.
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
