//! Transfers control with hand-off tools.

use serde_json::{Map, Value};

use super::{Engine, Result};
use crate::domain::{Caller, Idempotency, Task, TaskId, TraceParent};
use crate::ledger::handoff::{self, Transfer};

impl Engine {
    /// Transfers control of a task with a tool. Returns the child task that continues the work.
    pub async fn transfer(
        &self,
        task_id: TaskId,
        tool: String,
        arguments: Map<String, Value>,
        caller: &Caller,
        trace: Option<TraceParent>,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        self.catch_up(caller).await;
        let transfer = Transfer {
            task_id,
            tool,
            arguments,
            caller: caller.clone(),
            trace,
        };
        let moved = self
            .write(once, move |tx| handoff::transfer(tx, &transfer))
            .await?;
        Ok(self.start_successor(moved))
    }
}
