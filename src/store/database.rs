//! The database interface: operations are closures over a [`View`] or a [`Tx`], independent of the engine.

use std::fmt::Debug;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::oneshot;

use super::tx::{Tx, View};
use super::{Feed, OpenError, Result, StoreError, sqlite};
use crate::clock::Clock;
use crate::domain::Rules;

/// The location of a database: `sqlite:PATH` is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseUrl(Place);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    File(PathBuf),
}

impl DatabaseUrl {
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Place::File(path.into()))
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not a database URL; use sqlite:PATH")]
pub struct IllegalUrl(String);

impl FromStr for DatabaseUrl {
    type Err = IllegalUrl;

    fn from_str(url: &str) -> std::result::Result<Self, IllegalUrl> {
        match url.split_once(':') {
            Some(("sqlite", path)) if !path.is_empty() => Ok(Self::file(path)),
            _ => Err(IllegalUrl(url.to_owned())),
        }
    }
}

#[derive(Debug, Clone)]
pub struct DatabaseOptions {
    pub url: DatabaseUrl,
    pub clock: Clock,
    /// The most writes in one commit.
    pub max_batch: usize,
    pub rules: Rules,
}

/// A read, on its way to an engine.
pub trait ReadJob: Send {
    /// Reads, and keeps the result for [`answer`](Self::answer).
    fn run(&mut self, view: &View<'_>);
    /// Sends the result, or the error, to the caller.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
}

/// A write, on its way to an engine. It may run again after a rollback.
pub trait WriteJob: Send {
    /// Writes, and keeps the result for [`answer`](Self::answer). Returns whether the operation succeeded.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;
    /// Sends the result to the caller. `failed` replaces a success whose commit failed.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// With other writes of the same batch.
    Together,
    /// With no other write; it runs once.
    Alone,
}

/// A queue of reads.
#[async_trait]
pub trait Readers: Send + Sync + Debug {
    async fn read(&self, job: Box<dyn ReadJob>) -> Result<()>;
}

/// An engine: runs reads and writes in its own transactions.
#[async_trait]
pub trait Backend: Readers {
    /// Queues a write. A successful answer means that the change is on disk.
    async fn write(&self, job: Box<dyn WriteJob>, sharing: Sharing) -> Result<()>;
    /// Opens a queue of reads from one snapshot.
    async fn snapshot(&self) -> Result<Box<dyn Readers>>;
    /// Writes a consistent copy to a file that must not exist.
    async fn backup(&self, to: &Path) -> Result<()>;
    /// Lists violations of the database's integrity.
    async fn problems(&self) -> Result<Vec<String>>;
    /// Fails if the database is known to be damaged. Returns soon, and looks for damage now and then.
    async fn check_damage(&self) -> Result<()>;
    fn feed(&self) -> &Feed;
    /// Finishes the queued operations, and closes the database.
    async fn close(&self);
}

/// The ledger's database. Clones share it.
#[derive(Debug, Clone)]
pub struct Database(Arc<dyn Backend>);

impl Database {
    /// Opens a database after migrating it.
    pub async fn open(options: DatabaseOptions) -> std::result::Result<Self, OpenError> {
        let DatabaseUrl(place) = options.url.clone();
        let backend = match place {
            Place::File(path) => sqlite::open(path, options).await?,
        };
        Ok(Self::new(backend))
    }

    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self(backend)
    }

    pub fn backend(&self) -> Arc<dyn Backend> {
        self.0.clone()
    }

    /// Reads from one snapshot.
    pub async fn read<T: Send + 'static>(
        &self,
        run: impl FnMut(&View<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        read(&*self.0, run).await
    }

    /// Writes in a transaction that may be shared with other writes. On `Ok`, the change is on disk.
    pub async fn write<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.send(run, Sharing::Together).await
    }

    /// Writes once, in a separate transaction.
    pub async fn write_alone<T: Send + 'static>(
        &self,
        run: impl FnOnce(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let mut run = Some(run);
        let once = move |tx: &mut Tx<'_>| run.take().map_or(Err(StoreError::Closed), |run| run(tx));
        self.send(once, Sharing::Alone).await
    }

    async fn send<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
        sharing: Sharing,
    ) -> Result<T> {
        let (job, answer) = Operation::new(run);
        self.0.write(Box::new(job), sharing).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    /// Opens a snapshot of the whole ledger for many reads.
    pub async fn snapshot(&self) -> Result<Snapshot> {
        self.0.snapshot().await.map(Snapshot)
    }

    /// Writes a consistent copy of the database to a file that must not exist.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        self.0.backup(to).await
    }

    /// Lists violations of the database's integrity.
    pub async fn problems(&self) -> Result<Vec<String>> {
        self.0.problems().await
    }

    /// Fails if the database is known to be damaged.
    pub async fn check_damage(&self) -> Result<()> {
        self.0.check_damage().await
    }

    pub fn feed(&self) -> &Feed {
        self.0.feed()
    }

    /// Finishes the pending operations, and closes the database.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

/// A consistent view of the whole ledger, for as long as this value lives.
#[derive(Debug)]
pub struct Snapshot(Box<dyn Readers>);

impl Snapshot {
    pub async fn read<T: Send + 'static>(
        &self,
        run: impl FnMut(&View<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        read(&*self.0, run).await
    }
}

async fn read<T: Send + 'static>(
    readers: &(impl Readers + ?Sized),
    run: impl FnMut(&View<'_>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let (job, answer) = Operation::new(run);
    readers.read(Box::new(job)).await?;
    answer.await.map_err(|_| StoreError::Closed)?
}

#[cfg(test)]
pub(super) fn write_job<T: Send + 'static>(
    run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
) -> (Box<dyn WriteJob>, oneshot::Receiver<Result<T>>) {
    let (job, answer) = Operation::new(run);
    (Box::new(job), answer)
}

/// A closure, its result, and the waiting caller.
struct Operation<F, T> {
    run: F,
    result: Option<Result<T>>,
    caller: oneshot::Sender<Result<T>>,
}

impl<F, T> Operation<F, T> {
    fn new(run: F) -> (Self, oneshot::Receiver<Result<T>>) {
        let (caller, answer) = oneshot::channel();
        let operation = Self {
            run,
            result: None,
            caller,
        };
        (operation, answer)
    }

    /// Runs the closure and keeps its result. Returns whether it succeeded.
    fn run_and_keep(&mut self, run: impl FnOnce(&mut F) -> Result<T>) -> bool {
        let result = catch_unwind(AssertUnwindSafe(|| run(&mut self.run)))
            .unwrap_or_else(|_| Err(StoreError::Driver("an operation panicked".into())));
        self.result.insert(result).is_ok()
    }

    fn send_result(self, failed: Option<StoreError>) {
        let result = match (self.result, failed) {
            (Some(Err(error)), _) | (_, Some(error)) => Err(error),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(StoreError::Closed),
        };
        // A caller that has gone away does not undo its operation.
        let _ = self.caller.send(result);
    }
}

impl<F, T> ReadJob for Operation<F, T>
where
    F: FnMut(&View<'_>) -> Result<T> + Send,
    T: Send,
{
    fn run(&mut self, view: &View<'_>) {
        self.run_and_keep(|run| run(view));
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        self.send_result(failed);
    }
}

impl<F, T> WriteJob for Operation<F, T>
where
    F: FnMut(&mut Tx<'_>) -> Result<T> + Send,
    T: Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        self.run_and_keep(|run| run(tx))
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        self.send_result(failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_engine_and_the_file() {
        let url = |text: &str| text.parse::<DatabaseUrl>();
        assert_eq!(url("sqlite:/a b/c.db"), Ok(DatabaseUrl::file("/a b/c.db")));
        for wrong in ["", "sqlite:", "sqlite", "/a/b.db", "mysql:x"] {
            assert_eq!(url(wrong), Err(IllegalUrl(wrong.to_owned())), "{wrong}");
        }
    }
}
