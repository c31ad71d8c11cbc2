//! Queues messages for the next agent of a task.

use super::{Engine, Result};
use crate::domain::{Idempotency, QueueMessage, TaskId, Text};
use crate::error::Error;
use crate::ledger;

impl Engine {
    pub async fn queue_message(
        &self,
        task_id: TaskId,
        content: Text,
        once: Option<Idempotency>,
    ) -> Result<QueueMessage> {
        if content.is_blank() {
            return Err(Error::InvalidBody("content: must not be empty".to_owned()));
        }
        self.check_text("content", &content)?;
        self.write(once, move |tx| {
            ledger::task::queue_message(tx, &task_id, &content)
        })
        .await
    }
}
