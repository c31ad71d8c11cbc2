//! Passing control by hand-off tools.

use serde_json::{Map, Value};

use super::{Engine, Result};
use crate::domain::{Caller, Idempotency, Task, TaskId, TraceParent};
use crate::ledger::handoff::{self, Transfer};

impl Engine {
    /// Passes control of a task by a tool. Returns the child task that goes on.
    pub async fn transfer(
        &self,
        task_id: TaskId,
        tool: String,
        arguments: Map<String, Value>,
        caller: &Caller,
        trace: Option<TraceParent>,
        once: Option<Idempotency>,
    ) -> Result<Task> {
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
