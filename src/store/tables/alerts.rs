//! The table `alerts`.

use crate::domain::{Alert, AlertId, AlertQuery, ArchivedAlertTag, Page, TaskId, Text, Timestamp};
use crate::store::{FromRow, Item, Result, Row, Statement, Tx, View, columns, params, sql, text};

columns! {
    struct AlertRow {
        number: i64 = "a.number",
        id: AlertId = "a.id",
        message: Text = "a.message",
        task_id: Option<TaskId> = "t.id",
        file: Option<Text> = "a.file",
        line: Option<u32> = "a.line",
        raised_at: Timestamp = "a.raised_at",
        raised_by: Text = "a.raised_by",
        resolved_at: Option<Timestamp> = "a.resolved_at",
        resolved_by: Option<Text> = "a.resolved_by",
    }
}

const SELECT: &str = text!(
    "SELECT ",
    AlertRow::COLUMNS,
    " FROM alerts a LEFT JOIN tasks t ON t.number = a.task_number"
);

const AFTER: Statement<2> = sql!(SELECT, " WHERE a.number > $1 ORDER BY a.number LIMIT $2");

impl From<AlertRow> for Alert {
    fn from(row: AlertRow) -> Self {
        Self {
            id: row.id,
            message: row.message,
            task_id: row.task_id,
            file: row.file,
            line: row.line,
            raised_at: row.raised_at,
            raised_by: row.raised_by,
            resolved_at: row.resolved_at,
            resolved_by: row.resolved_by,
        }
    }
}

fn from_row(row: &Row<'_>) -> Result<Alert> {
    Ok(AlertRow::from_row(row)?.into())
}

pub fn find(view: &View<'_>, id: &AlertId) -> Result<Option<Alert>> {
    const ONE: Statement<1> = sql!(SELECT, " WHERE a.id = $1");
    view.row(ONE, params![id], from_row)
}

pub fn find_number(view: &View<'_>, id: &AlertId) -> Result<Option<i64>> {
    view.row(
        sql!("SELECT number FROM alerts WHERE id = $1"),
        params![id],
        |row| row.get(0),
    )
}

pub fn after(view: &View<'_>, number: i64, limit: u32) -> Result<Vec<(i64, Alert)>> {
    view.rows(AFTER, params![number, limit], |row| {
        let row = AlertRow::from_row(row)?;
        Ok((row.number, row.into()))
    })
}

const ALERTS: Item<Alert> = Item {
    from_row,
    name: |alert| alert.id.to_string(),
};

pub fn page(view: &View<'_>, query: &AlertQuery, after: i64) -> Result<Page<Alert>> {
    const ACTIVE: Statement<2> = sql!(
        SELECT,
        " WHERE a.resolved_at IS NULL AND a.number > $1 ORDER BY a.number LIMIT $2"
    );
    let statement = if query.resolved { AFTER } else { ACTIVE };
    let limit = query.limit;
    view.page(statement, params![after, limit + 1], limit, &ALERTS)
}

/// Inserts an alert. The tag in its file, if it has one, agrees with it.
pub fn insert(tx: &Tx<'_>, alert: &Alert) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO alerts (id, task_number, raised_at, raised_by, resolved_at, resolved_by, file, line,
                                 is_active_in_file, message)
             VALUES ($1, (SELECT number FROM tasks WHERE id = $2), $3, $4, $5, $6, $7, $8, $9, $10)"
        ),
        params![
            alert.id,
            alert.task_id,
            alert.raised_at,
            alert.raised_by,
            alert.resolved_at,
            alert.resolved_by,
            alert.file,
            alert.line,
            alert.file.as_ref().map(|_| alert.resolved_at.is_none()),
            alert.message,
        ],
    )?;
    Ok(())
}

pub fn update_end(tx: &Tx<'_>, alert: &Alert) -> Result<()> {
    tx.execute(
        sql!("UPDATE alerts SET resolved_at = $1, resolved_by = $2 WHERE id = $3"),
        params![alert.resolved_at, alert.resolved_by, alert.id],
    )?;
    Ok(())
}

/// Lists for an archive which alerts were active in their files when the two last agreed.
pub fn archived_tags(view: &View<'_>) -> Result<Vec<ArchivedAlertTag>> {
    view.rows(
        sql!("SELECT id, is_active_in_file FROM alerts WHERE is_active_in_file IS NOT NULL ORDER BY number"),
        params![],
        |row| {
            Ok(ArchivedAlertTag {
                alert_id: row.get(0)?,
                active: row.get(1)?,
            })
        },
    )
}

/// Saves whether an imported alert was active in its file.
pub fn update_archived_tag(tx: &Tx<'_>, tag: &ArchivedAlertTag) -> Result<()> {
    tx.execute(
        sql!("UPDATE alerts SET is_active_in_file = $1 WHERE id = $2 AND file IS NOT NULL"),
        params![tag.active, tag.alert_id],
    )?;
    Ok(())
}

columns! {
    /// An alert with a tag in a file.
    pub struct TaggedAlert {
        pub id: AlertId = "id",
        pub title: Text = "message",
        pub is_resolved: bool = "resolved_at IS NOT NULL",
        /// Whether the tag was active when it last agreed with the alert.
        pub was_active: bool = "is_active_in_file",
    }
}

/// Lists the alerts of a file: active ones first, then by line.
pub fn of_file(view: &View<'_>, file: &Text) -> Result<Vec<TaggedAlert>> {
    const OF_FILE: Statement<1> = sql!(
        "SELECT ",
        TaggedAlert::COLUMNS,
        " FROM alerts WHERE file = $1 ORDER BY resolved_at IS NOT NULL, line, number"
    );
    view.rows(OF_FILE, params![file], TaggedAlert::from_row)
}

/// Saves the line of an alert's tag, and whether the tag is active.
pub fn update_tag(tx: &Tx<'_>, id: &AlertId, line: u32, is_active: bool) -> Result<()> {
    tx.execute(
        sql!("UPDATE alerts SET line = $1, is_active_in_file = $2 WHERE id = $3"),
        params![line, is_active, id],
    )?;
    Ok(())
}

/// Marks the tag of an alert, if it has one, as resolved.
pub fn end_tag(tx: &Tx<'_>, id: &AlertId) -> Result<()> {
    tx.execute(
        sql!("UPDATE alerts SET is_active_in_file = 0 WHERE id = $1 AND file IS NOT NULL"),
        params![id],
    )?;
    Ok(())
}

pub fn delete_tag(tx: &Tx<'_>, id: &AlertId) -> Result<()> {
    tx.execute(
        sql!("UPDATE alerts SET file = NULL, line = NULL, is_active_in_file = NULL WHERE id = $1"),
        params![id],
    )?;
    Ok(())
}
