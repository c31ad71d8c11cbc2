//! Gives committed events to those who wait for them.
//!
//! # How it works
//! The writer publishes after each commit, before it answers. Whoever follows all events takes them from one shared
//! ring; one who falls behind, or starts from an earlier number, reads the rows instead. Whoever waits for one task
//! registers under its id and is woken by events of that task only, so that ten thousand idle waiters cost an event
//! nothing. A waiter registers first and looks at the rows second: what is committed in between wakes it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{Notify, broadcast, mpsc};

use crate::domain::{Event, RequestId, TaskId};
use crate::telemetry::HandoffSpan;

/// How many events a follower may be behind before it reads rows again.
const RING: usize = 1024;

/// How many hand-offs that ended may wait to be told.
const UNTOLD: usize = 4096;

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
    telling: Mutex<Option<mpsc::Sender<HandoffSpan>>>,
    watched: Mutex<HashMap<Subject, Watched>>,
}

/// What is waited for.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Subject {
    /// Events of one task.
    Task(TaskId),
    /// Events of all tasks of a chain, by its first task.
    Chain(TaskId),
    /// Events of one request.
    Request(RequestId),
    /// Events of any request or alert, and of routes.
    Requests,
    /// Whatever may free a slot, or take one: hand-offs and runs that begin or end.
    Slots,
    /// Tasks that are ready.
    Ready,
    /// Agents that come, go or change.
    Agents,
}

impl Subject {
    /// Lists whom an event wakes.
    fn of(event: &Event) -> impl Iterator<Item = Self> {
        let request = event.request_id.clone();
        let kind = event.event_type.as_str();
        let is_of_requests =
            request.is_some() || kind.starts_with("alert_") || kind == "dispatch_routes_changed";
        let is_of_agents = matches!(kind, "agent_created" | "agent_changed" | "agent_deleted");
        let is_of_slots = kind.starts_with("agent_handoff_") || kind == "run_started";
        [
            event.task_id.clone().map(Self::Task),
            event.master_task_id.clone().map(Self::Chain),
            is_of_requests.then_some(Self::Requests),
            request.map(Self::Request),
            is_of_slots.then_some(Self::Slots),
            (kind == "task_ready").then_some(Self::Ready),
            is_of_agents.then_some(Self::Agents),
        ]
        .into_iter()
        .flatten()
    }
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
            telling: Mutex::default(),
            watched: Mutex::default(),
        }
    }
}

impl Feed {
    /// Publishes events that are committed, in their order.
    pub(super) fn publish(&self, events: Vec<Event>) {
        for event in events {
            let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
            for subject in Subject::of(&event) {
                if let Some(watched) = watched.get(&subject) {
                    watched.notify.notify_waiters();
                }
            }
            drop(watched);
            let Some(number) = event.number else { continue };
            if self.ring.receiver_count() > 0 {
                let size: usize = event.data.values().map(|value| value.as_str().len()).sum();
                let event = (size <= LARGEST_IN_RING).then(|| Arc::new(event));
                // No receiver is left: then nobody misses it.
                let _ = self.ring.send(Published { number, event });
            }
        }
    }

    /// Gives what is told of hand-offs that ended to whoever asked for it last, until the store is closed.
    pub fn spans(&self) -> mpsc::Receiver<HandoffSpan> {
        let (sender, receiver) = mpsc::channel(UNTOLD);
        *self.telling() = Some(sender);
        receiver
    }

    /// Tells of hand-offs that ended. Whoever tells of them too slowly misses some: the ledger has them all.
    pub(super) fn tell(&self, spans: Vec<HandoffSpan>) {
        if spans.is_empty() {
            return;
        }
        if let Some(telling) = &*self.telling() {
            let missed = spans
                .into_iter()
                .filter_map(|span| telling.try_send(span).err());
            metrics::counter!("chorus_spans_missed_total").increment(missed.count() as u64);
        }
    }

    /// Says that nothing ends any more.
    pub(super) fn close(&self) {
        self.telling().take();
    }

    fn telling(&self) -> MutexGuard<'_, Option<mpsc::Sender<HandoffSpan>>> {
        self.telling.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Follows all events from now on.
    pub fn follow(&self) -> broadcast::Receiver<Published> {
        self.ring.subscribe()
    }

    /// Watches one task.
    pub fn watch(&self, task_id: &TaskId) -> Watch<'_> {
        self.watch_subject(Subject::Task(task_id.clone()))
    }

    /// Watches all tasks of a chain, also those that are made later, by the first of them.
    pub fn watch_chain(&self, master_id: &TaskId) -> Watch<'_> {
        self.watch_subject(Subject::Chain(master_id.clone()))
    }

    /// Watches one request.
    pub fn watch_request(&self, id: &RequestId) -> Watch<'_> {
        self.watch_subject(Subject::Request(id.clone()))
    }

    /// Watches all requests, alerts and routes.
    pub fn watch_requests(&self) -> Watch<'_> {
        self.watch_subject(Subject::Requests)
    }

    /// Watches whatever may free a slot for an agent.
    pub fn watch_slots(&self) -> Watch<'_> {
        self.watch_subject(Subject::Slots)
    }

    /// Watches tasks that are ready.
    pub fn watch_ready(&self) -> Watch<'_> {
        self.watch_subject(Subject::Ready)
    }

    /// Watches agents that come, go or change.
    pub fn watch_agents(&self) -> Watch<'_> {
        self.watch_subject(Subject::Agents)
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

    /// Counts the tasks, chains and requests that are watched. What the server always watches for itself does not count.
    pub fn watched(&self) -> usize {
        let watched = self.watched.lock().unwrap_or_else(PoisonError::into_inner);
        watched
            .keys()
            .filter(|subject| {
                matches!(
                    subject,
                    Subject::Task(_) | Subject::Chain(_) | Subject::Request(_)
                )
            })
            .count()
    }
}

/// Something that is watched for as long as this lives.
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
    use std::collections::BTreeMap;

    use super::*;
    use crate::domain::{AgentEvent, AgentName, EventKind, Timestamp};

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
            request_id: None,
            number: Some(number),
            task_id: Some(task_id.clone()),
            master_task_id: Some(task_id.clone()),
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
    async fn who_watches_a_chain_is_woken_by_every_task_of_it() {
        let feed = Feed::default();
        let (master, child) = (TaskId::new(), TaskId::new());
        let (chain, task) = (feed.watch_chain(&master), feed.watch(&master));
        let mut chain_changed = std::pin::pin!(chain.changed());
        let mut task_changed = std::pin::pin!(task.changed());
        let of_child = Event {
            master_task_id: Some(master.clone()),
            ..event(&child, 1, "")
        };
        feed.publish(vec![of_child]);
        chain_changed.as_mut().await;
        assert!(futures_util::poll!(&mut task_changed).is_pending());
    }

    #[tokio::test]
    async fn who_watches_agents_is_not_woken_by_their_hand_offs() {
        let feed = Feed::default();
        let watch = feed.watch_agents();
        assert_eq!(feed.watched(), 0);
        let name: AgentName = "qa".parse().unwrap();
        let about = |kind: EventKind| {
            let (event_type, data) = kind.into_parts();
            Event {
                event_type,
                data,
                task_id: None,
                master_task_id: None,
                ..event(&TaskId::new(), 1, "")
            }
        };
        let mut changed = std::pin::pin!(watch.changed());
        feed.publish(vec![about(EventKind::HandoffStarted {
            agent_name: name.clone(),
        })]);
        assert!(futures_util::poll!(&mut changed).is_pending());
        for event in [
            AgentEvent::Created,
            AgentEvent::Changed(vec!["roles".to_owned()]),
            AgentEvent::Deleted,
        ] {
            let mut changed = std::pin::pin!(watch.changed());
            let name = name.clone();
            feed.publish(vec![about(EventKind::Agent { name, event })]);
            assert!(futures_util::poll!(&mut changed).is_ready());
        }
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
