//! Reading threads, each with its own connection.
//!
//! # How it works
//! All readers take jobs from one queue. A job is one operation: it sees the ledger as of the start of its transaction, however
//! many statements it runs. A snapshot is a reader with its own queue and one transaction for all of its jobs.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::connection::open_reader;
use crate::domain::Rules;
use crate::store::database::{ReadJob, Readers};
use crate::store::tx::View;
use crate::store::{Result, StoreError};

/// The capacity of the queue; callers wait beyond it.
const LINE: usize = 4096;

/// The number of reading threads.
const READERS: usize = 4;

/// The queue of the reading threads.
#[derive(Debug)]
pub(super) struct SqliteReaders {
    line: Mutex<Option<mpsc::Sender<Box<dyn ReadJob>>>>,
    gone: Mutex<Vec<oneshot::Receiver<()>>>,
}

type Jobs = Arc<Mutex<mpsc::Receiver<Box<dyn ReadJob>>>>;

impl SqliteReaders {
    pub fn start(path: &Path, rules: Rules) -> Result<Self> {
        let (line, jobs) = mpsc::channel(LINE);
        let jobs = Arc::new(Mutex::new(jobs));
        let mut gone = Vec::new();
        for _ in 0..READERS {
            let (connection, jobs) = (open_reader(path)?, jobs.clone());
            gone.push(spawn(move || {
                while let Some(job) = next(&jobs) {
                    read(&connection, &rules, job);
                }
            })?);
        }
        Ok(Self {
            line: Mutex::new(Some(line)),
            gone: Mutex::new(gone),
        })
    }

    /// Opens a reader whose jobs share one snapshot.
    pub fn snapshot(path: &Path, rules: Rules) -> Result<Self> {
        let connection = open_reader(path)?;
        connection.execute_batch("BEGIN")?;
        // A deferred transaction takes its snapshot at the first read, not at BEGIN.
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
        let (line, mut jobs) = mpsc::channel::<Box<dyn ReadJob>>(1);
        let gone = spawn(move || {
            while let Some(mut job) = jobs.blocking_recv() {
                job.run(&View::new(&connection, &rules));
                job.answer(None);
            }
        })?;
        Ok(Self {
            line: Mutex::new(Some(line)),
            gone: Mutex::new(vec![gone]),
        })
    }

    /// Finishes the queued jobs, then closes the connections.
    pub async fn close(&self) {
        drop(lock(&self.line).take());
        let gone = std::mem::take(&mut *lock(&self.gone));
        for gone in gone {
            // An error means that the thread has ended, which is expected.
            let _ = gone.await;
        }
    }
}

#[async_trait]
impl Readers for SqliteReaders {
    async fn read(&self, job: Box<dyn ReadJob>) -> Result<()> {
        let line = lock(&self.line).clone().ok_or(StoreError::Closed)?;
        line.send(job).await.map_err(|_| StoreError::Closed)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The receiver completes when the thread has ended.
fn spawn(run: impl FnOnce() + Send + 'static) -> Result<oneshot::Receiver<()>> {
    let (ended, gone) = oneshot::channel();
    std::thread::Builder::new()
        .name("chorus-reader".into())
        .spawn(move || {
            run();
            drop(ended);
        })
        .map_err(|error| StoreError::Driver(error.into()))?;
    Ok(gone)
}

fn next(jobs: &Jobs) -> Option<Box<dyn ReadJob>> {
    lock(jobs).blocking_recv()
}

fn read(connection: &Connection, rules: &Rules, mut job: Box<dyn ReadJob>) {
    if let Err(error) = transaction(connection, "BEGIN") {
        return job.answer(Some(error));
    }
    job.run(&View::new(connection, rules));
    // Nothing was written, so the caller does not depend on the outcome; the transaction only has to end.
    if let Err(error) = transaction(connection, "COMMIT") {
        tracing::error!(%error, "cannot end a read");
        if !connection.is_autocommit()
            && let Err(error) = transaction(connection, "ROLLBACK")
        {
            tracing::error!(%error, "cannot roll back a read");
        }
    }
    job.answer(None);
}

fn transaction(connection: &Connection, statement: &'static str) -> Result<()> {
    connection.prepare_cached(statement)?.execute([])?;
    Ok(())
}
