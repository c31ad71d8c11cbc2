//! What a person must see until it is resolved.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{Actor, Alert, AlertId, Caller, Idempotency, TaskId, Text};
use crate::error::Error;
use crate::ledger::alert::{self, RaiseAlert};
use crate::ledger::rights;

/// What a caller says of an alert to be raised.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "message": "The staging key expires on Friday" }))]
pub struct AlertInput {
    /// What must be seen.
    #[schema(value_type = String, min_length = 1, pattern = "\\S")]
    pub message: Text,
    /// The task that it is about; a run's own if it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

impl Engine {
    /// Raises an alert. Anybody may; a run's is about a task within its reach.
    pub async fn raise_alert(
        &self,
        input: AlertInput,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Alert> {
        let AlertInput { message, task_id } = input;
        if message.is_blank() {
            return Err(Error::InvalidBody("message: must not be empty".to_owned()));
        }
        let limit = self.limits().alert;
        if message.as_str().len() > limit {
            return Err(Error::TooLarge {
                what: "message",
                limit,
            });
        }
        let task_id = self.subject_task(caller, task_id).await?;
        let raise = RaiseAlert {
            id: AlertId::new(),
            message,
            task_id,
            by: Actor::from(caller),
        };
        self.write(once, move |tx| alert::raise(tx, &raise)).await
    }

    /// Resolves an alert. A run cannot: a person must have seen it.
    pub async fn resolve_alert(
        &self,
        id: AlertId,
        caller: &Caller,
        once: Option<Idempotency>,
    ) -> Result<Alert> {
        rights::may_resolve_alert(caller)?;
        let by = Actor::from(caller);
        self.write(once, move |tx| alert::resolve(tx, &id, &by))
            .await
    }
}
