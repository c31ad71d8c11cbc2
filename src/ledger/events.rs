//! The table `events`.

use super::tasks::On;
use crate::domain::{Event, EventKind, HandoffId, History, RequestId};
use crate::store::{Result, Row, Tx, View, params, sql};

/// What an event is about, beside what it says.
#[derive(Clone, Copy, Default)]
pub(crate) struct About<'a> {
    pub on: Option<On<'a>>,
    pub handoff: Option<(&'a HandoffId, i64)>,
    pub request: Option<(&'a RequestId, i64)>,
}

/// Records what happened to a task, and keeps it for those who follow.
pub(crate) fn record(
    tx: &mut Tx<'_>,
    on: On<'_>,
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

/// Records what happened to no task.
pub(crate) fn record_of_none(tx: &mut Tx<'_>, kind: EventKind) -> Result<()> {
    record_about(tx, About::default(), kind)
}

/// Records what happened, and keeps it for those who follow.
pub(crate) fn record_about(tx: &mut Tx<'_>, about: About<'_>, kind: EventKind) -> Result<()> {
    let (event_type, data) = kind.into_parts();
    let event = Event {
        timestamp: tx.now,
        event_type,
        data,
        handoff_id: about.handoff.map(|(id, _)| id.clone()),
        request_id: about.request.map(|(id, _)| id.clone()),
        number: None,
        task_id: about.on.map(|on| on.id.clone()),
        master_task_id: about.on.map(|on| on.master_id.unwrap_or(on.id).clone()),
    };
    let place = Place {
        task: about.on.map(|on| on.number),
        handoff: about.handoff.map(|(_, number)| number),
        request: about.request.map(|(_, number)| number),
    };
    let number = insert(tx, place, &event)?;
    keep(tx, event, number);
    Ok(())
}

/// Keeps an event to be published once it is committed.
fn keep(tx: &mut Tx<'_>, event: Event, number: i64) {
    tx.events.push(Event {
        number: Some(number),
        ..event
    });
}

/// The numbers of the rows that an event refers to.
#[derive(Clone, Copy, Default)]
pub(crate) struct Place {
    pub task: Option<i64>,
    pub handoff: Option<i64>,
    pub request: Option<i64>,
}

/// Inserts an event's row and returns its number.
pub(crate) fn insert(tx: &Tx<'_>, place: Place, event: &Event) -> Result<i64> {
    tx.insert(
        sql!(
            "INSERT INTO events (task_number, handoff_number, request_number, occurred_at, type, data)
             VALUES ($1, $2, $3, $4, $5, $6)"
        ),
        params![
            place.task,
            place.handoff,
            place.request,
            event.timestamp.as_millis(),
            event.event_type.as_str(),
            serde_json::to_string(&event.data).expect("strings are JSON"),
        ],
    )
}

fn from_row(row: &Row<'_>) -> Result<Event> {
    Ok(Event {
        timestamp: row.timestamp(0)?,
        event_type: row.parsed(1)?,
        data: row.json(2)?,
        handoff_id: row.optional_parsed(3)?,
        number: Some(row.integer(4)?),
        task_id: row.optional_parsed(5)?,
        master_task_id: row.optional_parsed(6)?,
        request_id: row.optional_parsed(7)?,
    })
}

/// Lists the events of a task, oldest first.
pub(crate) fn of_task(view: &View<'_>, task_number: i64) -> Result<History> {
    let events = view.rows(
        sql!(
            "SELECT e.occurred_at, e.type, e.data, h.id, e.number, NULL, NULL, q.id
               FROM events e
               LEFT JOIN handoffs h ON h.number = e.handoff_number
               LEFT JOIN requests q ON q.number = e.request_number
              WHERE e.task_number = $1
              ORDER BY e.number"
        ),
        params![task_number],
        from_row,
    )?;
    Ok(History { events })
}

pub(crate) fn after(view: &View<'_>, number: i64, limit: u32) -> Result<Vec<Event>> {
    view.rows(
        sql!(
            "SELECT e.occurred_at, e.type, e.data, h.id, e.number, t.id, coalesce(m.id, t.id), q.id
               FROM events e
               LEFT JOIN tasks t ON t.number = e.task_number
               LEFT JOIN tasks m ON m.number = t.master_number
               LEFT JOIN handoffs h ON h.number = e.handoff_number
               LEFT JOIN requests q ON q.number = e.request_number
              WHERE e.number > $1
              ORDER BY e.number LIMIT $2"
        ),
        params![number, limit],
        from_row,
    )
}

pub(crate) fn last_number(view: &View<'_>) -> Result<i64> {
    view.one(
        sql!("SELECT coalesce(max(number), 0) FROM events"),
        params![],
        |row| row.integer(0),
    )
}
