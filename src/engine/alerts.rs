//! Alerts: messages that stay until the operator resolves them.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{Engine, Result};
use crate::domain::{Actor, Alert, AlertId, Caller, Idempotency, TaskId, Text};
use crate::error::Error;
use crate::ledger::alert::{self, RaiseAlert};
use crate::ledger::rights;

/// A new alert.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schema(example = json!({ "message": "The staging key expires on Friday" }))]
pub struct AlertInput {
    /// The message for people.
    #[schema(value_type = String, min_length = 1, pattern = "\\S")]
    pub message: Text,
    /// The task that the alert is about. Defaults to the calling run's own task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
}

impl Engine {
    /// Raises an alert. Every caller may; a run only about its own task or a descendant.
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

    /// Resolves an alert. Only the operator may, because an alert must be seen.
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
