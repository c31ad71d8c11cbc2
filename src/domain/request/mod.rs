//! Requests: work left for later, and its dispatch to agents.

mod check;
mod dispatch;
mod kind;
mod kind_rule;
mod offer;
mod overview;
mod query;
mod recovery;
mod request;
mod state;
mod weight;

pub use dispatch::{Due, Job, JobStart};
pub use kind::{IllegalKind, Kind};
pub use kind_rule::{KindMode, KindRule};
pub use overview::{DispatchedRequest, HeldKind, HeldReason, WaitingRequest};
pub use query::RequestQuery;
pub use recovery::AfterFailure;
pub use request::{
    Lease, NewRequest, Recovery, Request, RequestId, RequestSource, RequestSourceType, Transition,
};
pub use state::{Actor, RequestMove, RequestState};
pub use weight::{Effort, Priority};
