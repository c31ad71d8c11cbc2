//! Follows the events of the ledger.
//!
//! # How it works
//! A follower subscribes to the feed before it reads the first row, so no event is lost between the two. It reads rows up to
//! the newest, then takes events from the feed, and skips every number that is not greater than the last one returned. A
//! follower that lags behind the feed's ring buffer goes back to the rows.
//!
//! Events are returned in pieces of bounded size, and nothing is kept between two pieces: a client that stops reading
//! occupies the piece that it is being sent. Pieces of rows are read a few at a time, over all followers. A reader returns its
//! permit with the piece, which the client's stream drops before it waits for the client, so a slow client holds nobody up.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::OwnedSemaphorePermit;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;

use super::replay::LargeEvent;
use super::{Engine, Result};
use crate::domain::{Event, TaskId};
use crate::error::Error;
use crate::ledger::history;
use crate::store::Published;

/// The most events of a piece.
const ROWS: u32 = 256;

/// The most bytes of a piece, unless it is a single event.
const PIECE: usize = 32 * 1024;

/// One reader's cursor in the events.
pub struct Follower {
    engine: Engine,
    feed: Receiver<Published>,
    taken: i64,
    /// The root task of the family to follow; `None` follows all events.
    root: Option<TaskId>,
    has_more_rows: bool,
}

/// Some events in order, at least one: a few small ones, or a single large one.
pub struct Piece {
    pub events: Vec<Arc<Event>>,
    /// Held while the events are in memory only for this client.
    _read: Option<OwnedSemaphorePermit>,
}

/// The next thing that a follower has to say.
pub enum Followed {
    Events(Piece),
    /// Nothing happened for a while.
    Silence,
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
            has_more_rows: taken < newest,
        })
    }
}

impl Follower {
    /// Returns the number of the last event that was read.
    pub const fn taken(&self) -> i64 {
        self.taken
    }

    /// Returns the next events. `None` means that the server stops or the rows cannot be read; the client reconnects.
    pub async fn next(&mut self, silence: Duration) -> Option<Followed> {
        loop {
            if self.has_more_rows {
                let piece = self.read_rows().await?;
                if !piece.events.is_empty() {
                    return Some(Followed::Events(piece));
                }
                continue;
            }
            let published = tokio::select! {
                () = self.engine.stopping.cancelled() => return None,
                published = self.feed.recv() => published,
                () = tokio::time::sleep(silence) => return Some(Followed::Silence),
            };
            match published {
                Ok(Published { number, .. }) if number <= self.taken => {}
                Ok(Published {
                    event: Some(event),
                    number,
                }) => {
                    self.taken = number;
                    if self.is_followed(&event) {
                        return Some(Followed::Events(Piece {
                            events: vec![event],
                            _read: None,
                        }));
                    }
                }
                Ok(Published { event: None, .. }) | Err(RecvError::Lagged(_)) => {
                    self.has_more_rows = true;
                }
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// Reads an event again, whose piece was dropped before the client had taken all of it.
    pub async fn read_again(&self, number: i64) -> Option<Piece> {
        self.read_after(number - 1, 1).await
    }

    /// Returns the text of a large event that another client is taking.
    pub fn find_text(&self, number: i64) -> Option<Bytes> {
        self.engine.replay.texts.find(number)
    }

    /// Shares the text of a large event with the clients that are in the middle of it.
    pub fn share_text(&self, number: i64, text: &Bytes) -> LargeEvent {
        self.engine.replay.texts.claim(number, text)
    }

    fn is_followed(&self, event: &Event) -> bool {
        self.root.is_none() || self.root == event.master_task_id
    }

    async fn read_rows(&mut self) -> Option<Piece> {
        let mut piece = self.read_after(self.taken, ROWS).await?;
        match piece.events.last() {
            Some(last) => self.taken = last.number?,
            None => self.has_more_rows = false,
        }
        piece.events.retain(|event| self.is_followed(event));
        Some(piece)
    }

    async fn read_after(&self, number: i64, rows: u32) -> Option<Piece> {
        let read = self
            .engine
            .replay
            .reads
            .clone()
            .acquire_owned()
            .await
            .ok()?;
        let events = self
            .engine
            .read(move |view| history::after(view, number, rows, PIECE))
            .await
            .ok()?;
        Some(Piece {
            events: events.into_iter().map(Arc::new).collect(),
            _read: Some(read),
        })
    }
}
