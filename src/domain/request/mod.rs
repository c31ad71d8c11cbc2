//! Requests: work that is left for later, and its dispatch to agents.

mod check;
mod dispatch;
mod kind;
mod query;
mod request;
mod state;
mod weight;

pub use dispatch::{
    AfterFailure, DispatchOverview, DispatchedRequest, HeldKind, Route, RouteMode, WaitingRequest,
};
pub use kind::{IllegalKind, Kind};
pub use query::RequestQuery;
pub use request::{
    Lease, NewRequest, Recovery, Request, RequestId, RequestSource, RequestSourceType, Transition,
};
pub use state::{Actor, RequestMove, RequestState};
pub use weight::{Effort, Priority};
