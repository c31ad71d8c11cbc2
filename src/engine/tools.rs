//! Passing control by hand-off tools.

use serde_json::{Map, Value};

use super::{Asker, Engine, Result};
use crate::domain::{Idempotency, Task, TaskId};
use crate::ledger::handoff::{self, Transfer};

impl Engine {
    /// Passes control of a task by a tool. Returns the child task that goes on.
    pub async fn transfer(
        &self,
        task_id: TaskId,
        tool: String,
        arguments: Map<String, Value>,
        asker: Asker,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        let transfer = Transfer {
            task_id,
            tool,
            arguments,
            caller: asker.run,
            trace: asker.trace,
        };
        let moved = self
            .write(once, move |tx| handoff::transfer(tx, &transfer))
            .await?;
        Ok(self.start_successor(moved))
    }
}
