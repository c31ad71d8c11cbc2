//! Hand-off tools, and passing control by them.

use serde_json::{Map, Value};

use super::{Asker, Engine, Result};
use crate::domain::{AgentName, FunctionDefinition, Idempotency, Task, TaskId, Tool, ToolName};
use crate::error::Error;
use crate::store::Transfer;

impl Engine {
    /// Lists the hand-off tools by name.
    pub async fn tools(&self) -> Result<Vec<Tool>> {
        Ok(self.store.tools().await?)
    }

    /// Finds a tool.
    pub async fn tool(&self, name: &ToolName) -> Result<Tool> {
        self.store
            .tool(name)
            .await?
            .ok_or_else(|| Error::not_found("Tool", name))
    }

    /// Makes a tool.
    pub async fn create_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool> {
        Ok(self.store.create_tool(tool, once).await?)
    }

    /// Changes a tool.
    pub async fn change_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool> {
        Ok(self.store.change_tool(tool, once).await?)
    }

    /// Deletes a tool. What it did stays.
    pub async fn delete_tool(&self, name: ToolName, once: Option<Idempotency>) -> Result<Tool> {
        Ok(self.store.delete_tool(name, once).await?)
    }

    /// Lists what a model that plays an agent sees: the tools that the agent may use, and whose targets are available.
    pub async fn tool_definitions(&self, agent: &AgentName) -> Result<Vec<FunctionDefinition>> {
        let agent = self.agent(agent).await?.name;
        let mut tools = self.store.usable_tools().await?;
        tools.retain(|tool| tool.may_be_used_by(&agent));
        Ok(tools.iter().map(Tool::definition).collect())
    }

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
        let moved = self.store.transfer(transfer, once).await?;
        Ok(self.go_on(moved))
    }
}
