//! Requests: decisions, claims and responses.

use reqwest::Method;
use serde::Serialize;

use super::{Replied, Requests};
use crate::api::{
    ApproveInput, ClaimInput, DoneInput, HeartbeatInput, RequestInput, RequeueInput, WithdrawInput,
};
use crate::domain::{Kind, Priority, Request, RequestState};

/// Filters of the list of requests.
#[derive(Debug, Default, Serialize)]
pub struct RequestList {
    pub kind: Option<Kind>,
    pub state: Option<RequestState>,
    pub priority: Option<Priority>,
    /// Lists withdrawn requests instead of all others.
    pub withdrawn: bool,
    pub limit: Option<u32>,
    pub after: Option<String>,
}

impl Requests<'_> {
    pub async fn create(&self, input: &RequestInput) -> Replied<Request> {
        self.0.post(&["requests"], input).await
    }

    pub async fn list(&self, list: &RequestList) -> Replied<Vec<Request>> {
        self.0.fetch(&["requests"], list).await
    }

    pub async fn get(&self, id: &str) -> Replied<Request> {
        self.0.fetch(&["requests", id], &()).await
    }

    /// Waits up to this many seconds until the request has reached the state.
    pub async fn wait(&self, id: &str, state: RequestState, seconds: u64) -> Replied<Request> {
        let query = (("state", state), ("wait", seconds));
        self.0.fetch(&["requests", id], &query).await
    }

    pub async fn approve(&self, id: &str) -> Replied<Request> {
        self.act(id, "approve").await
    }

    /// Approves all of the requests or none.
    pub async fn approve_all(&self, input: &ApproveInput) -> Replied<Vec<Request>> {
        self.0.post(&["requests", "approve"], input).await
    }

    pub async fn leave_to_next(&self, id: &str) -> Replied<Request> {
        self.act(id, "next").await
    }

    /// Takes the approval of a request back.
    pub async fn withdraw(&self, id: &str, input: &WithdrawInput) -> Replied<Request> {
        self.0.post(&["requests", id, "withdraw"], input).await
    }

    pub async fn claim(&self, id: &str, input: &ClaimInput) -> Replied<Request> {
        self.0.post(&["requests", id, "claim"], input).await
    }

    pub async fn heartbeat(&self, id: &str, input: &HeartbeatInput) -> Replied<Request> {
        self.0.post(&["requests", id, "heartbeat"], input).await
    }

    pub async fn finish(&self, id: &str, input: &DoneInput) -> Replied<Request> {
        self.0.post(&["requests", id, "done"], input).await
    }

    pub async fn requeue(&self, id: &str, input: &RequeueInput) -> Replied<Request> {
        self.0.post(&["requests", id, "requeue"], input).await
    }

    async fn act(&self, id: &str, action: &str) -> Replied<Request> {
        self.0.call(Method::POST, &["requests", id, action]).await
    }
}
