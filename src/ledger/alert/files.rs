//! Reconciling alerts with the tags of watched files.

use crate::domain::{Actor, Alert, AlertAgreement, AlertId, FileAlert, Text};
use crate::store::tables::alerts::{self, TaggedAlert};
use crate::store::{Result, Tx};

use super::raise::{insert, resolve};

/// A tag that must be rewritten, because its alert was resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertTagChange {
    pub id: AlertId,
    pub file: Text,
    /// The watched tree of the file.
    pub root: Text,
    /// 1-based.
    pub line: u32,
    pub title: String,
}

/// Reconciles alerts with the tags of a file. Returns the tags that must be rewritten.
pub fn reconcile_file(
    tx: &mut Tx<'_>,
    file: &Text,
    root: &Text,
    tags: &[FileAlert],
) -> Result<Vec<AlertTagChange>> {
    let mut known = alerts::of_file(tx, file)?;
    let mut changes = Vec::new();
    for tag in tags {
        let same = known
            .iter()
            .position(|known| known.title.as_str() == tag.title);
        let Some(known) = same.map(|place| known.remove(place)) else {
            if tag.active {
                raise(tx, file, tag)?;
            }
            continue;
        };
        if reconcile(tx, file, tag, &known)? {
            changes.push(AlertTagChange {
                id: known.id,
                file: file.clone(),
                root: root.clone(),
                line: tag.line,
                title: tag.title.clone(),
            });
        }
    }
    for gone in &known {
        if !gone.is_resolved {
            resolve(tx, &gone.id, &Actor::File)?;
        }
        alerts::delete_tag(tx, &gone.id)?;
    }
    Ok(changes)
}

/// Reconciles an alert with its tag. Returns whether the tag must be rewritten.
fn reconcile(tx: &mut Tx<'_>, file: &Text, tag: &FileAlert, known: &TaggedAlert) -> Result<bool> {
    let agreement = AlertAgreement::decide(known.is_resolved, known.was_active, tag.active);
    match agreement {
        AlertAgreement::Agree | AlertAgreement::UpdateFile => {}
        AlertAgreement::Resolve => {
            resolve(tx, &known.id, &Actor::File)?;
        }
        AlertAgreement::RaiseAgain => {
            alerts::delete_tag(tx, &known.id)?;
            raise(tx, file, tag)?;
            return Ok(false);
        }
    }
    alerts::update_tag(tx, &known.id, tag.line, tag.active)?;
    Ok(agreement == AlertAgreement::UpdateFile)
}

fn raise(tx: &mut Tx<'_>, file: &Text, tag: &FileAlert) -> Result<()> {
    let alert = Alert {
        id: AlertId::new(),
        message: Text::lossy(tag.title.clone()),
        task_id: None,
        file: Some(file.clone()),
        line: Some(tag.line),
        raised_at: tx.now,
        raised_by: Text::lossy(Actor::File.name().to_owned()),
        resolved_at: None,
        resolved_by: None,
    };
    insert(tx, &alert)
}

/// Records that the tag of a resolved alert was rewritten.
pub fn record_written_tag(tx: &Tx<'_>, id: &AlertId) -> Result<()> {
    alerts::end_tag(tx, id)
}
