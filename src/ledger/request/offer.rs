//! Offering requests in state `next` to an agent that starts.

use crate::domain::{Agent, Request};
use crate::store::tables::{dispatch_routes, requests};
use crate::store::{Result, View};

/// The most requests that one prompt offers.
const MOST: usize = 3;

/// Requests that an agent may claim beside its own work.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Offer {
    /// The most urgent requests.
    pub requests: Vec<Request>,
    /// Whether more requests wait for the agent.
    pub has_more: bool,
}

/// Lists the requests that wait for the next agent that does their kind of work. An offer reserves nothing: a request is offered to
/// each such agent that starts, until one of them claims it.
pub fn offer(view: &View<'_>, agent: &Agent) -> Result<Offer> {
    let mut offered = Vec::new();
    for kind in requests::kinds_of_next(view)? {
        let rule = dispatch_routes::find(view, &kind)?;
        if agent.does(&kind, rule.as_ref()) {
            let limit = u32::try_from(MOST + 1).unwrap_or(u32::MAX);
            offered.extend(requests::next_of_kind(view, &kind, limit)?);
        }
    }
    offered.sort_by_key(|stored| (stored.request.priority.number(), stored.number));
    let has_more = offered.len() > MOST;
    offered.truncate(MOST);
    Ok(Offer {
        requests: offered.into_iter().map(|stored| stored.request).collect(),
        has_more,
    })
}
