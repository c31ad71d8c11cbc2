//! The engine for one SQLite file: one writing thread, several reading threads.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;

use super::connection::{self, open_reader, open_writer};
use super::damage::Scanner;
use super::presence::Presence;
use super::readers::SqliteReaders;
use super::writer::Writer;
use super::{backup, migrations, time};
use crate::domain::Rules;
use crate::store::database::{Backend, DatabaseOptions, ReadJob, Readers, Sharing, WriteJob};
use crate::store::tx::View;
use crate::store::{Feed, OpenError, Result, StoreError};

#[derive(Debug)]
struct SqliteBackend {
    path: PathBuf,
    rules: Rules,
    writer: Writer,
    readers: SqliteReaders,
    feed: Arc<Feed>,
    scanner: Scanner,
}

/// Opens a database file after migrating it.
pub(in crate::store) async fn open(
    path: PathBuf,
    options: DatabaseOptions,
) -> std::result::Result<Arc<dyn Backend>, OpenError> {
    migrations::migrate(&path).await?;
    let backend = SqliteBackend::connect(path.clone(), options);
    let backend = backend.map_err(|cause| OpenError::Failed {
        path,
        cause: cause.into(),
    })?;
    Ok(Arc::new(backend))
}

impl SqliteBackend {
    fn connect(path: PathBuf, options: DatabaseOptions) -> Result<Self> {
        let DatabaseOptions {
            clock,
            max_batch,
            rules,
            ..
        } = options;
        let feed = Arc::new(Feed::default());
        let connection = open_writer(&path)?;
        let deadlines = time::resume(&clock, &View::new(&connection, &rules))?;
        let start = || {
            let presence = Presence::of(&path)?;
            Writer::start(
                connection,
                Some(presence),
                clock,
                deadlines,
                feed.clone(),
                max_batch,
                rules,
            )
        };
        let writer = start().map_err(|error| StoreError::Driver(error.into()))?;
        let readers = SqliteReaders::start(&path, rules)?;
        Ok(Self {
            scanner: Scanner::new(&path),
            path,
            rules,
            writer,
            readers,
            feed,
        })
    }

    /// Runs a long operation on a blocking thread.
    async fn run_blocking<T: Send + 'static>(
        &self,
        run: impl FnOnce(&Path) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let path = self.path.clone();
        tokio::task::spawn_blocking(move || run(&path))
            .await
            .map_err(|error| StoreError::Driver(error.into()))?
    }
}

#[async_trait]
impl Readers for SqliteBackend {
    async fn read(&self, job: Box<dyn ReadJob>) -> Result<()> {
        self.readers.read(job).await
    }
}

#[async_trait]
impl Backend for SqliteBackend {
    async fn write(&self, job: Box<dyn WriteJob>, sharing: Sharing) -> Result<()> {
        self.writer.write(job, sharing).await
    }

    async fn snapshot(&self) -> Result<Box<dyn Readers>> {
        let rules = self.rules;
        let snapshot = self
            .run_blocking(move |path| SqliteReaders::snapshot(path, rules))
            .await?;
        Ok(Box::new(snapshot))
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        let to = to.to_owned();
        // Not a reader's connection: `query_only` also forbids the copy.
        self.run_blocking(move |path| backup::backup(&connection::open(path)?, &to))
            .await
    }

    async fn problems(&self) -> Result<Vec<String>> {
        self.run_blocking(problems).await
    }

    async fn check_damage(&self) -> Result<()> {
        self.scanner.check().await
    }

    fn feed(&self) -> &Feed {
        &self.feed
    }

    async fn close(&self) {
        // The last connection to close writes the WAL back into the file. So the writer's connection is closed after the
        // others.
        self.readers.close().await;
        self.writer.close().await;
        self.feed.close();
    }
}

/// Lists violations of the file format, the constraints and the foreign keys.
fn problems(path: &Path) -> Result<Vec<String>> {
    let reader = open_reader(path)?;
    let mut statement = reader.prepare("PRAGMA integrity_check")?;
    let mut rows = statement.query([])?;
    let mut problems = Vec::new();
    while let Some(row) = rows.next()? {
        let problem: String = row.get(0)?;
        problems.extend((problem != "ok").then_some(problem));
    }
    let mut statement = reader.prepare("PRAGMA foreign_key_check")?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let (from, to): (String, String) = (row.get(0)?, row.get(2)?);
        problems.push(format!("a row of {from} refers to a missing row of {to}"));
    }
    Ok(problems)
}
