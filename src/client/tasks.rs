//! Tasks: what they need, who works on them, and what was said.

use reqwest::Method;
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Replied, Tasks};
use crate::api::{
    CancelInput, ChatAnswer, ChatInput, ConversationInput, HandoffInput, MessageInput, StatusInput,
    TaskInput,
};
use crate::domain::{
    AgentName, Message, NeedsChange, PlanningChange, Queue, QueueMessage, Report, Role,
    RouteChoice, StatusName, Task, TaskSummary, TaskTree, UsageSum,
};

/// Filters of the list of tasks.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskList {
    pub status: Option<StatusName>,
    pub agent_role: Option<Role>,
    /// Tags separated by commas.
    pub tags: Option<String>,
    /// Lists the newest task first; `after` then continues with older ones.
    pub newest: bool,
    /// Lists the child tasks of delegated hand-offs too.
    pub delegated: bool,
    pub limit: Option<u32>,
    pub after: Option<String>,
}

/// Filters of the list of ready tasks.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReadyList {
    pub for_agent: Option<AgentName>,
    pub limit: Option<u32>,
    pub after: Option<String>,
}

impl Tasks<'_> {
    pub async fn create(&self, input: &TaskInput) -> Replied<Task> {
        self.0.post(&["tasks"], input).await
    }

    pub async fn list(&self, list: &TaskList) -> Replied<Vec<TaskSummary>> {
        let request = self.0.at(Method::GET, &["tasks"])?.query(list);
        self.0.exchange(request.query(&[("view", "summary")])).await
    }

    pub async fn ready(&self, list: &ReadyList) -> Replied<Vec<Task>> {
        let request = self.0.at(Method::GET, &["tasks"])?.query(list);
        self.0.exchange(request.query(&[("ready", true)])).await
    }

    pub async fn get(&self, id: &str) -> Replied<Task> {
        self.0.fetch(&["tasks", id], &()).await
    }

    /// Changes the needs. With `merge`, objects are merged key by key instead of replaced.
    pub async fn edit(&self, id: &str, change: &NeedsChange, merge: bool) -> Replied<Task> {
        let request = self.0.at(Method::PATCH, &["tasks", id])?;
        let request = request.query(&[("merge", merge)]).json(change);
        self.0.exchange(request).await
    }

    pub async fn set_status(&self, id: &str, input: &StatusInput) -> Replied<Task> {
        self.0.put(&["tasks", id, "status"], input).await
    }

    pub async fn plan(&self, id: &str, change: &PlanningChange) -> Replied<Task> {
        self.0.put(&["tasks", id, "planning"], change).await
    }

    pub async fn report(&self, id: &str, report: &Report) -> Replied<Task> {
        self.0.post(&["tasks", id, "report"], report).await
    }

    pub async fn tree(&self, id: &str) -> Replied<TaskTree> {
        self.0.fetch(&["tasks", id, "tree"], &()).await
    }

    pub async fn usage(&self, id: &str) -> Replied<UsageSum> {
        self.0.fetch(&["tasks", id, "usage"], &()).await
    }

    /// Returns a page of the conversation of the task's whole family, after the message with this number.
    pub async fn conversation(
        &self,
        id: &str,
        limit: u32,
        after: Option<&str>,
    ) -> Replied<Vec<Message>> {
        let query = (("limit", limit), ("after", after));
        self.0.fetch(&["tasks", id, "conversation"], &query).await
    }

    pub async fn say(&self, id: &str, input: &ConversationInput) -> Replied<Message> {
        self.0.post(&["tasks", id, "messages"], input).await
    }

    pub async fn queue(&self, id: &str, after: Option<&str>) -> Replied<Queue> {
        let query = (("after", after),);
        self.0.fetch(&["tasks", id, "queue"], &query).await
    }

    /// Talks to the agent that has control.
    pub async fn chat(&self, id: &str, input: &ChatInput) -> Replied<ChatAnswer> {
        self.0.post(&["tasks", id, "chat"], input).await
    }

    /// Takes back a queued message.
    pub async fn take_back(&self, id: &str, message: &str) -> Replied<QueueMessage> {
        let path = ["tasks", id, "queue", message];
        self.0.call(Method::DELETE, &path).await
    }

    pub async fn queue_message(&self, id: &str, input: &MessageInput) -> Replied<QueueMessage> {
        self.0.post(&["tasks", id, "queue"], input).await
    }

    /// Returns the task that is worked on: a child of the named one if its own agent hands it on.
    pub async fn hand_off(&self, id: &str, input: &HandoffInput) -> Replied<Task> {
        self.0.post(&["tasks", id, "handoff"], input).await
    }

    pub async fn cancel(&self, id: &str, input: &CancelInput) -> Replied<Task> {
        self.0
            .post(&["tasks", id, "handoff", "cancel"], input)
            .await
    }

    /// Passes control by a tool, and returns the child task that goes on.
    pub async fn call_tool(
        &self,
        id: &str,
        tool: &str,
        arguments: &Map<String, Value>,
    ) -> Replied<Task> {
        self.0.post(&["tasks", id, "tools", tool], arguments).await
    }

    pub async fn route(&self, id: &str) -> Replied<Task> {
        self.0.call(Method::POST, &["tasks", id, "route"]).await
    }

    /// Explains whom the router would choose. Changes nothing.
    pub async fn explain_route(&self, id: &str) -> Replied<RouteChoice> {
        self.0.fetch(&["tasks", id, "route"], &()).await
    }
}
