//! The memory that all followers of events share.
//!
//! # How it works
//! A large event is sent in parts. Its text is kept while clients are between its parts, once for all of them, as far as there is
//! room. A client holds no room itself: a text that was kept for a moment gives way to another one, least recently used first, so a
//! client that stops reading costs the others nothing. A text that gave way is read again when a client takes its next part.
//!
//! Each text stays for `STAY`, so that clients of more texts than there is room for take many parts between two reads.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Semaphore;
use tokio::time::Instant;

/// The most pieces that are being read or written as JSON at the same time.
const READS: usize = 4;

/// The room for texts of large events, in bytes. A larger text is kept alone.
const ROOM: usize = 32 * 1024 * 1024;

/// The time for which a text cannot give way.
const STAY: Duration = Duration::from_millis(200);

/// The memory that all followers share.
#[derive(Debug)]
pub(super) struct ReplayBudget {
    pub reads: Arc<Semaphore>,
    pub texts: Arc<Texts>,
}

impl Default for ReplayBudget {
    fn default() -> Self {
        Self {
            reads: Arc::new(Semaphore::new(READS)),
            texts: Arc::new(Texts::new(ROOM)),
        }
    }
}

/// The texts of large events, by number.
#[derive(Debug)]
pub(super) struct Texts {
    room: usize,
    kept: Mutex<Kept>,
    /// Held while a text is read again: one at a time, in the order of the requests.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: usize,
    texts: BTreeMap<i64, Entry>,
}

/// An event that clients are in the middle of.
#[derive(Debug)]
struct Entry {
    clients: usize,
    text: Option<KeptText>,
}

#[derive(Debug)]
struct KeptText {
    text: Bytes,
    since: Instant,
    used: Instant,
}

/// One client's claim to the text of a large event.
#[derive(Debug)]
pub struct LargeEvent {
    number: i64,
    size: usize,
    texts: Arc<Texts>,
}

impl Texts {
    fn new(room: usize) -> Self {
        Self {
            room,
            kept: Mutex::default(),
            turn: tokio::sync::Mutex::default(),
        }
    }

    /// Returns the text of an event that another client is in the middle of.
    pub fn find(&self, number: i64) -> Option<Bytes> {
        let mut kept = self.lock();
        let kept = kept.texts.get_mut(&number)?.text.as_mut()?;
        kept.used = Instant::now();
        Some(kept.text.clone())
    }

    /// Claims an event for one more client, and keeps its text if there is room.
    pub fn claim(self: &Arc<Self>, number: i64, text: &Bytes) -> LargeEvent {
        let mut kept = self.lock();
        let entry = kept.texts.entry(number).or_insert(Entry {
            clients: 0,
            text: None,
        });
        entry.clients += 1;
        // Without room, the text is read again for the next part.
        let _ = kept.keep(self.room, number, text);
        LargeEvent {
            number,
            size: text.len(),
            texts: Arc::clone(self),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    /// Keeps the text of a claimed event. Without room, the error is the time until another text may give way.
    fn keep(&mut self, room: usize, number: i64, text: &Bytes) -> Result<(), Duration> {
        if self.texts.get(&number).is_none_or(|it| it.text.is_some()) {
            return Ok(());
        }
        self.make_room(room, text.len())?;
        let now = Instant::now();
        if let Some(entry) = self.texts.get_mut(&number) {
            self.bytes += text.len();
            entry.text = Some(KeptText {
                text: text.clone(),
                since: now,
                used: now,
            });
        }
        Ok(())
    }

    /// Gives up texts, least recently used first. If the others must stay, the error is the time until one need not.
    fn make_room(&mut self, room: usize, size: usize) -> Result<(), Duration> {
        let now = Instant::now();
        while self.bytes > 0 && self.bytes + size > room {
            let mut texts: Vec<_> = self.texts.values_mut().map(|it| &mut it.text).collect();
            texts.retain(|text| text.is_some());
            let left = |text: &Option<KeptText>| {
                let since = text.as_ref().map_or(now, |text| text.since);
                STAY.saturating_sub(now.duration_since(since))
            };
            let wait = texts.iter().map(|text| left(text)).min();
            let may_go = texts.into_iter().filter(|text| left(text).is_zero());
            let oldest = may_go.min_by_key(|text| text.as_ref().map(|text| text.used));
            let Some(oldest) = oldest.and_then(Option::take) else {
                return Err(wait.unwrap_or(STAY));
            };
            self.bytes -= oldest.text.len();
        }
        Ok(())
    }
}

impl LargeEvent {
    pub const fn number(&self) -> i64 {
        self.number
    }

    /// Returns the text, which `read` reads if it is not kept. Clients that wait for one event share one read.
    pub async fn text(&self, read: impl AsyncFnOnce() -> Option<Bytes>) -> Option<Bytes> {
        if let Some(text) = self.texts.find(self.number) {
            return Some(text);
        }
        let _turn = self.texts.turn.lock().await;
        if let Some(text) = self.texts.find(self.number) {
            return Some(text);
        }
        loop {
            let room = self.texts.lock().make_room(self.texts.room, self.size);
            match room {
                Ok(()) => break,
                Err(wait) => tokio::time::sleep(wait).await,
            }
        }
        let text = read().await?;
        // A client that began meanwhile may have taken the room. The text serves this part, then.
        let _ = self.texts.lock().keep(self.texts.room, self.number, &text);
        Some(text)
    }
}

impl Drop for LargeEvent {
    fn drop(&mut self) {
        let mut kept = self.texts.lock();
        let Some(entry) = kept.texts.get_mut(&self.number) else {
            return;
        };
        entry.clients -= 1;
        if entry.clients == 0 {
            let entry = kept.texts.remove(&self.number);
            let text = entry.and_then(|entry| entry.text);
            kept.bytes -= text.map_or(0, |kept| kept.text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(size: usize) -> Bytes {
        vec![b'x'; size].into()
    }

    fn texts(room: usize) -> Arc<Texts> {
        Arc::new(Texts::new(room))
    }

    /// Takes the text of an event so often, and returns how often it was read.
    async fn take(event: &LargeEvent, parts: usize) -> usize {
        let mut reads = 0;
        for _ in 0..parts {
            let taken = event.text(async || {
                reads += 1;
                Some(text(event.size))
            });
            assert_eq!(taken.await.unwrap().len(), event.size);
        }
        reads
    }

    #[tokio::test]
    async fn clients_of_one_event_share_its_text() {
        let texts = texts(100);
        let clients: Vec<_> = (0..5).map(|_| texts.claim(1, &text(60))).collect();
        for client in &clients {
            assert_eq!(take(client, 100).await, 0);
        }
        assert_eq!(texts.lock().bytes, 60);
    }

    #[tokio::test]
    async fn idle_clients_hold_no_room_against_a_reader() {
        let texts = texts(100);
        let idle: Vec<_> = (1..=4)
            .map(|number| texts.claim(number, &text(40)))
            .collect();
        for number in 5..10 {
            let reader = texts.claim(number, &text(70));
            assert!(take(&reader, 100).await <= 1, "event {number}");
            assert!(texts.lock().bytes <= 100);
        }
        // An idle client that takes its next part reads its event again, once.
        assert!(take(&idle[0], 100).await <= 1);
    }

    #[tokio::test]
    async fn an_event_larger_than_the_room_is_kept_alone() {
        let texts = texts(100);
        let small = texts.claim(1, &text(10));
        let large = texts.claim(2, &text(500));
        assert!(take(&large, 100).await <= 1);
        assert_eq!(texts.lock().bytes, 500);
        assert!(take(&small, 100).await <= 1);
        assert_eq!(texts.lock().bytes, 10);
    }

    #[tokio::test]
    async fn the_text_leaves_with_its_last_client() {
        let texts = texts(100);
        let (first, second) = (texts.claim(1, &text(60)), texts.claim(1, &text(60)));
        drop(first);
        assert!(texts.find(1).is_some());
        drop(second);
        assert_eq!(texts.find(1), None);
        assert_eq!(texts.lock().bytes, 0);
        assert!(texts.lock().texts.is_empty());
    }

    #[tokio::test]
    async fn an_event_that_cannot_be_read_ends_its_client_only() {
        let texts = texts(100);
        let other = texts.claim(1, &text(90));
        let lost = texts.claim(2, &text(90));
        assert_eq!(lost.text(async || None).await, None);
        assert!(take(&other, 10).await <= 1);
    }
}
