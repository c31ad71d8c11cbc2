//! Gives committed events to those who wait for them.
//!
//! # How it works
//! The writer publishes after each commit, before it answers. Whoever follows all events takes them from one shared
//! ring; one who falls behind, or starts from an earlier number, reads the rows instead. Whoever waits for one task
//! registers under its id and is woken by events of that task only, so that ten thousand idle waiters cost an event
//! nothing. A waiter registers first and looks at the rows second: what is committed in between wakes it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::{Notify, broadcast};

use crate::domain::{Event, TaskId};

/// How many events a follower may be behind before it reads rows again.
const RING: usize = 1024;

/// An event with more data than this is not kept in memory for followers; they read its row.
const LARGEST_IN_RING: usize = 16 * 1024;

/// An event that was committed.
#[derive(Debug, Clone)]
pub struct Published {
    /// Its number.
    pub number: i64,
    /// The event, unless it is so large that it is better read from its row.
    pub event: Option<Arc<Event>>,
}

/// Where committed events are published.
#[derive(Debug)]
pub struct Feed {
    ring: broadcast::Sender<Published>,
    watched: Mutex<HashMap<TaskId, Watched>>,
}

/// What the waiters of one task share. They are counted under the lock: a count of references would still include
/// one who is leaving at the same moment.
#[derive(Debug, Default)]
struct Watched {
    notify: Arc<Notify>,
    waiters: usize,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            ring: broadcast::Sender::new(RING),
            watched: Mutex::default(),
        }
    }
}

impl Feed {
    /// Publishes events that are committed, in their order.
    pub(super) fn publish(&self, events: Vec<Event>) {
        for event in events {
            if let Some(task_id) = &event.task_id {
                let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(watched) = watched.get(task_id) {
                    watched.notify.notify_waiters();
                }
            }
            let Some(number) = event.number else { continue };
            if self.ring.receiver_count() > 0 {
                let size: usize = event.data.values().map(|value| value.as_str().len()).sum();
                let event = (size <= LARGEST_IN_RING).then(|| Arc::new(event));
                // No receiver is left: then nobody misses it.
                let _ = self.ring.send(Published { number, event });
            }
        }
    }

    /// Follows all events from now on.
    pub fn follow(&self) -> broadcast::Receiver<Published> {
        self.ring.subscribe()
    }

    /// Watches one task.
    pub fn watch(&self, task_id: &TaskId) -> TaskWatch<'_> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = watched.entry(task_id.clone()).or_default();
        watched.waiters += 1;
        TaskWatch {
            feed: self,
            task_id: task_id.clone(),
            notify: watched.notify.clone(),
        }
    }

    /// Counts the tasks that are watched.
    pub fn watched_tasks(&self) -> usize {
        self.watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }
}

/// A task that is watched for as long as this lives.
#[derive(Debug)]
pub struct TaskWatch<'a> {
    feed: &'a Feed,
    task_id: TaskId,
    notify: Arc<Notify>,
}

impl TaskWatch<'_> {
    /// Completes at the first event that is committed after this call, however late the future is polled.
    pub fn changed(&self) -> impl Future<Output = ()> {
        self.notify.notified()
    }
}

impl Drop for TaskWatch<'_> {
    fn drop(&mut self) {
        let mut watched = self
            .feed
            .watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = watched.get_mut(&self.task_id) {
            mine.waiters -= 1;
            if mine.waiters == 0 {
                watched.remove(&self.task_id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::{EventKind, Timestamp};

    fn event(task_id: &TaskId, number: i64, description: &str) -> Event {
        let (event_type, data) = EventKind::TaskCreated {
            description: description.parse().unwrap(),
        }
        .into_parts();
        Event {
            timestamp: Timestamp::default(),
            event_type,
            data: BTreeMap::from_iter(data),
            handoff_id: None,
            number: Some(number),
            task_id: Some(task_id.clone()),
        }
    }

    #[tokio::test]
    async fn a_waiter_is_woken_by_its_own_task_only() {
        let feed = Feed::default();
        let (mine, other) = (TaskId::new(), TaskId::new());
        let watch = feed.watch(&mine);
        let mut changed = std::pin::pin!(watch.changed());
        feed.publish(vec![event(&other, 1, "")]);
        assert!(futures_util::poll!(&mut changed).is_pending());
        feed.publish(vec![event(&mine, 2, "")]);
        changed.await;
    }

    #[tokio::test]
    async fn what_is_published_before_the_first_poll_is_not_missed() {
        let feed = Feed::default();
        let id = TaskId::new();
        let watch = feed.watch(&id);
        let changed = watch.changed();
        feed.publish(vec![event(&id, 1, "")]);
        changed.await;
    }

    #[test]
    fn the_last_waiter_leaves_nothing_behind() {
        let feed = Feed::default();
        let id = TaskId::new();
        let (one, two) = (feed.watch(&id), feed.watch(&id));
        drop(one);
        assert_eq!(feed.watched_tasks(), 1);
        drop(two);
        assert_eq!(feed.watched_tasks(), 0);
    }

    #[test]
    fn two_waiters_that_leave_at_once_leave_nothing_behind() {
        let feed = Feed::default();
        let ids: Vec<_> = (0..40_000).map(|_| TaskId::new()).collect();
        let together = std::sync::Barrier::new(2);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    for id in &ids {
                        let watch = feed.watch(id);
                        together.wait();
                        drop(watch);
                    }
                });
            }
        });
        assert_eq!(feed.watched_tasks(), 0);
    }

    #[tokio::test]
    async fn a_large_event_is_announced_but_not_kept() {
        let feed = Feed::default();
        let mut follower = feed.follow();
        let id = TaskId::new();
        feed.publish(vec![
            event(&id, 1, "small"),
            event(&id, 2, &"x".repeat(LARGEST_IN_RING + 1)),
        ]);
        assert!(follower.recv().await.unwrap().event.is_some());
        let large = follower.recv().await.unwrap();
        assert_eq!((large.number, large.event.is_none()), (2, true));
    }
}
