//! Requests: leaving work behind, approving it, working on it, and waiting for it.

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

/// How many requests are approved at once.
const MOST_AT_ONCE: usize = 1000;

/// What a caller says of a request to be made.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "title": "Refactor the parser", "body": "It reads every line twice.", "kind": "implementation", "priority": "P1" }))]
pub struct RequestInput {
    /// What is to be done, in a line.
    #[schema(value_type = String, min_length = 1, max_length = 1000, pattern = "\\S")]
    pub title: Text,
    /// What is to be done.
    #[schema(value_type = String)]
    pub body: Text,
    /// What kind of work it is.
    pub kind: Kind,
    /// How urgent it is; `P2` if it is not given.
    #[serde(default)]
    pub priority: Priority,
    /// How much work it seems to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effort: Option<Effort>,
    /// Where it came from. What a run leaves behind comes from its own task, if it names no file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<RequestSource>,
    /// Where it is to be worked on, an absolute path; that of the source's task, or one of its own, if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<String>)]
    pub agent_workspace: Option<Text>,
}

impl Engine {
    /// Makes a request. A person decides what becomes of it.
    pub async fn create_request(
        &self,
        input: RequestInput,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        check_title(&input.title, "body")?;
        self.check_request_text("body", &input.body)?;
        let source = self.request_source(input.source, caller).await?;
        let agent_workspace = match (&input.agent_workspace, &source.task_id) {
            (Some(asked), _) => Some(self.asked_workspace(asked)?),
            (None, Some(task_id)) => {
                let task_id = task_id.clone();
                let task = self.read(move |view| task::get(view, &task_id)).await?;
                Some(task.agent_workspace)
            }
            (None, None) => None,
        };
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

    /// Decides where a request came from. A run cannot speak for a person, nor of tasks that it has nothing to do with.
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

    /// Answers when a request has come to a state or beyond it, was withdrawn, is stuck, at the time-out, or when the server stops.
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

    /// Approves requests for the dispatcher: all of them or none.
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

    /// Approves one request for the dispatcher.
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

    /// Claims a request. A run claims for itself, whatever name it gives.
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
            Caller::Person | Caller::Anonymous => (agent.clone(), Actor::Agent(agent)),
        };
        let claim = ClaimRequest {
            id,
            agent,
            lease_millis: self.lease_millis(lease_seconds)?,
            by,
        };
        self.write(once, move |tx| request::claim(tx, &claim)).await
    }

    /// Extends a claim.
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

    /// Answers a request.
    pub async fn finish_request(
        &self,
        id: RequestId,
        response: Text,
        fencing: Option<u32>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        self.check_request_text("response", &response)?;
        let end = EndClaim {
            id,
            text: response,
            fencing,
            by: Actor::from(caller),
        };
        let ended = self.try_to_write(once, move |tx| request::finish(tx, &end));
        let ended = ended.await;
        self.let_go(ended, caller)
    }

    /// Gives a request up; a person looks again.
    pub async fn requeue_request(
        &self,
        id: RequestId,
        reason: Text,
        fencing: Option<u32>,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Request> {
        if reason.is_blank() {
            return Err(Error::InvalidBody("reason: must not be empty".to_owned()));
        }
        self.check_request_text("reason", &reason)?;
        let end = EndClaim {
            id,
            text: reason,
            fencing,
            by: Actor::from(caller),
        };
        let ended = self.try_to_write(once, move |tx| request::requeue(tx, &end));
        let ended = ended.await;
        self.let_go(ended, caller)
    }

    /// Stops the run that is no longer needed.
    fn let_go(&self, ended: StoreResult<EndedClaim>, caller: &Caller) -> Result<Request> {
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

    fn check_request_text(&self, what: &'static str, text: &Text) -> Result<()> {
        let limit = self.limits().request;
        if text.as_str().len() > limit {
            return Err(Error::TooLarge { what, limit });
        }
        Ok(())
    }
}

fn from_task(task_id: TaskId) -> RequestSource {
    RequestSource {
        source_type: RequestSourceType::Task,
        task_id: Some(task_id),
        ..RequestSource::default()
    }
}
