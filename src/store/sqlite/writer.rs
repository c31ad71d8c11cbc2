//! The single writer.
//!
//! # How it works
//! Every write is a closure over a transaction, sent to one thread. The thread takes all waiting writes, runs them in one
//! transaction, commits once, publishes the events, and only then answers. While a commit waits for the disk, the next batch
//! gathers: the more callers, the more writes share one flush.
//!
//! A failed operation must not affect its neighbours. Operations check their rules before they write, so a refused operation
//! has written nothing and the batch continues. If an operation fails after it wrote, the whole batch is rolled back, and each
//! of its operations runs again in its own transaction; that is why an operation can be called more than once. This is rare,
//! and cheaper than a savepoint around every operation.

use std::sync::Arc;
use std::time::Instant;

use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::fault;
use super::presence::Presence;
use super::time::Deadlines;
use crate::clock::{Clock, Reading};
use crate::domain::{Rules, Timestamp};
use crate::store::database::{Sharing, WriteJob};
use crate::store::tx::{Tx, View};
use crate::store::{Feed, Result, StoreError};

/// The capacity of the queue; callers wait beyond it.
const LINE: usize = 4096;

/// The handle of the writing thread.
#[derive(Debug)]
pub(super) struct Writer {
    line: mpsc::Sender<Message>,
}

enum Message {
    Together(Box<dyn WriteJob>),
    Alone(Box<dyn WriteJob>),
    Close(oneshot::Sender<()>),
}

impl Writer {
    pub fn start(
        connection: Connection,
        presence: Option<Presence>,
        clock: Clock,
        deadlines: Deadlines,
        feed: Arc<Feed>,
        max_batch: usize,
        rules: Rules,
    ) -> std::io::Result<Self> {
        let (line, jobs) = mpsc::channel(LINE);
        let thread = Thread {
            connection,
            presence,
            clock,
            deadlines,
            feed,
            max_batch: max_batch.max(1),
            rules,
            now: Timestamp::default(),
        };
        std::thread::Builder::new()
            .name("chorus-writer".into())
            .spawn(move || thread.serve(jobs))?;
        Ok(Self { line })
    }

    /// Queues a write. A successful answer means that the change is on disk.
    pub async fn write(&self, job: Box<dyn WriteJob>, sharing: Sharing) -> Result<()> {
        let message = match sharing {
            Sharing::Together => Message::Together(job),
            Sharing::Alone => Message::Alone(job),
        };
        self.line
            .send(message)
            .await
            .map_err(|_| StoreError::Closed)
    }

    /// Finishes the queued writes, then closes the connection.
    pub async fn close(&self) {
        let (caller, answer) = oneshot::channel();
        if self.line.send(Message::Close(caller)).await.is_ok() {
            // An error means that the thread has ended, which is the goal.
            let _ = answer.await;
        }
    }
}

struct Thread {
    connection: Connection,
    /// Absent for a database in memory.
    presence: Option<Presence>,
    clock: Clock,
    deadlines: Deadlines,
    feed: Arc<Feed>,
    max_batch: usize,
    rules: Rules,
    now: Timestamp,
}

/// A batch that was rolled back, because one of its operations failed after it wrote.
struct RolledBack;

impl Thread {
    fn serve(mut self, mut jobs: mpsc::Receiver<Message>) {
        while let Some(first) = jobs.blocking_recv() {
            let mut batch = Vec::new();
            let mut next = Some(first);
            while let Some(Message::Together(job)) = next {
                batch.push(job);
                next = if batch.len() < self.max_batch {
                    jobs.try_recv().ok()
                } else {
                    None
                };
            }
            if !batch.is_empty() {
                self.commit_together(batch);
            }
            match next {
                Some(Message::Alone(job)) => self.commit_alone(job),
                Some(Message::Close(caller)) => {
                    drop(self.connection);
                    // The caller may have gone away.
                    let _ = caller.send(());
                    return;
                }
                Some(Message::Together(_)) | None => {}
            }
        }
    }

    fn commit_together(&mut self, mut batch: Vec<Box<dyn WriteJob>>) {
        metrics::histogram!("chorus_store_batch_size")
            .record(u32::try_from(batch.len()).unwrap_or(u32::MAX));
        match self.try_together(&mut batch) {
            Ok(commit) => {
                for job in batch {
                    job.answer(commit.as_ref().map(fault::shared));
                }
            }
            Err(RolledBack) => {
                for job in batch {
                    self.commit_alone(job);
                }
            }
        }
    }

    fn commit_alone(&mut self, job: Box<dyn WriteJob>) {
        let mut batch = [job];
        let commit = self.try_together(&mut batch).unwrap_or(None);
        let [job] = batch;
        job.answer(commit.as_ref().map(fault::shared));
    }

    /// Runs and commits a batch. The error inside `Ok` is an error of the transaction itself.
    fn try_together(
        &mut self,
        batch: &mut [Box<dyn WriteJob>],
    ) -> std::result::Result<Option<StoreError>, RolledBack> {
        let reading = self.clock.read();
        self.postpone_deadlines(reading);
        if let Err(error) = self.begin() {
            return Ok(Some(error));
        }
        self.now = self.now.max(reading.now);
        let mut tx = Tx::new(View::new(&self.connection, &self.rules), self.now);
        for job in batch {
            let changes = self.connection.total_changes();
            let (events, spans) = (tx.events.len(), tx.spans.len());
            if job.run(&mut tx) {
                continue;
            }
            tx.events.truncate(events);
            tx.spans.truncate(spans);
            // SQLite rolls back the transaction by itself if the disk is full or fails.
            if self.connection.total_changes() != changes || self.connection.is_autocommit() {
                self.roll_back();
                return Err(RolledBack);
            }
        }
        let (events, spans) = (tx.events, tx.spans);
        let began = Instant::now();
        if let Err(error) = self.connection.execute_batch("COMMIT") {
            self.roll_back();
            return Ok(Some(error.into()));
        }
        // A file that was deleted before the commit has lost it.
        if let Err(error) = self.check_presence() {
            return Ok(Some(error));
        }
        metrics::histogram!("chorus_store_commit_seconds").record(began.elapsed());
        self.feed.publish(events);
        self.feed.report(spans);
        Ok(None)
    }

    fn begin(&mut self) -> Result<()> {
        self.check_presence()?;
        Ok(self.connection.execute_batch("BEGIN IMMEDIATE")?)
    }

    fn check_presence(&mut self) -> Result<()> {
        self.presence.as_mut().map_or(Ok(()), Presence::check)
    }

    /// Moves the deadlines before any operation sees the new time. If that fails, the next batch tries again.
    fn postpone_deadlines(&mut self, reading: Reading) {
        if !self.deadlines.are_behind(reading) {
            return;
        }
        let moved = self
            .deadlines
            .postpone(&self.connection, &self.rules, &self.clock, reading);
        if let Err(error) = moved {
            tracing::error!(%error, "cannot move the deadlines after the clock was set; retrying");
        }
    }

    fn roll_back(&self) {
        if !self.connection.is_autocommit()
            && let Err(error) = self.connection.execute_batch("ROLLBACK")
        {
            tracing::error!(%error, "cannot roll back a write");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{Event, EventKind, Recorded, Refusal, TaskId};
    use crate::store::database::write_job;
    use crate::store::{params, sql};

    fn open() -> (Writer, Arc<Feed>) {
        let connection = Connection::open_in_memory().unwrap();
        connection
            .execute_batch("CREATE TABLE t (x INTEGER PRIMARY KEY) STRICT")
            .unwrap();
        let feed = Arc::new(Feed::default());
        (
            Writer::start(
                connection,
                None,
                Clock::system(),
                Deadlines::none(),
                feed.clone(),
                64,
                Rules::default(),
            )
            .unwrap(),
            feed,
        )
    }

    async fn write<T: Send + 'static>(
        writer: &Writer,
        run: impl FnMut(&mut Tx<'_>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (job, answer) = write_job(run);
        writer.write(job, Sharing::Together).await?;
        answer.await.map_err(|_| StoreError::Closed)?
    }

    fn event(tx: &mut Tx<'_>, number: i64) {
        let (event_type, data) = EventKind::PlanningUpdated.into_parts();
        let event = Event {
            timestamp: tx.now,
            event_type,
            data,
            handoff_id: None,
            request_id: None,
            number: Some(number),
            task_id: None,
            master_task_id: None,
        };
        tx.events.push(Recorded { event, topic: None });
    }

    async fn rows(writer: &Writer) -> Vec<i64> {
        write(writer, |tx| {
            tx.rows(sql!("SELECT x FROM t ORDER BY x"), params![], |row| {
                row.get(0)
            })
        })
        .await
        .unwrap()
    }

    /// Blocks the writer until the returned sender is used, so that all writes sent meanwhile become one batch.
    async fn hold(writer: &Arc<Writer>) -> std::sync::mpsc::Sender<()> {
        let (release, held) = std::sync::mpsc::channel::<()>();
        let (entered, is_held) = oneshot::channel();
        let writer = writer.clone();
        tokio::spawn(async move {
            let mut entered = Some(entered);
            write(&writer, move |_| {
                entered.take().map(|entered| entered.send(()));
                let _ = held.recv();
                Ok(())
            })
            .await
        });
        is_held.await.unwrap();
        release
    }

    #[tokio::test]
    async fn an_operation_that_fails_half_way_leaves_nothing_and_does_not_affect_others() {
        let (writer, feed) = open();
        let writer = Arc::new(writer);
        let mut follower = feed.follow();
        let release = hold(&writer).await;
        let callers: Vec<_> = (0..10_i64)
            .map(|x| {
                let writer = writer.clone();
                tokio::spawn(async move {
                    write(&writer, move |tx| {
                        tx.execute(sql!("INSERT INTO t (x) VALUES ($1)"), params![x])?;
                        event(tx, x);
                        if x == 4 {
                            Err(StoreError::inconsistent("on purpose"))
                        } else {
                            Ok(())
                        }
                    })
                    .await
                })
            })
            .collect();
        // The current-thread runtime runs each caller up to its send before this task continues.
        tokio::task::yield_now().await;
        release.send(()).unwrap();
        for (x, caller) in callers.into_iter().enumerate() {
            assert_eq!(caller.await.unwrap().is_ok(), x != 4);
        }
        assert_eq!(rows(&writer).await, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
        let mut published = Vec::new();
        while let Ok(event) = follower.try_recv() {
            published.push(event.number);
        }
        published.sort_unstable();
        assert_eq!(published, [0, 1, 2, 3, 5, 6, 7, 8, 9]);
    }

    #[tokio::test]
    async fn a_refused_operation_does_not_end_its_batch() {
        let (writer, _) = open();
        let refused: Result<()> =
            write(
                &writer,
                |_| Err(Refusal::TaskNotFound(TaskId::new()).into()),
            )
            .await;
        assert!(matches!(refused, Err(StoreError::Refused(_))));
        write(&writer, |tx| {
            tx.execute(sql!("INSERT INTO t (x) VALUES ($1)"), params![1_i64])
        })
        .await
        .unwrap();
        assert_eq!(rows(&writer).await, [1]);
    }

    #[tokio::test]
    async fn a_panic_fails_only_its_own_caller() {
        let (writer, _) = open();
        let panicked: Result<()> = write(&writer, |tx| {
            tx.execute(sql!("INSERT INTO t (x) VALUES ($1)"), params![1_i64])?;
            panic!("on purpose")
        })
        .await;
        assert!(panicked.is_err());
        assert_eq!(rows(&writer).await, [0; 0]);
    }

    #[tokio::test]
    async fn time_never_goes_back() {
        let clock = Clock::standing_at(Timestamp::from_millis(50));
        let connection = Connection::open_in_memory().unwrap();
        let writer = Writer::start(
            connection,
            None,
            clock.clone(),
            Deadlines::none(),
            Arc::default(),
            1,
            Rules::default(),
        )
        .unwrap();
        clock.advance(-20);
        let first = write(&writer, |tx| Ok(tx.now)).await.unwrap();
        clock.advance(-20);
        let second = write(&writer, |tx| Ok(tx.now)).await.unwrap();
        assert_eq!((first.as_millis(), second.as_millis()), (30, 30));
    }

    #[tokio::test]
    async fn a_closed_writer_refuses_and_does_not_hang() {
        let (writer, _) = open();
        writer.close().await;
        writer.close().await;
        assert!(matches!(
            write(&writer, |_| Ok(())).await,
            Err(StoreError::Closed)
        ));
    }
}
