//! The table `alerts`.

use crate::domain::{Actor, Alert, AlertId, EventKind, Refusal, TaskId, Text, Timestamp};
use crate::ledger::{history, task};
use crate::store::tables::tasks::TaskKeys;
use crate::store::{
    AlertQuery, Item, Page, RaiseAlert, Result, Row, Statement, Tx, View, params, sql,
};

macro_rules! select_alerts {
    () => {
        "SELECT a.id, a.message, t.id, a.file, a.line, a.raised_at, a.raised_by, a.resolved_at, a.resolved_by,
                a.number
           FROM alerts a LEFT JOIN tasks t ON t.number = a.task_number"
    };
}

/// Selects whole alerts behind a number.
pub(crate) const SELECT_ARCHIVE: Statement<2> = sql!(
    select_alerts!(),
    " WHERE a.number > $1 ORDER BY a.number LIMIT $2"
);

const ONE: Statement<1> = sql!(select_alerts!(), " WHERE a.id = $1");

pub(crate) fn from_row(row: &Row<'_>) -> Result<Alert> {
    Ok(Alert {
        id: row.parsed(0)?,
        message: row.text(1)?,
        task_id: row.optional_parsed(2)?,
        file: row.optional_text(3)?,
        line: row.optional_unsigned(4)?,
        raised_at: row.timestamp(5)?,
        raised_by: row.text(6)?,
        resolved_at: row.optional_timestamp(7)?,
        resolved_by: row.optional_text(8)?,
    })
}

/// Loads the alert that an operation is about.
pub(crate) fn load(tx: &Tx<'_>, id: &AlertId) -> Result<Alert> {
    tx.row(ONE, params![id.as_str()], |row| from_row(row))?
        .ok_or_else(|| Refusal::AlertNotFound(id.to_string()).into())
}

/// Raises an alert.
pub(crate) fn raise(tx: &mut Tx<'_>, raise: &RaiseAlert) -> Result<Alert> {
    let alert = Alert {
        id: raise.id.clone(),
        message: raise.message.clone(),
        task_id: raise.task_id.clone(),
        file: None,
        line: None,
        raised_at: tx.now,
        raised_by: Text::lossy(raise.by.name().to_owned()),
        resolved_at: None,
        resolved_by: None,
    };
    begin(tx, &alert)?;
    Ok(alert)
}

/// Inserts an alert that is new, and tells of it.
pub(crate) fn begin(tx: &mut Tx<'_>, alert: &Alert) -> Result<()> {
    let place = place(tx, alert)?;
    insert(tx, alert)?;
    let raised = EventKind::AlertRaised {
        id: alert.id.clone(),
        message: alert.message.clone(),
        by: alert.raised_by.clone(),
    };
    record(tx, alert, place.as_ref(), raised)
}

/// Finds the task that an alert is about, which must be there.
fn place(tx: &Tx<'_>, alert: &Alert) -> Result<Option<TaskKeys>> {
    let task_id = alert.task_id.as_ref();
    task_id.map(|id| task::keys(tx, id)).transpose()
}

/// Tells what happened to an alert, also in the history of its task.
fn record(tx: &mut Tx<'_>, alert: &Alert, place: Option<&TaskKeys>, kind: EventKind) -> Result<()> {
    let on = alert.task_id.as_ref().zip(place);
    let about = history::About {
        on: on.map(|(id, place)| place.on(id)),
        ..history::About::default()
    };
    history::record_about(tx, about, kind)
}

/// Inserts the row of an alert. Its file, if it has one, says of it what it is.
pub(crate) fn insert(tx: &Tx<'_>, alert: &Alert) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO alerts (id, task_number, raised_at, raised_by, resolved_at, resolved_by, file, line,
                                 is_active_in_file, message)
             VALUES ($1, (SELECT number FROM tasks WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10)"
        ),
        params![
            alert.id.as_str(),
            alert.task_id.as_ref().map(TaskId::as_str),
            alert.raised_at.as_millis(),
            alert.raised_by.as_str(),
            alert.resolved_at.map(Timestamp::as_millis),
            alert.resolved_by.as_ref().map(Text::as_str),
            alert.file.as_ref().map(Text::as_str),
            alert.line,
            alert.file.as_ref().map(|_| alert.resolved_at.is_none()),
            alert.message.as_str(),
        ],
    )?;
    Ok(())
}

/// Resolves an alert.
pub(crate) fn resolve(tx: &mut Tx<'_>, id: &AlertId, by: &Actor) -> Result<Alert> {
    let mut alert = load(tx, id)?;
    if let Some(by) = alert.resolved_by {
        return Err(Refusal::AlertResolved {
            id: id.clone(),
            by: by.into_string(),
        }
        .into());
    }
    let by = Text::lossy(by.name().to_owned());
    (alert.resolved_at, alert.resolved_by) = (Some(tx.now), Some(by.clone()));
    tx.execute(
        sql!("UPDATE alerts SET resolved_at = $1, resolved_by = $2 WHERE id = $3"),
        params![tx.now.as_millis(), by.as_str(), id.as_str()],
    )?;
    let place = place(tx, &alert)?;
    let id = id.clone();
    record(
        tx,
        &alert,
        place.as_ref(),
        EventKind::AlertResolved { id, by },
    )?;
    Ok(alert)
}

pub(crate) fn find(view: &View<'_>, id: &AlertId) -> Result<Option<Alert>> {
    view.row(ONE, params![id.as_str()], from_row)
}

fn number(view: &View<'_>, id: &AlertId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM alerts WHERE id = $1"),
        params![id.as_str()],
        |row| row.integer(0),
    )
}

/// How alerts are put into pages.
const ALERTS: Item<Alert> = Item {
    from_row,
    size: |alert| alert.message.as_str().len(),
    name: |alert| alert.id.to_string(),
};

/// Lists alerts, oldest first.
pub(crate) fn list(view: &View<'_>, asked: &AlertQuery) -> Result<Page<Alert>> {
    const ACTIVE: Statement<2> = sql!(
        select_alerts!(),
        " WHERE a.resolved_at IS NULL AND a.number > $1 ORDER BY a.number LIMIT $2"
    );
    let after = match &asked.after {
        None => 0,
        Some(id) => number(view, id)?.ok_or_else(|| Refusal::AlertNotFound(id.to_string()))?,
    };
    let limit = asked.limit;
    if asked.resolved {
        view.page(SELECT_ARCHIVE, params![after, limit + 1], limit, &ALERTS)
    } else {
        view.page(ACTIVE, params![after, limit + 1], limit, &ALERTS)
    }
}
