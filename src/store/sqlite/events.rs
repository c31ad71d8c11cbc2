//! The table `events`.

use rusqlite::params;
use sqlx::{SqliteExecutor, SqlitePool};

use super::row::{self, Columns};
use super::sql::{query, sql};
use super::tasks::On;
use super::writer::Tx;
use crate::domain::{Event, EventKind, HandoffId, History};
use crate::store::Result;

/// Records what happened to a task, and keeps it for those who follow.
pub(super) fn record(
    tx: &mut Tx<'_>,
    on: On<'_>,
    handoff: Option<(&HandoffId, i64)>,
    kind: EventKind,
) -> Result<()> {
    let (event_type, data) = kind.into_parts();
    let event = Event {
        timestamp: tx.now,
        event_type,
        data,
        handoff_id: handoff.map(|(id, _)| id.clone()),
        number: None,
        task_id: Some(on.id.clone()),
        master_task_id: Some(on.master_id.unwrap_or(on.id).clone()),
    };
    let number = insert(
        tx,
        Some(on.number),
        handoff.map(|(_, number)| number),
        &event,
    )?;
    keep(tx, event, number);
    Ok(())
}

/// Records what happened to no task.
pub(super) fn record_of_none(tx: &mut Tx<'_>, kind: EventKind) -> Result<()> {
    let (event_type, data) = kind.into_parts();
    let event = Event {
        timestamp: tx.now,
        event_type,
        data,
        handoff_id: None,
        number: None,
        task_id: None,
        master_task_id: None,
    };
    let number = insert(tx, None, None, &event)?;
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

/// Inserts an event's row and returns its number.
pub(super) fn insert(
    tx: &Tx<'_>,
    task_number: Option<i64>,
    handoff_number: Option<i64>,
    event: &Event,
) -> Result<i64> {
    tx.insert(
        sql!(
            "INSERT INTO events (task_number, handoff_number, occurred_at, type, data) VALUES ($1, $2, $3, $4, $5)"
        ),
        params![
            task_number,
            handoff_number,
            event.timestamp.as_millis(),
            event.event_type.as_str(),
            serde_json::to_string(&event.data).expect("strings are JSON"),
        ],
    )
}

fn from_row(row: &sqlx::sqlite::SqliteRow) -> Result<Event> {
    Ok(Event {
        timestamp: row.timestamp(0)?,
        event_type: row.parsed(1)?,
        data: row.json(2)?,
        handoff_id: row.optional_parsed(3)?,
        number: Some(row.integer(4)?),
        task_id: row.optional_parsed(5)?,
        master_task_id: row.optional_parsed(6)?,
    })
}

/// Lists the events of a task, oldest first.
pub(super) async fn of_task(readers: impl SqliteExecutor<'_>, task_number: i64) -> Result<History> {
    let rows = query!(
        sql!(
            "SELECT e.occurred_at, e.type, e.data, h.id, e.number, NULL, NULL
               FROM events e
               LEFT JOIN handoffs h ON h.number = e.handoff_number
              WHERE e.task_number = $1
              ORDER BY e.number"
        ),
        task_number
    )
    .fetch_all(readers)
    .await?;
    Ok(History {
        events: row::all(&rows, from_row)?,
    })
}

pub(super) async fn after(readers: &SqlitePool, number: i64, limit: u32) -> Result<Vec<Event>> {
    let rows = query!(
        sql!(
            "SELECT e.occurred_at, e.type, e.data, h.id, e.number, t.id, coalesce(m.id, t.id)
               FROM events e
               LEFT JOIN tasks t ON t.number = e.task_number
               LEFT JOIN tasks m ON m.number = t.master_number
               LEFT JOIN handoffs h ON h.number = e.handoff_number
              WHERE e.number > $1
              ORDER BY e.number LIMIT $2"
        ),
        number,
        limit
    )
    .fetch_all(readers)
    .await?;
    row::all(&rows, from_row)
}

pub(super) async fn last_number(readers: &SqlitePool) -> Result<i64> {
    query!(sql!("SELECT coalesce(max(number), 0) FROM events"))
        .fetch_one(readers)
        .await?
        .integer(0)
}
