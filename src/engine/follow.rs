//! Follows the events of the ledger.
//!
//! # How it works
//! A follower subscribes to the feed before it reads the first row, so no event is lost between the two. It reads rows up to
//! the newest, then takes events from the feed, and skips every number that is not greater than the last one returned. A
//! follower that lags behind the feed's ring buffer goes back to the rows.

use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::{Engine, Result};
use crate::domain::{Event, TaskId};
use crate::error::Error;
use crate::ledger::history;
use crate::store::Published;

const ROWS: u32 = 256;

/// One reader's cursor in the events.
pub struct Follower {
    engine: Engine,
    feed: Receiver<Published>,
    taken: i64,
    /// The root task of the family to follow; `None` follows all events.
    root: Option<TaskId>,
    rows: std::vec::IntoIter<Event>,
    has_more_rows: bool,
}

impl Engine {
    /// Follows the events after a number, or from now on; all of them, or those of one task's family.
    pub async fn follow(&self, after: Option<i64>, task: Option<&TaskId>) -> Result<Follower> {
        let root = match task {
            None => None,
            Some(id) => Some(self.task(id).await?.root_id().clone()),
        };
        let feed = self.feed().follow();
        let newest = self.read(history::last_number).await?;
        let taken = after.unwrap_or(newest);
        if taken < 0 || taken > newest {
            return Err(Error::InvalidQuery(format!(
                "after: event {taken} does not exist; the newest is {newest}. Was another database restored? Leave out `after` to follow from now on"
            )));
        }
        Ok(Follower {
            engine: self.clone(),
            feed,
            taken,
            root,
            rows: Vec::new().into_iter(),
            has_more_rows: taken < newest,
        })
    }
}

impl Follower {
    /// Returns the number of the last event that was read.
    pub const fn taken(&self) -> i64 {
        self.taken
    }

    /// Returns the next event. `None` means that the server stops or the rows cannot be read; the client reconnects.
    pub async fn next(&mut self) -> Option<Event> {
        loop {
            let event = self.next_of_all().await?;
            self.taken = event.number?;
            if self.root.is_none() || self.root == event.master_task_id {
                return Some(event);
            }
        }
    }

    async fn next_of_all(&mut self) -> Option<Event> {
        loop {
            if let Some(event) = self.rows.next() {
                return Some(event);
            }
            if self.has_more_rows {
                let taken = self.taken;
                let rows = self
                    .engine
                    .read(move |view| history::after(view, taken, ROWS))
                    .await
                    .ok()?;
                self.has_more_rows = rows.len() == ROWS as usize;
                self.rows = rows.into_iter();
                continue;
            }
            let published = tokio::select! {
                () = self.engine.stopping.cancelled() => return None,
                published = self.feed.recv() => published,
            };
            match published {
                Ok(Published { number, .. }) if number <= self.taken => {}
                Ok(Published {
                    event: Some(event), ..
                }) => return Some((*event).clone()),
                Ok(Published { event: None, .. }) | Err(RecvError::Lagged(_)) => {
                    self.has_more_rows = true;
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }
}
