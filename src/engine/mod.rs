//! Operations that need more than one transaction: waiting, files, processes, watching. The edges (`api`, `cli`) call them, or pass a
//! ledger function to [`Engine::read`] or [`Engine::write`].
//!
//! Each file adds the operations of one subject to [`Engine`].

mod agents;
mod alerts;
pub mod archive;
mod attachments;
mod chat;
mod conversations;
mod dispatch_prompt;
mod dispatcher;
mod follow;
mod handoffs;
mod housekeeping;
mod increments;
mod jobs;
mod mail;
mod options;
mod queue;
mod replay;
mod requests;
mod router;
mod runs;
mod seeds;
mod sessions;
mod setup;
mod sizes;
mod spans;
mod tag_sections;
mod tasks;
mod templates;
mod title;
mod tools;
mod wait;
mod watch;
mod workspace;

use std::sync::{Arc, OnceLock};

use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio_util::sync::CancellationToken;

pub use crate::store::Published;
pub use alerts::AlertInput;
pub use attachments::Upload;
pub use chat::ChatInput;
pub use conversations::ConversationInput;
pub use dispatcher::{DispatcherStatus, Round};
pub use follow::{Followed, Follower, Piece};
pub use handoffs::HandoffInput;
pub use increments::IncrementInput;
pub use mail::{MailInput, MarkInput};
pub use options::{DispatcherOptions, EngineOptions, RouterOptions};
pub use replay::LargeEvent;
pub use requests::RequestInput;
pub use seeds::{default_agents, default_kind_rules, specialists};
pub use setup::{AgentSetup, AgentSpec};
pub use tasks::TaskInput;
pub use templates::{Form, TemplateError, kinds_with_templates, template, template_path};
pub use watch::{FileWatch, WatchOptions};

use self::replay::ReplayBudget;
use crate::clock::Clock;
use crate::config::Limits;
use crate::domain::Idempotency;
use crate::error::Error;
use crate::ledger::{self, Tx, View, history, idempotency};
use crate::runner::Runner;
use crate::store::{Database, Feed};

/// A part of the ledger at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot<T> {
    pub value: T,
    /// The number of the last event before that moment.
    pub event: i64,
}

pub type Result<T> = std::result::Result<T, Error>;

/// The operations of Chorus. Clones share one engine.
#[derive(Clone)]
pub struct Engine {
    db: Database,
    options: Arc<EngineOptions>,
    stopping: CancellationToken,
    runner: Arc<OnceLock<Runner>>,
    dispatcher: Arc<OnceLock<DispatcherOptions>>,
    router: Arc<OnceLock<RouterOptions>>,
    replay: Arc<ReplayBudget>,
}

impl Engine {
    pub fn new(db: Database, options: EngineOptions) -> Self {
        Self {
            db,
            options: Arc::new(options),
            stopping: CancellationToken::new(),
            runner: Arc::default(),
            dispatcher: Arc::default(),
            router: Arc::default(),
            replay: Arc::default(),
        }
    }

    pub fn clock(&self) -> &Clock {
        &self.options.clock
    }

    pub fn limits(&self) -> &Limits {
        &self.options.limits
    }

    /// Reads one snapshot of the ledger.
    pub async fn read<T: Send + 'static>(
        &self,
        run: impl FnMut(&View<'_>) -> ledger::Result<T> + Send + 'static,
    ) -> Result<T> {
        Ok(self.db.read(run).await?)
    }

    /// Reads one snapshot of the ledger, with the number of its last event.
    pub async fn read_snapshot<T: Send + 'static>(
        &self,
        mut run: impl FnMut(&View<'_>) -> ledger::Result<T> + Send + 'static,
    ) -> Result<Snapshot<T>> {
        self.read(move |view| {
            Ok(Snapshot {
                value: run(view)?,
                event: history::last_number(view)?,
            })
        })
        .await
    }

    /// Changes the ledger in one transaction. If the idempotency key is known, returns its stored answer instead.
    pub async fn write<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        once: Option<Idempotency>,
        run: impl FnMut(&mut Tx<'_>) -> ledger::Result<T> + Send + 'static,
    ) -> Result<T> {
        Ok(self.try_to_write(once, run).await?)
    }

    /// Does the same as [`Engine::write`], for an operation that inspects the refusal.
    async fn try_to_write<T: Serialize + DeserializeOwned + Send + 'static>(
        &self,
        once: Option<Idempotency>,
        mut run: impl FnMut(&mut Tx<'_>) -> ledger::Result<T> + Send + 'static,
    ) -> ledger::Result<T> {
        let written = self
            .db
            .write(move |tx| idempotency::once(tx, once.as_ref(), &mut run));
        written.await
    }

    /// Returns the feed of committed events.
    pub fn feed(&self) -> &Feed {
        self.db.feed()
    }

    /// Is cancelled when the server stops, so that waiters return.
    pub const fn stopping(&self) -> &CancellationToken {
        &self.stopping
    }

    /// Releases all waiters, finishes pending writes, and closes the database.
    pub async fn close(&self) {
        self.stopping.cancel();
        self.db.close().await;
    }
}
