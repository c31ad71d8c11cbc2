//! A database that counts how often it is read.

use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use chorus::store::{
    Backend, Database, Feed, ReadJob, Readers, Result, Sharing, StoreError, View, WriteJob,
};
use tokio::sync::watch;

/// The number of finished reads of a database.
pub type Reads = Arc<watch::Sender<usize>>;

/// Wraps a database so that its reads are counted.
pub fn count_reads(database: &Database, reads: Reads) -> Database {
    let backend = database.backend();
    Database::new(Arc::new(Counting { backend, reads }))
}

#[derive(Debug)]
struct Counting {
    backend: Arc<dyn Backend>,
    reads: Reads,
}

struct Counted {
    job: Box<dyn ReadJob>,
    reads: Reads,
}

impl ReadJob for Counted {
    fn run(&mut self, view: &View<'_>) {
        self.job.run(view);
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        self.reads.send_modify(|reads| *reads += 1);
        self.job.answer(failed);
    }
}

#[async_trait]
impl Readers for Counting {
    async fn read(&self, job: Box<dyn ReadJob>) -> Result<()> {
        let reads = self.reads.clone();
        self.backend.read(Box::new(Counted { job, reads })).await
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
