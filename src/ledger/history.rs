//! Recording events: the row, and the event for subscribers.

use crate::domain::{Event, EventKind, HandoffId, Recorded, RequestId, Topic};
use crate::store::tables::events::{self, EventNumbers};
use crate::store::tables::tasks::TaskRef;
use crate::store::{Result, Tx, View};

/// The rows that an event refers to.
#[derive(Clone, Copy, Default)]
pub struct About<'a> {
    pub on: Option<TaskRef<'a>>,
    pub handoff: Option<(&'a HandoffId, i64)>,
    pub request: Option<(&'a RequestId, i64)>,
}

/// Records an event of a task and queues it for subscribers.
pub fn record(
    tx: &mut Tx<'_>,
    on: TaskRef<'_>,
    handoff: Option<(&HandoffId, i64)>,
    kind: EventKind,
) -> Result<()> {
    let about = About {
        on: Some(on),
        handoff,
        request: None,
    };
    record_about(tx, about, kind)
}

/// Records an event without a task: of an agent, a tool or the kind rules.
pub fn record_alone(tx: &mut Tx<'_>, kind: EventKind) -> Result<()> {
    record_about(tx, About::default(), kind)
}

/// Records an event and queues it for subscribers.
pub fn record_about(tx: &mut Tx<'_>, about: About<'_>, kind: EventKind) -> Result<()> {
    let topic = match about.request {
        Some(_) => Some(Topic::Requests),
        None => kind.topic(),
    };
    let (event_type, data) = kind.into_parts();
    let event = Event {
        timestamp: tx.now,
        event_type,
        data,
        handoff_id: about.handoff.map(|(id, _)| id.clone()),
        request_id: about.request.map(|(id, _)| id.clone()),
        number: None,
        task_id: about.on.map(|on| on.id.clone()),
        master_task_id: about.on.map(|on| on.root_id.unwrap_or(on.id).clone()),
    };
    let numbers = EventNumbers {
        task: about.on.map(|on| on.number),
        handoff: about.handoff.map(|(_, number)| number),
        request: about.request.map(|(_, number)| number),
    };
    let number = events::insert(tx, numbers, &event)?;
    let event = Event {
        number: Some(number),
        ..event
    };
    tx.events.push(Recorded { event, topic });
    Ok(())
}

/// Lists events after a number, until they have too many bytes, but at least one.
pub fn after(view: &View<'_>, number: i64, limit: u32, most_bytes: usize) -> Result<Vec<Event>> {
    events::after(view, number, limit, most_bytes)
}

/// Returns the number of the newest event, 0 if there is none.
pub fn last_number(view: &View<'_>) -> Result<i64> {
    events::last_number(view)
}
