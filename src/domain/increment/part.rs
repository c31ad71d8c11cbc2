//! The place of a task in an increment.

use super::id::IncrementId;
use super::stage::Stage;

/// The place of a task in an increment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncrementPart {
    pub increment_id: IncrementId,
    pub stage: Stage,
    pub round: u32,
}
