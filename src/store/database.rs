//! The database behind a narrow waist: operations are closures over a [`View`] or a [`Tx`], whichever engine runs them.

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

/// Where a database is: `sqlite:PATH` is a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DatabaseUrl(Place);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Place {
    File(PathBuf),
}

impl DatabaseUrl {
    /// Names a database in a file.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self(Place::File(path.into()))
    }
}

/// Why a text is not the URL of a database.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is not the URL of a database; write sqlite:PATH")]
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

/// How a database is opened.
#[derive(Debug, Clone)]
pub struct DatabaseOptions {
    /// Where it is.
    pub url: DatabaseUrl,
    /// The source of time.
    pub clock: Clock,
    /// The most writes that are committed together.
    pub max_batch: usize,
    /// The rules of the house.
    pub rules: Rules,
}

/// A read on its way through an engine.
pub trait ReadJob: Send {
    /// Reads, and keeps the result.
    fn run(&mut self, view: &View<'_>);
    /// Gives the result to the caller, or the reason why there is none.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
}

/// A write on its way through an engine. It may be run again after its transaction was rolled back.
pub trait WriteJob: Send {
    /// Writes, and keeps the result. Returns whether the operation succeeded.
    fn run(&mut self, tx: &mut Tx<'_>) -> bool;
    /// Gives the result to the caller, unless the operation succeeded and its commit did not.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
}

/// How a write shares its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sharing {
    /// With other writes that come at the same time.
    Together,
    /// With none, and it runs once.
    Alone,
}

/// A line of reads.
#[async_trait]
pub trait Readers: Send + Sync + Debug {
    /// Puts a read in line.
    async fn read(&self, job: Box<dyn ReadJob>) -> Result<()>;
}

/// An engine: runs reads and writes in transactions of its own kind.
#[async_trait]
pub trait Backend: Readers {
    /// Puts a write in line. When it is answered, it is on disk.
    async fn write(&self, job: Box<dyn WriteJob>, sharing: Sharing) -> Result<()>;
    /// Opens a line of reads that all see the same moment.
    async fn snapshot(&self) -> Result<Box<dyn Readers>>;
    /// Writes a consistent copy to a file that does not exist yet.
    async fn backup(&self, to: &Path) -> Result<()>;
    /// Lists what breaks the database's own rules.
    async fn problems(&self) -> Result<Vec<String>>;
    /// Returns where committed events are published.
    fn feed(&self) -> &Feed;
    /// Finishes what stands in line and closes the database.
    async fn close(&self);
}

/// The ledger's database. Clones are the same one.
#[derive(Debug, Clone)]
pub struct Database(Arc<dyn Backend>);

impl Database {
    /// Opens a database, after bringing it up to date.
    pub async fn open(options: DatabaseOptions) -> std::result::Result<Self, OpenError> {
        let DatabaseUrl(place) = options.url.clone();
        let backend = match place {
            Place::File(path) => sqlite::open(path, options).await?,
        };
        Ok(Self::new(backend))
    }

    /// Puts a database on an engine.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        Self(backend)
    }

    /// Returns the engine.
    pub fn backend(&self) -> Arc<dyn Backend> {
        self.0.clone()
    }

    /// Reads the ledger as it is at one moment.
    pub async fn read<T: Send + 'static>(
        &self,
        run: impl FnMut(&View<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        read(&*self.0, run).await
    }

    /// Changes the ledger in a transaction that other writes may share. When this returns `Ok`, the change is on disk.
    pub async fn write<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.send(run, Sharing::Together).await
    }

    /// Changes the ledger, once, in a transaction of its own.
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

    /// Opens a view of the whole ledger at one moment, for many reads.
    pub async fn snapshot(&self) -> Result<Snapshot> {
        self.0.snapshot().await.map(Snapshot)
    }

    /// Writes a consistent copy of the database to a file that does not exist yet.
    pub async fn backup(&self, to: &Path) -> Result<()> {
        self.0.backup(to).await
    }

    /// Lists what breaks the database's own rules; empty if all is well.
    pub async fn problems(&self) -> Result<Vec<String>> {
        self.0.problems().await
    }

    /// Returns where committed events are published.
    pub fn feed(&self) -> &Feed {
        self.0.feed()
    }

    /// Finishes what was asked and closes the database.
    pub async fn close(&self) {
        self.0.close().await;
    }
}

/// A view of the whole ledger at one moment, for as long as this lives.
#[derive(Debug)]
pub struct Snapshot(Box<dyn Readers>);

impl Snapshot {
    /// Reads the ledger as it was when the snapshot was taken.
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

/// Makes a write of a closure.
#[cfg(test)]
pub(super) fn write_job<T: Send + 'static>(
    run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
) -> (Box<dyn WriteJob>, oneshot::Receiver<Result<T>>) {
    let (job, answer) = Operation::new(run);
    (Box::new(job), answer)
}

/// A closure, its result, and the caller that waits for it.
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
    fn keep(&mut self, run: impl FnOnce(&mut F) -> Result<T>) -> bool {
        let result = catch_unwind(AssertUnwindSafe(|| run(&mut self.run)))
            .unwrap_or_else(|_| Err(StoreError::Driver("an operation panicked".into())));
        self.result.insert(result).is_ok()
    }

    fn give(self, failed: Option<StoreError>) {
        let result = match (self.result, failed) {
            (Some(Err(error)), _) | (_, Some(error)) => Err(error),
            (Some(Ok(value)), None) => Ok(value),
            (None, None) => Err(StoreError::Closed),
        };
        // A caller that has gone away does not undo what it asked for.
        let _ = self.caller.send(result);
    }
}

impl<F, T> ReadJob for Operation<F, T>
where
    F: FnMut(&View<'_>) -> Result<T> + Send,
    T: Send,
{
    fn run(&mut self, view: &View<'_>) {
        self.keep(|run| run(view));
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        self.give(failed);
    }
}

impl<F, T> WriteJob for Operation<F, T>
where
    F: FnMut(&mut Tx<'_>) -> Result<T> + Send,
    T: Send,
{
    fn run(&mut self, tx: &mut Tx<'_>) -> bool {
        self.keep(|run| run(tx))
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        self.give(failed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_names_the_engine_and_the_place() {
        let url = |text: &str| text.parse::<DatabaseUrl>();
        assert_eq!(url("sqlite:/a b/c.db"), Ok(DatabaseUrl::file("/a b/c.db")));
        for wrong in ["", "sqlite:", "sqlite", "/a/b.db", "mysql:x"] {
            assert_eq!(url(wrong), Err(IllegalUrl(wrong.to_owned())), "{wrong}");
        }
    }
}
