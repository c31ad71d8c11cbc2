//! The table `events`.

use crate::domain::{
    Event, EventType, HandoffId, History, Page, RequestId, TaskId, Text, Timestamp,
};
use crate::store::{
    FromRow, Item, Json, Result, Row, Statement, Tx, View, columns, params, sql, text,
};

use std::borrow::Cow;
use std::collections::BTreeMap;

/// The numbers of the rows that an event refers to.
#[derive(Debug, Clone, Copy, Default)]
pub struct EventNumbers {
    pub task: Option<i64>,
    pub handoff: Option<i64>,
    pub request: Option<i64>,
}

/// Inserts an event. Returns its number.
pub fn insert(tx: &Tx<'_>, about: EventNumbers, event: &Event) -> Result<i64> {
    tx.insert(
        sql!(
            "INSERT INTO events (task_number, handoff_number, request_number, occurred_at, type, data)
             VALUES ($1, $2, $3, $4, $5, $6)"
        ),
        params![
            about.task,
            about.handoff,
            about.request,
            event.timestamp,
            event.event_type,
            serde_json::to_string(&event.data).expect("strings are JSON"),
        ],
    )
}

/// Inserts an event from an archive under a given number.
pub fn insert_numbered(tx: &Tx<'_>, number: i64, about: EventNumbers, event: &Event) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO events (number, task_number, handoff_number, request_number, occurred_at, type, data)
             VALUES ($1, $2, $3, $4, $5, $6, $7)"
        ),
        params![
            number,
            about.task,
            about.handoff,
            about.request,
            event.timestamp,
            event.event_type,
            serde_json::to_string(&event.data).expect("strings are JSON"),
        ],
    )?;
    Ok(())
}

columns! {
    struct EventRow {
        timestamp: Timestamp = "e.occurred_at",
        event_type: EventType = "e.type",
        data: Json<BTreeMap<Cow<'static, str>, Text>> = "e.data",
        handoff_id: Option<HandoffId> = "h.id",
        number: i64 = "e.number",
        task_id: Option<TaskId> = "t.id",
        root_id: Option<TaskId> = "coalesce(m.id, t.id)",
        request_id: Option<RequestId> = "q.id",
    }
}

const SELECT: &str = text!(
    "SELECT ",
    EventRow::COLUMNS,
    " FROM events e
      LEFT JOIN tasks t ON t.number = e.task_number
      LEFT JOIN tasks m ON m.number = t.master_number
      LEFT JOIN handoffs h ON h.number = e.handoff_number
      LEFT JOIN requests q ON q.number = e.request_number"
);

impl From<EventRow> for Event {
    fn from(row: EventRow) -> Self {
        Self {
            timestamp: row.timestamp,
            event_type: row.event_type,
            data: row.data.0,
            handoff_id: row.handoff_id,
            request_id: row.request_id,
            number: Some(row.number),
            task_id: row.task_id,
            master_task_id: row.root_id,
        }
    }
}

fn of_known_task(row: &Row<'_>) -> Result<Event> {
    Ok(Event {
        task_id: None,
        master_task_id: None,
        ..EventRow::from_row(row)?.into()
    })
}

/// Lists the events of a task, oldest first. Their task id is not set.
pub fn of_task(view: &View<'_>, task_number: i64) -> Result<History> {
    const OF_TASK: Statement<1> = sql!(SELECT, " WHERE e.task_number = $1 ORDER BY e.number");
    let events = view.rows(OF_TASK, params![task_number], of_known_task)?;
    Ok(History { events })
}

/// Lists events of no task after a number, oldest first.
pub fn alone_after(view: &View<'_>, number: i64, limit: u32) -> Result<Vec<Event>> {
    const ALONE: Statement<2> = sql!(
        SELECT,
        " WHERE e.task_number IS NULL AND e.number > $1 ORDER BY e.number LIMIT $2"
    );
    view.rows(ALONE, params![number, limit], of_known_task)
}

/// Lists events of a task after a number, as [`of_task`] does, until they are too large for one page.
pub fn page_of_task(view: &View<'_>, task_number: i64, after: i64) -> Result<Page<Event>> {
    const OF_TASK: Statement<2> = sql!(
        SELECT,
        " WHERE e.task_number = $1 AND e.number > $2 ORDER BY e.number"
    );
    const EVENTS: Item<Event> = Item {
        from_row: of_known_task,
        name: |event| event.number.unwrap_or_default().to_string(),
    };
    view.page(OF_TASK, params![task_number, after], u32::MAX, &EVENTS)
}

/// Lists events after a number, until they have too many bytes, but at least one.
pub fn after(view: &View<'_>, number: i64, limit: u32, most_bytes: usize) -> Result<Vec<Event>> {
    const AFTER: Statement<2> = sql!(SELECT, " WHERE e.number > $1 ORDER BY e.number LIMIT $2");
    view.rows_within(most_bytes, AFTER, params![number, limit], |row| {
        Ok(EventRow::from_row(row)?.into())
    })
}

/// Returns the number of the newest event, 0 if there is none.
pub fn last_number(view: &View<'_>) -> Result<i64> {
    view.one(
        sql!("SELECT coalesce(max(number), 0) FROM events"),
        params![],
        |row| row.get(0),
    )
}

/// Returns the time of the newest event.
pub fn last_time(view: &View<'_>) -> Result<Option<Timestamp>> {
    view.row(
        sql!("SELECT occurred_at FROM events ORDER BY number DESC LIMIT 1"),
        params![],
        |row| row.get(0),
    )
}
