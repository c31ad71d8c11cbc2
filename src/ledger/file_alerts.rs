//! Alerts whose tags stand in watched files.

use super::alerts;
use crate::domain::{Actor, Alert, AlertId, FileAlert, Text};
use crate::store::{AlertTagChange, FileReport, Reconciled, Result, Tx, params, sql};

/// An alert whose tag stands in a file.
struct Known {
    id: AlertId,
    title: Text,
    is_resolved: bool,
    /// Whether the file said that it is active when the two agreed last.
    was_active: bool,
}

/// Brings the alerts of a file into agreement with its tags.
pub(crate) fn reconcile(
    tx: &mut Tx<'_>,
    file: &FileReport,
    reconciled: &mut Reconciled,
) -> Result<()> {
    let mut known = of_file(tx, &file.file)?;
    for tag in &file.alerts {
        let same = known
            .iter()
            .position(|known| known.title.as_str() == tag.title);
        match same.map(|place| known.remove(place)) {
            Some(known) => settle(tx, file, tag, &known, reconciled)?,
            None if tag.active => raise(tx, file, tag)?,
            None => {}
        }
    }
    for gone in &known {
        forget(tx, gone)?;
    }
    Ok(())
}

fn of_file(tx: &Tx<'_>, file: &Text) -> Result<Vec<Known>> {
    tx.rows(
        sql!(
            "SELECT id, message, resolved_at IS NOT NULL, is_active_in_file FROM alerts WHERE file = $1
              ORDER BY resolved_at IS NOT NULL, line, number"
        ),
        params![file.as_str()],
        |row| {
            Ok(Known {
                id: row.parsed(0)?,
                title: row.text(1)?,
                is_resolved: row.integer(2)? != 0,
                was_active: row.integer(3)? != 0,
            })
        },
    )
}

fn settle(
    tx: &mut Tx<'_>,
    file: &FileReport,
    tag: &FileAlert,
    known: &Known,
    reconciled: &mut Reconciled,
) -> Result<()> {
    match (known.is_resolved, tag.active) {
        (false, true) => place(tx, &known.id, tag.line, true),
        (true, false) => place(tx, &known.id, tag.line, false),
        (false, false) => {
            alerts::resolve(tx, &known.id, &Actor::File)?;
            place(tx, &known.id, tag.line, false)
        }
        // Resolved elsewhere; the file is still to be changed.
        (true, true) if known.was_active => {
            reconciled.alerts.push(AlertTagChange {
                id: known.id.clone(),
                file: file.file.clone(),
                root: file.root.clone(),
                line: tag.line,
                title: tag.title.clone(),
            });
            place(tx, &known.id, tag.line, true)
        }
        // Somebody has raised it again in the file.
        (true, true) => {
            unlink(tx, &known.id)?;
            raise(tx, file, tag)
        }
    }
}

fn raise(tx: &mut Tx<'_>, file: &FileReport, tag: &FileAlert) -> Result<()> {
    let alert = Alert {
        id: AlertId::new(),
        message: Text::lossy(tag.title.clone()),
        task_id: None,
        file: Some(file.file.clone()),
        line: Some(tag.line),
        raised_at: tx.now,
        raised_by: Text::lossy(Actor::File.name().to_owned()),
        resolved_at: None,
        resolved_by: None,
    };
    alerts::begin(tx, &alert)
}

/// Resolves an alert whose tag is gone.
fn forget(tx: &mut Tx<'_>, known: &Known) -> Result<()> {
    if !known.is_resolved {
        alerts::resolve(tx, &known.id, &Actor::File)?;
    }
    unlink(tx, &known.id)
}

/// Notes that an alert has no tag any more.
fn unlink(tx: &Tx<'_>, id: &AlertId) -> Result<()> {
    tx.execute(
        sql!("UPDATE alerts SET file = NULL, line = NULL, is_active_in_file = NULL WHERE id = $1"),
        params![id.as_str()],
    )?;
    Ok(())
}

fn place(tx: &Tx<'_>, id: &AlertId, line: u32, is_active: bool) -> Result<()> {
    tx.execute(
        sql!("UPDATE alerts SET line = $1, is_active_in_file = $2 WHERE id = $3"),
        params![line, is_active, id.as_str()],
    )?;
    Ok(())
}

/// Records that the file says now that an alert is done.
pub(crate) fn written(tx: &Tx<'_>, id: &AlertId) -> Result<()> {
    tx.execute(
        sql!("UPDATE alerts SET is_active_in_file = 0 WHERE id = $1 AND file IS NOT NULL"),
        params![id.as_str()],
    )?;
    Ok(())
}
