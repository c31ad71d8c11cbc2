//! The memory that all followers of events share.

use std::sync::Arc;

use tokio::sync::Semaphore;

/// The most pieces that are being read or written as JSON at the same time.
const READS: usize = 4;

/// The most kilobytes of large events that are kept until their clients have taken them.
const KEPT: usize = 32 * 1024;

/// The memory that all followers share.
#[derive(Debug)]
pub(super) struct ReplayBudget {
    pub reads: Arc<Semaphore>,
    pub kept: Arc<Semaphore>,
}

impl Default for ReplayBudget {
    fn default() -> Self {
        Self {
            reads: Arc::new(Semaphore::new(READS)),
            kept: Arc::new(Semaphore::new(KEPT)),
        }
    }
}
