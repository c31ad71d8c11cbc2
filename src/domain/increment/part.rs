//! Parts: the place of a task in an increment.

use super::id::IncrementId;
use super::stage::Stage;

/// Which part of an increment a task is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncrementPart {
    /// The increment.
    pub increment_id: IncrementId,
    /// The stage.
    pub stage: Stage,
    /// The round that it belongs to.
    pub round: u32,
}
