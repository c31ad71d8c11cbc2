//! Delivers committed events to their subscribers.
//!
//! # How it works
//! The writer publishes after each commit, before it answers. Subscribers of all events read from one shared ring; a subscriber
//! that falls behind, or starts from an earlier number, reads the rows instead. A waiter for one task registers under the
//! task's id and is woken only by events of that task, so that ten thousand idle waiters cost an event nothing. A waiter
//! registers first and reads the rows second, so that a commit in between wakes it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, broadcast, mpsc};

use crate::domain::{Event, HandoffSpan, Outcome, Recorded, RequestId, TaskId, Topic};

/// Subscribers that are further behind read rows again.
const RING: usize = 1024;

/// The capacity of the channel for spans of ended hand-offs.
const UNREPORTED: usize = 4096;

/// Larger events are not kept in memory; subscribers read their rows.
const LARGEST_IN_RING: usize = 16 * 1024;

#[derive(Debug, Clone)]
pub struct Published {
    pub number: i64,
    /// `None` if the event is larger than [`LARGEST_IN_RING`].
    pub event: Option<Arc<Event>>,
}

/// Publishes committed events.
#[derive(Debug)]
pub struct Feed {
    ring: broadcast::Sender<Published>,
    reporting: Mutex<Option<Reporting>>,
    watched: Mutex<HashMap<Subject, Watched>>,
}

/// The receiver of ended hand-offs.
#[derive(Debug)]
struct Reporting {
    sender: mpsc::Sender<HandoffSpan>,
    is_wanted: fn(Outcome) -> bool,
}

/// The subject of a watch.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    Task(TaskId),
    /// All tasks of a family, by its root.
    Family(TaskId),
    Request(RequestId),
    Topic(Topic),
}

impl Subject {
    fn of(Recorded { event, topic }: &Recorded) -> impl Iterator<Item = Self> {
        [
            event.task_id.clone().map(Self::Task),
            event.master_task_id.clone().map(Self::Family),
            event.request_id.clone().map(Self::Request),
            topic.map(Self::Topic),
        ]
        .into_iter()
        .flatten()
    }
}

/// The waiters of one subject. They are counted under the lock: a reference count would still include a waiter that is leaving
/// at the same moment.
#[derive(Debug, Default)]
struct Watched {
    notify: Arc<Notify>,
    waiters: usize,
}

impl Default for Feed {
    fn default() -> Self {
        Self {
            ring: broadcast::Sender::new(RING),
            reporting: Mutex::default(),
            watched: Mutex::default(),
        }
    }
}

impl Feed {
    /// Publishes committed events in order.
    pub(super) fn publish(&self, events: Vec<Recorded>) {
        for recorded in events {
            let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            for subject in Subject::of(&recorded) {
                if let Some(watched) = watched.get(&subject) {
                    watched.notify.notify_waiters();
                }
            }
            drop(watched);
            let event = recorded.event;
            let Some(number) = event.number else { continue };
            if self.ring.receiver_count() > 0 {
                let size: usize = event.data.values().map(|value| value.as_str().len()).sum();
                let event = (size <= LARGEST_IN_RING).then(|| Arc::new(event));
                // An error means that there is no receiver, so nobody misses the event.
                let _ = self.ring.send(Published { number, event });
            }
        }
    }

    /// Returns the receiver of ended hand-offs with a wanted outcome, until the database is closed. A second call replaces the
    /// first.
    pub fn spans(&self, is_wanted: fn(Outcome) -> bool) -> mpsc::Receiver<HandoffSpan> {
        let (sender, receiver) = mpsc::channel(UNREPORTED);
        *self.reporting() = Some(Reporting { sender, is_wanted });
        receiver
    }

    /// Reports ended hand-offs. A receiver that is too slow misses some; the ledger has all of them.
    pub(super) fn report(&self, spans: Vec<HandoffSpan>) {
        if spans.is_empty() {
            return;
        }
        if let Some(Reporting { sender, is_wanted }) = &*self.reporting() {
            let wanted = spans.into_iter().filter(|span| is_wanted(span.outcome));
            let missed = wanted.filter_map(|span| sender.try_send(span).err());
            metrics::counter!("chorus_spans_missed_total").increment(missed.count() as u64);
        }
    }

    /// Closes the channel of ended hand-offs.
    pub(super) fn close(&self) {
        self.reporting().take();
    }

    fn reporting(&self) -> MutexGuard<'_, Option<Reporting>> {
        self.reporting
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Subscribes to all events from now on.
    pub fn follow(&self) -> broadcast::Receiver<Published> {
        self.ring.subscribe()
    }

    pub fn watch(&self, task_id: &TaskId) -> Watch<'_> {
        self.watch_subject(Subject::Task(task_id.clone()))
    }

    /// Watches all tasks of a family by its root, including tasks that are created later.
    pub fn watch_family(&self, root_id: &TaskId) -> Watch<'_> {
        self.watch_subject(Subject::Family(root_id.clone()))
    }

    pub fn watch_request(&self, id: &RequestId) -> Watch<'_> {
        self.watch_subject(Subject::Request(id.clone()))
    }

    /// Watches all requests, alerts and kind rules.
    pub fn watch_requests(&self) -> Watch<'_> {
        self.watch_subject(Subject::Topic(Topic::Requests))
    }

    /// Watches every event that may free a slot for an agent.
    pub fn watch_slots(&self) -> Watch<'_> {
        self.watch_subject(Subject::Topic(Topic::Slots))
    }

    pub fn watch_ready(&self) -> Watch<'_> {
        self.watch_subject(Subject::Topic(Topic::Ready))
    }

    pub fn watch_agents(&self) -> Watch<'_> {
        self.watch_subject(Subject::Topic(Topic::Agents))
    }

    fn watch_subject(&self, subject: Subject) -> Watch<'_> {
        let mut watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        let watched = watched.entry(subject.clone()).or_default();
        watched.waiters += 1;
        Watch {
            feed: self,
            subject,
            notify: watched.notify.clone(),
        }
    }

    /// Counts the watched tasks, families and requests. Topics do not count, because the server always watches them.
    pub fn watched(&self) -> usize {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched
            .keys()
            .filter(|subject| {
                matches!(
                    subject,
                    Subject::Task(_) | Subject::Family(_) | Subject::Request(_)
                )
            })
            .count()
    }
}

/// A subject is watched for as long as this value lives.
#[derive(Debug)]
pub struct Watch<'a> {
    feed: &'a Feed,
    subject: Subject,
    notify: Arc<Notify>,
}

impl Watch<'_> {
    /// Completes at the first event that is committed after this call, however late the future is polled.
    pub fn changed(&self) -> impl Future<Output = ()> {
        self.notify.notified()
    }
}

impl Drop for Watch<'_> {
    fn drop(&mut self) {
        let mut watched = self
            .feed
            .watched
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(mine) = watched.get_mut(&self.subject) {
            mine.waiters -= 1;
            if mine.waiters == 0 {
                watched.remove(&self.subject);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::{AgentEvent, AgentName, EventKind, Timestamp};

    fn about(task_id: Option<&TaskId>, number: i64, kind: EventKind) -> Recorded {
        let topic = kind.topic();
        let (event_type, data) = kind.into_parts();
        let event = Event {
            timestamp: Timestamp::default(),
            event_type,
            data,
            handoff_id: None,
            request_id: None,
            number: Some(number),
            task_id: task_id.cloned(),
            master_task_id: task_id.cloned(),
        };
        Recorded { event, topic }
    }

    fn event(task_id: &TaskId, number: i64, description: &str) -> Recorded {
        let description = description.parse().unwrap();
        about(
            Some(task_id),
            number,
            EventKind::TaskCreated { description },
        )
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
    async fn a_waiter_for_a_family_is_woken_by_every_task_of_it() {
        let feed = Feed::default();
        let (master, child) = (TaskId::new(), TaskId::new());
        let (chain, task) = (feed.watch_family(&master), feed.watch(&master));
        let mut chain_changed = std::pin::pin!(chain.changed());
        let mut task_changed = std::pin::pin!(task.changed());
        let mut of_child = event(&child, 1, "");
        of_child.event.master_task_id = Some(master.clone());
        feed.publish(vec![of_child]);
        chain_changed.as_mut().await;
        assert!(futures_util::poll!(&mut task_changed).is_pending());
    }

    #[tokio::test]
    async fn a_waiter_for_agents_is_not_woken_by_their_hand_offs() {
        let feed = Feed::default();
        let watch = feed.watch_agents();
        assert_eq!(feed.watched(), 0);
        let name: AgentName = "qa".parse().unwrap();
        let mut changed = std::pin::pin!(watch.changed());
        let agent_name = name.clone();
        let started = about(None, 1, EventKind::HandoffStarted { agent_name });
        feed.publish(vec![started]);
        assert!(futures_util::poll!(&mut changed).is_pending());
        for event in [
            AgentEvent::Created,
            AgentEvent::Changed(vec!["roles".to_owned()]),
            AgentEvent::Deleted,
        ] {
            let mut changed = std::pin::pin!(watch.changed());
            let name = name.clone();
            feed.publish(vec![about(None, 1, EventKind::Agent { name, event })]);
            assert!(futures_util::poll!(&mut changed).is_ready());
        }
    }

    #[tokio::test]
    async fn an_event_published_before_the_first_poll_is_not_missed() {
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
        assert_eq!(feed.watched(), 1);
        drop(two);
        assert_eq!(feed.watched(), 0);
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
        assert_eq!(feed.watched(), 0);
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
