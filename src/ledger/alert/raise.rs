//! Raising and resolving alerts.

use crate::domain::{Actor, Alert, AlertId, EventKind, Refusal, TaskId, Text};
use crate::ledger::{history, task};
use crate::store::tables::alerts;
use crate::store::tables::tasks::TaskKeys;
use crate::store::{Result, Tx, View};

use super::find::get;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RaiseAlert {
    pub id: AlertId,
    pub message: Text,
    pub task_id: Option<TaskId>,
    pub by: Actor,
}

pub fn raise(tx: &mut Tx<'_>, raise: &RaiseAlert) -> Result<Alert> {
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
    insert(tx, &alert)?;
    Ok(alert)
}

/// Inserts a new alert and records the event.
pub(super) fn insert(tx: &mut Tx<'_>, alert: &Alert) -> Result<()> {
    let keys = task_keys(tx, alert)?;
    alerts::insert(tx, alert)?;
    let raised = EventKind::AlertRaised {
        id: alert.id.clone(),
        message: alert.message.clone(),
        by: alert.raised_by.clone(),
    };
    record(tx, alert, keys.as_ref(), raised)
}

pub fn resolve(tx: &mut Tx<'_>, id: &AlertId, by: &Actor) -> Result<Alert> {
    let mut alert = get(tx, id)?;
    if let Some(by) = alert.resolved_by {
        return Err(Refusal::AlertResolved {
            id: id.clone(),
            by: by.into_string(),
        }
        .into());
    }
    let by = Text::lossy(by.name().to_owned());
    (alert.resolved_at, alert.resolved_by) = (Some(tx.now), Some(by.clone()));
    alerts::update_end(tx, &alert)?;
    let keys = task_keys(tx, &alert)?;
    let id = id.clone();
    let resolved = EventKind::AlertResolved { id, by };
    record(tx, &alert, keys.as_ref(), resolved)?;
    Ok(alert)
}

fn task_keys(view: &View<'_>, alert: &Alert) -> Result<Option<TaskKeys>> {
    let task_id = alert.task_id.as_ref();
    task_id.map(|id| task::keys(view, id)).transpose()
}

/// Records an event of an alert, also in the history of its task.
fn record(tx: &mut Tx<'_>, alert: &Alert, keys: Option<&TaskKeys>, kind: EventKind) -> Result<()> {
    let on = alert.task_id.as_ref().zip(keys);
    let about = history::About {
        on: on.map(|(id, keys)| keys.on(id)),
        ..history::About::default()
    };
    history::record_about(tx, about, kind)
}
