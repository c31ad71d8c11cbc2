//! The part of a prompt with the requests that the agent may claim beside its assignment.

use super::push;
use super::quote::quote_within;
use crate::domain::{Effort, Request};
use crate::ledger::request::Offer;

/// The title and the body of one request.
const REQUEST_BUDGET: usize = 2 * 1024;

pub(super) fn offered(text: &mut String, offer: &Offer) {
    if offer.requests.is_empty() {
        return;
    }
    text.push_str(
        "# Requests for you\n\nThe operator left these requests to the next agent that starts on this kind of work. \
         They do not change your assignment below. Complete your assignment first. Then do the requests, one after the other:\n\n\
         1. Run `chorus request claim ID` before you begin. If the command fails, leave the request: another agent has it.\n\
         2. Do the work.\n\
         3. Run `chorus request done ID 'RESPONSE'`. If you cannot complete the work, run `chorus request requeue ID 'WHY'`.\n\n\
         Do not claim a request that you cannot do. The next agent gets it. Your final message is about your assignment only.\n\n",
    );
    for request in &offer.requests {
        write(text, request);
    }
    if offer.has_more {
        text.push_str("[More requests omitted; `chorus request list --state next` lists all]\n\n");
    }
}

fn write(text: &mut String, request: &Request) {
    push(
        text,
        format_args!(
            "Request {}: {}, {}",
            request.id,
            request.kind,
            request.priority.as_str()
        ),
    );
    if let Some(effort) = request.effort.map(Effort::as_str) {
        push(text, format_args!(", effort {effort}"));
    }
    if let Some(workspace) = &request.agent_workspace {
        push(text, format_args!(", in {:?}", workspace.as_str()));
    }
    let mut said = request.title.to_string();
    if !request.body.is_blank() {
        said.push_str("\n\n");
        said.push_str(request.body.as_str());
    }
    let show = format!("chorus request show {}", request.id);
    let said = quote_within(&said, REQUEST_BUDGET, &show);
    push(text, format_args!("\n{said}\n"));
}
