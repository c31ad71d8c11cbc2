//! The operations that are still called one by one.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{agent_changes, agents, attachments, idempotency_keys, import, mail, messages, tools};
use crate::domain::{
    Agent, AgentName, Attachment, AttachmentId, Idempotency, Mail, MailId, Message, Provider, Task,
    TaskId, Tool, ToolName,
};
use crate::ledger::handoff::Moved;
use crate::store::{
    AddMessage, AgentPut, Attach, Attached, ChangeAgent, Database, DeliverMail, Feed, Import,
    Imported, MailQuery, MarkMail, MessageQuery, Page, PutAgent, Result, SendMail, StoreError, Tx,
    params, sql,
};

/// The ledger.
#[derive(Debug, Clone)]
pub struct Store(Database);

impl Store {
    /// Puts the ledger on a database.
    pub const fn new(db: Database) -> Self {
        Self(db)
    }

    /// Returns the database.
    pub const fn db(&self) -> &Database {
        &self.0
    }

    /// Runs a writing operation, unless its key has been answered.
    pub async fn write<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        once: Option<Idempotency>,
        mut run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.0
            .write(move |tx| idempotency_keys::once(tx, once.as_ref(), &mut run))
            .await
    }

    /// Returns where committed events are published.
    pub fn feed(&self) -> &Feed {
        self.0.feed()
    }

    /// Finishes what was asked and closes the database.
    pub async fn close(&self) {
        self.0.close().await;
    }

    /// Lists what breaks the database's own rules.
    pub async fn problems(&self) -> Result<Vec<String>> {
        self.0.problems().await
    }

    /// Writes a consistent copy.
    pub async fn backup(&self, to: &std::path::Path) -> Result<()> {
        self.0.backup(to).await
    }
}

impl Store {
    /// See the function that it calls.
    pub async fn agent_programs(&self) -> Result<Vec<(Option<String>, Provider)>> {
        self.0.read(move |view| agents::programs(view)).await
    }

    /// See the function that it calls.
    pub async fn ask_again_who_suits(&self) -> Result<()> {
        self.0.write(|tx| agents::ask_again(tx)).await
    }

    /// See the function that it calls.
    pub async fn tools(&self) -> Result<Vec<Tool>> {
        self.0.read(move |view| tools::list(view)).await
    }

    /// See the function that it calls.
    pub async fn usable_tools(&self) -> Result<Vec<Tool>> {
        self.0.read(move |view| tools::list_usable(view)).await
    }

    /// See the function that it calls.
    pub async fn tool(&self, name: &ToolName) -> Result<Option<Tool>> {
        let name = name.clone();
        self.0.read(move |view| tools::find(view, &name)).await
    }

    /// See the function that it calls.
    pub async fn create_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool> {
        self.write(once, move |tx| tools::create(tx, &tool)).await
    }

    /// See the function that it calls.
    pub async fn change_tool(&self, tool: Tool, once: Option<Idempotency>) -> Result<Tool> {
        self.write(once, move |tx| tools::change(tx, &tool)).await
    }

    /// See the function that it calls.
    pub async fn delete_tool(&self, name: ToolName, once: Option<Idempotency>) -> Result<Tool> {
        self.write(once, move |tx| tools::delete(tx, &name)).await
    }

    /// See the function that it calls.
    pub async fn add_message(&self, add: AddMessage, once: Option<Idempotency>) -> Result<Message> {
        self.write(once, move |tx| messages::add(tx, &add)).await
    }

    /// See the function that it calls.
    pub async fn messages(
        &self,
        id: &TaskId,
        query: MessageQuery,
    ) -> Result<Option<Page<Message>>> {
        let id = id.clone();
        self.0
            .read(move |view| messages::of_task(view, &id, query))
            .await
    }

    /// See the function that it calls.
    pub async fn conversation(
        &self,
        id: &TaskId,
        query: MessageQuery,
    ) -> Result<Option<Page<Message>>> {
        let id = id.clone();
        self.0
            .read(move |view| messages::of_chain(view, &id, query))
            .await
    }

    /// See the function that it calls.
    pub async fn add_attachment(
        &self,
        attach: Attach,
        once: Option<Idempotency>,
    ) -> Result<Attached> {
        self.write(once, move |tx| attachments::add(tx, &attach))
            .await
    }

    /// See the function that it calls.
    pub async fn attachment(
        &self,
        task_id: &TaskId,
        filename: &str,
    ) -> Result<Option<(AttachmentId, Attachment)>> {
        let task_id = task_id.clone();
        let filename = filename.to_owned();
        self.0
            .read(move |view| attachments::find(view, &task_id, &filename))
            .await
    }

    /// See the function that it calls.
    pub async fn remove_attachment(
        &self,
        task_id: TaskId,
        filename: String,
        once: Option<Idempotency>,
    ) -> Result<(Task, AttachmentId)> {
        self.write(once, move |tx| attachments::remove(tx, &task_id, &filename))
            .await
    }

    /// See the function that it calls.
    pub async fn send_mail(&self, send: SendMail, once: Option<Idempotency>) -> Result<Mail> {
        self.write(once, move |tx| mail::send_asked(tx, &send))
            .await
    }

    /// See the function that it calls.
    pub async fn mark_mail(&self, mark: MarkMail, once: Option<Idempotency>) -> Result<Mail> {
        self.write(once, move |tx| mail::mark(tx, &mark)).await
    }

    /// See the function that it calls.
    pub async fn deliver_mail(&self, delivery: DeliverMail) -> Result<()> {
        self.0.write(move |tx| mail::deliver(tx, &delivery)).await
    }

    /// See the function that it calls.
    pub async fn find_mail(&self, id: &MailId) -> Result<Option<Mail>> {
        let id = id.clone();
        self.0.read(move |view| mail::find(view, &id)).await
    }

    /// See the function that it calls.
    pub async fn list_mail(&self, query: &MailQuery) -> Result<Page<Mail>> {
        let query = query.clone();
        self.0.read(move |view| mail::list(view, &query)).await
    }

    /// See the function that it calls.
    pub async fn agents(&self) -> Result<Vec<Agent>> {
        self.0.read(move |view| agents::list(view)).await
    }

    /// See the function that it calls.
    pub async fn agent(&self, name: &AgentName) -> Result<Option<Agent>> {
        let name = name.clone();
        self.0.read(move |view| agents::find(view, &name)).await
    }

    /// See the function that it calls.
    pub async fn seed_agents(&self, agents: Vec<Agent>) -> Result<usize> {
        self.0.write(move |tx| agents::seed(tx, &agents)).await
    }

    /// See the function that it calls.
    pub async fn seed_specialists(&self, agents: Vec<Agent>) -> Result<usize> {
        self.0
            .write(move |tx| agents::seed_specialists(tx, &agents))
            .await
    }

    /// See the function that it calls.
    pub async fn put_agent(&self, put: PutAgent, once: Option<Idempotency>) -> Result<AgentPut> {
        self.write(once, move |tx| agent_changes::put(tx, &put))
            .await
    }

    /// See the function that it calls.
    pub async fn change_agent(
        &self,
        change: ChangeAgent,
        once: Option<Idempotency>,
    ) -> Result<Agent> {
        self.write(once, move |tx| agent_changes::change(tx, &change))
            .await
    }

    /// See the function that it calls.
    pub async fn delete_agent(&self, name: AgentName, once: Option<Idempotency>) -> Result<Agent> {
        self.write(once, move |tx| agent_changes::delete(tx, &name))
            .await
    }

    /// See the function that it calls.
    pub async fn import(&self, import: Import) -> Result<Imported> {
        self.0
            .write_alone(move |tx| import::import(tx, import))
            .await
    }

    /// See the function that it calls.
    pub async fn check_ready(&self) -> Result<()> {
        let write = |tx: &mut Tx<'_>| {
            tx.execute(
                sql!("UPDATE installation SET ready_at = $1"),
                params![tx.now.as_millis()],
            )
        };
        match self.0.write(write).await? {
            1 => Ok(()),
            rows => Err(StoreError::inconsistent(format!(
                "{rows} rows in the table installation"
            ))),
        }
    }

    /// See the function that it calls.
    pub async fn earlier_move(&self, once: &Idempotency) -> Result<Option<Moved>> {
        let once = once.clone();
        self.0
            .read(move |view| idempotency_keys::find(view, &once))
            .await
    }

    /// See the function that it calls.
    pub async fn forget_keys_older_than(&self, millis: i64) -> Result<usize> {
        self.0
            .write(move |tx| idempotency_keys::forget_older_than(tx, millis))
            .await
    }
}
