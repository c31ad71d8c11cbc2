//! Waits for tasks and hand-offs to end. Waiters are woken by events and do not poll the database.

use std::time::Duration;

use tokio::time::Instant;

use super::{Engine, Result};
use crate::domain::{Handoff, HandoffId, Task, TaskId};
use crate::telemetry::Ongoing;

impl Engine {
    /// Returns the task once it has no current agent, or at the timeout, or when the server stops.
    pub async fn task_when_idle(&self, id: &TaskId, timeout: Duration) -> Result<Task> {
        let deadline = Instant::now() + timeout;
        let watch = self.feed().watch(id);
        loop {
            let changed = watch.changed();
            let task = self.task(id).await?;
            if task.current_agent().is_none() {
                return Ok(task);
            }
            // Ten thousand waiters should not keep ten thousand tasks in memory.
            drop(task);
            if !self.wait(changed, deadline).await {
                return self.task(id).await;
            }
        }
    }

    /// Returns the hand-off once it has ended, or at the timeout, or when the server stops.
    pub async fn handoff_when_ended(&self, id: &HandoffId, timeout: Duration) -> Result<Handoff> {
        let deadline = Instant::now() + timeout;
        let task_id = self.handoff(id).await?.task_id;
        let watch = self.feed().watch(&task_id);
        loop {
            let changed = watch.changed();
            let handoff = self.handoff(id).await?;
            if handoff.outcome.is_some() {
                return Ok(handoff);
            }
            drop(handoff);
            if !self.wait(changed, deadline).await {
                return self.handoff(id).await;
            }
        }
    }

    /// Waits for a change. Returns false at the deadline and when the server stops.
    pub(super) async fn wait(&self, changed: impl Future<Output = ()>, deadline: Instant) -> bool {
        let _waiter = Ongoing::begin("chorus_waiters");
        tokio::select! {
            () = changed => true,
            () = tokio::time::sleep_until(deadline) => false,
            () = self.stopping.cancelled() => false,
        }
    }
}
