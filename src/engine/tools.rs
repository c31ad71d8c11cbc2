//! Passing control by hand-off tools.

use serde_json::{Map, Value};

use super::{Asker, Engine, Result};
use crate::domain::{Idempotency, Task, TaskId};
use crate::store::Transfer;

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
            limits: self.options.chain_limits,
            largest_context: self.limits().context,
        };
        let moved = self.store.transfer(transfer, once).await?;
        Ok(self.go_on(moved))
    }
}
