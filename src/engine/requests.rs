//! Requests: creation, approval, claims, completion, and waiting.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;
use utoipa::ToSchema;

use super::title::check_title;
use super::{Engine, Result};
use crate::domain::{
    Actor, AgentName, Caller, Effort, Idempotency, Kind, NewRequest, Priority, Request, RequestId,
    RequestSource, RequestSourceType, RequestState, TaskId, Text,
};
use crate::error::Error;
use crate::ledger::request::{self, ClaimRequest, EndClaim, EndedClaim, Heartbeat};
use crate::ledger::{rights, task};
use crate::store::{Result as StoreResult, StoreError};

/// The maximum number of requests in one approval.
const MOST_AT_ONCE: usize = 1000;

/// A new request.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "title": "Refactor the parser", "body": "It reads every line twice.", "kind": "implementation", "priority": "P1" }))]
pub struct RequestInput {
    /// A title of one line.
    #[schema(value_type = String, min_length = 1, max_length = 1000, pattern = "\\S")]
    pub title: Text,
    /// The work to do.
    #[schema(value_type = String, max_length = 1_048_576)]
    pub body: Text,
    /// The kind of work. Its kind rule chooses the agent.
    pub kind: Kind,
    /// The priority. Defaults to `P2`.
    #[serde(default)]
    pub priority: Priority,
    /// The estimated effort.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// The origin of the request. Defaults to the calling run's own task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<RequestSource>,
    /// The absolute path of the agent's working directory. Defaults to the workspace of the source's task, or to a new directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>, pattern = "^/[^\\x00]*$")]
    pub agent_workspace: Option<Text>,
}

impl Engine {
    /// Creates a request, which waits for the operator's approval.
    pub async fn create_request(
        &self,
        input: RequestInput,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        check_title(&input.title, "body")?;
        self.check_text("body", &input.body)?;
        let source = self.request_source(input.source, caller).await?;
        let agent_workspace = match (&input.agent_workspace, &source.task_id) {
            (Some(asked), _) => Some(self.requested_workspace(asked)?),
            (None, Some(task_id)) => {
                let task_id = task_id.clone();
                let task = self.read(move |view| task::get(view, &task_id)).await?;
                Some(task.agent_workspace)
            }
            (None, None) => None,
        };
        if let Some(workspace) = &agent_workspace {
            self.check_reach(caller, &TaskId::new(), workspace).await?;
        }
        let new = NewRequest {
            id: RequestId::new(),
            title: input.title,
            body: input.body,
            kind: input.kind,
            priority: input.priority,
            effort: input.effort,
            source,
            agent_workspace,
        };
        let by = Actor::from(caller);
        self.write(once, move |tx| Ok(request::create(tx, &new, &by)?.request))
            .await
    }

    /// Determines the origin of a request. A run may not claim to be a person, and may name only its own task or a descendant.
    async fn request_source(
        &self,
        asked: Option<RequestSource>,
        caller: &Caller,
    ) -> Result<RequestSource> {
        if let Some(source) = &asked {
            source
                .check()
                .map_err(|problem| Error::InvalidBody(format!("source: {problem}")))?;
        }
        let Caller::Run(run) = caller else {
            let mut source = asked.unwrap_or_default();
            if source.source_type == RequestSourceType::Person && source.user_id.is_none() {
                source.user_id = Some(Text::lossy(Actor::from(caller).name().to_owned()));
            }
            return Ok(source);
        };
        match asked {
            Some(source) if source.source_type == RequestSourceType::File => Ok(RequestSource {
                user_id: None,
                ..source
            }),
            Some(RequestSource {
                task_id: Some(task_id),
                ..
            }) => {
                self.check_may_change(caller, &task_id).await?;
                Ok(from_task(task_id))
            }
            _ => Ok(from_task(run.task_id.clone())),
        }
    }

    /// Returns the request once it has reached a state, was withdrawn or is stuck, or at the timeout, or when the server stops.
    pub async fn request_when(
        &self,
        id: &RequestId,
        state: RequestState,
        timeout: Duration,
    ) -> Result<Request> {
        let deadline = Instant::now() + timeout;
        let watch = self.feed().watch_request(id);
        let find = || {
            let id = id.clone();
            self.read(move |view| request::get(view, &id))
        };
        loop {
            let changed = watch.changed();
            let request = find().await?;
            if request.state.has_reached(state) || request.withdrawn_at.is_some() || request.stuck {
                return Ok(request);
            }
            drop(request);
            if !self.wait(changed, deadline).await {
                return find().await;
            }
        }
    }

    /// Approves requests for the dispatcher, all or none.
    pub async fn approve_requests(
        &self,
        ids: Vec<RequestId>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Vec<Request>> {
        if ids.is_empty() || ids.len() > MOST_AT_ONCE {
            return Err(Error::InvalidBody(format!(
                "ids: must name 1 to {MOST_AT_ONCE} requests"
            )));
        }
        let by = Actor::from(caller);
        self.write(once, move |tx| request::approve(tx, &ids, &by))
            .await
    }

    pub async fn approve_request(
        &self,
        id: RequestId,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        let mut approved = self.approve_requests(vec![id], caller, once).await?;
        approved
            .pop()
            .ok_or_else(|| Error::internal("an approval without a request"))
    }

    /// Takes the approval of a request back, for a reason if one is given.
    pub async fn withdraw_request(
        &self,
        id: RequestId,
        reason: Option<Text>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        if let Some(reason) = &reason {
            self.check_reason(reason)?;
        }
        let by = Actor::from(caller);
        self.write(once, move |tx| {
            request::withdraw(tx, &id, &by, reason.as_ref())
        })
        .await
    }

    /// Claims a request. A run always claims for its own agent.
    pub async fn claim_request(
        &self,
        id: RequestId,
        agent: AgentName,
        lease_seconds: Option<u64>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        let (agent, by) = match caller {
            Caller::Run(run) => (run.agent_name.clone(), Actor::from(caller)),
            Caller::Operator => (agent, Actor::Operator),
            Caller::Person | Caller::Unknown(_) => (agent.clone(), Actor::Agent(agent)),
        };
        let claim = ClaimRequest {
            id,
            agent,
            lease_millis: self.lease_millis(lease_seconds)?,
            by,
        };
        self.write(once, move |tx| request::claim(tx, &claim)).await
    }

    /// Renews the lease of a claim.
    pub async fn heartbeat(
        &self,
        id: RequestId,
        fencing: Option<u32>,
        lease_seconds: Option<u64>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        let beat = Heartbeat {
            id,
            fencing,
            lease_millis: self.lease_millis(lease_seconds)?,
            by: Actor::from(caller),
        };
        self.write(once, move |tx| request::heartbeat(tx, &beat))
            .await
    }

    /// Completes a request with its response.
    pub async fn finish_request(
        &self,
        id: RequestId,
        response: Text,
        fencing: Option<u32>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.check_text("response", &response)?;
        let end = EndClaim {
            id,
            text: response,
            fencing,
            by: Actor::from(caller),
        };
        let ended = self.try_to_write(once, move |tx| request::finish(tx, &end));
        let ended = ended.await;
        self.stop_unwanted_run(ended, caller)
    }

    /// Gives up a claim; the request waits for the operator's decision again.
    pub async fn requeue_request(
        &self,
        id: RequestId,
        reason: Text,
        fencing: Option<u32>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.check_reason(&reason)?;
        let end = EndClaim {
            id,
            text: reason,
            fencing,
            by: Actor::from(caller),
        };
        let ended = self.try_to_write(once, move |tx| request::requeue(tx, &end));
        let ended = ended.await;
        self.stop_unwanted_run(ended, caller)
    }

    /// Stops the run of an ended claim in the background.
    fn stop_unwanted_run(
        &self,
        ended: StoreResult<EndedClaim>,
        caller: &Caller,
    ) -> Result<Request> {
        let EndedClaim { request, unwanted } = match ended {
            Err(StoreError::Refused(refusal)) => {
                return Err(rights::ask_for_token(caller, refusal).into());
            }
            ended => ended?,
        };
        if let (Some(run_id), Some(runner)) = (unwanted, self.runner.get().cloned()) {
            tokio::spawn(async move { runner.stop(&run_id).await });
        }
        Ok(request)
    }

    fn check_reason(&self, reason: &Text) -> Result<()> {
        if reason.is_blank() {
            return Err(Error::InvalidBody("reason: must not be empty".to_owned()));
        }
        self.check_text("reason", reason)
    }

    fn lease_millis(&self, seconds: Option<u64>) -> Result<i64> {
        let limits = self.limits();
        let seconds = seconds.unwrap_or(limits.lease);
        if !(1..=limits.longest_lease).contains(&seconds) {
            return Err(Error::InvalidBody(format!(
                "leaseSeconds: must be 1 to {}",
                limits.longest_lease
            )));
        }
        Ok(i64::try_from(seconds * 1000).unwrap_or(i64::MAX))
    }
}

fn from_task(task_id: TaskId) -> RequestSource {
    RequestSource {
        source_type: RequestSourceType::Task,
        task_id: Some(task_id),
        ..RequestSource::default()
    }
}
