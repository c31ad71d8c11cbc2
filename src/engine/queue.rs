//! Messages for whoever works on a task next.

use super::{Engine, Result};
use crate::domain::{Idempotency, Queue, QueueMessage, TaskId, Text};
use crate::error::Error;

impl Engine {
    /// Finds the queue of a task.
    pub async fn queue(&self, task_id: &TaskId) -> Result<Queue> {
        self.store
            .queue(task_id)
            .await?
            .ok_or_else(|| Error::not_found("Task", task_id))
    }

    /// Adds a message to the queue of a task.
    pub async fn queue_message(
        &self,
        task_id: TaskId,
        content: Text,
        once: Option<Idempotency>,
    ) -> Result<QueueMessage> {
        if content.is_blank() {
            return Err(Error::InvalidBody("content: must not be empty".to_owned()));
        }
        Ok(self.store.queue_message(task_id, content, once).await?)
    }
}
