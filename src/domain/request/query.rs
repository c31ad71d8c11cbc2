//! Which requests a list shows.

use super::{Kind, Priority, RequestId, RequestState};

/// Which requests a list shows.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestQuery {
    /// Only those of this kind.
    pub kind: Option<Kind>,
    /// Only those in this state.
    pub state: Option<RequestState>,
    /// Only those of this priority.
    pub priority: Option<Priority>,
    /// Those that were withdrawn, instead of all others.
    pub withdrawn: bool,
    /// The newest first, instead of the oldest.
    pub newest: bool,
    /// Only those that follow this one in that order.
    pub after: Option<RequestId>,
    /// At most so many.
    pub limit: u32,
}
