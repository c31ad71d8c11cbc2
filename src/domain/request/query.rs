//! Filters for lists of requests.

use super::{Kind, Priority, RequestId, RequestState};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestQuery {
    pub kind: Option<Kind>,
    pub state: Option<RequestState>,
    pub priority: Option<Priority>,
    /// Selects only withdrawn requests; otherwise only the others.
    pub withdrawn: bool,
    /// Sorts newest first.
    pub newest: bool,
    pub after: Option<RequestId>,
    pub limit: u32,
}
