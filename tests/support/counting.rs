//! A database that counts how often it is read.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use async_trait::async_trait;
use chorus::store::{
    Backend, Database, Feed, ReadJob, Readers, Result, Sharing, StoreError, View, WriteJob,
};
use tokio::sync::watch;

/// The number of finished reads of a database.
pub type Reads = Arc<watch::Sender<usize>>;

/// The reads that a database runs at the same time.
#[derive(Debug, Default)]
pub struct Simultaneous {
    now: AtomicUsize,
    pub most: AtomicUsize,
}

/// Wraps a database so that its reads are counted.
pub fn count_reads(database: &Database, reads: Reads) -> Database {
    let backend = database.backend();
    let simultaneous = Arc::default();
    Database::new(Arc::new(Counting {
        backend,
        reads,
        simultaneous,
    }))
}

/// Wraps a database so that its simultaneous reads are counted.
pub fn count_simultaneous_reads(database: &Database, simultaneous: Arc<Simultaneous>) -> Database {
    Database::new(Arc::new(Counting {
        backend: database.backend(),
        reads: Reads::default(),
        simultaneous,
    }))
}

#[derive(Debug)]
struct Counting {
    backend: Arc<dyn Backend>,
    reads: Reads,
    simultaneous: Arc<Simultaneous>,
}

struct Counted {
    job: Box<dyn ReadJob>,
    reads: Reads,
    simultaneous: Arc<Simultaneous>,
}

impl ReadJob for Counted {
    fn run(&mut self, view: &View<'_>) {
        self.job.run(view);
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        self.reads.send_modify(|reads| *reads += 1);
        self.simultaneous.now.fetch_sub(1, Ordering::SeqCst);
        self.job.answer(failed);
    }
}

#[async_trait]
impl Readers for Counting {
    async fn read(&self, job: Box<dyn ReadJob>) -> Result<()> {
        let Simultaneous { now, most } = &*self.simultaneous;
        most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
        let counted = Counted {
            job,
            reads: self.reads.clone(),
            simultaneous: self.simultaneous.clone(),
        };
        self.backend.read(Box::new(counted)).await
    }
}

#[async_trait]
impl Backend for Counting {
    async fn write(&self, job: Box<dyn WriteJob>, sharing: Sharing) -> Result<()> {
        self.backend.write(job, sharing).await
    }

    async fn snapshot(&self) -> Result<Box<dyn Readers>> {
        self.backend.snapshot().await
    }

    async fn backup(&self, to: &Path) -> Result<()> {
        self.backend.backup(to).await
    }

    async fn problems(&self) -> Result<Vec<String>> {
        self.backend.problems().await
    }

    async fn check_damage(&self) -> Result<()> {
        self.backend.check_damage().await
    }

    fn feed(&self) -> &Feed {
        self.backend.feed()
    }

    async fn close(&self) {
        self.backend.close().await;
    }
}
