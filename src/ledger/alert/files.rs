//! The agreement of alerts with the tags of watched files.

use crate::domain::{Actor, Alert, AlertAgreement, AlertId, FileAlert, Text};
use crate::store::tables::alerts::{self, TaggedAlert};
use crate::store::{Result, Tx};

use super::raise::{insert, resolve};

/// A tag that is to say that its alert is done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AlertTagChange {
    pub id: AlertId,
    pub file: Text,
    /// The tree that the file is in.
    pub root: Text,
    /// From 1.
    pub line: u32,
    pub title: String,
}

/// Brings alerts into agreement with the tags of a file. Returns the tags that are to be changed.
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

/// Brings an alert and its tag into agreement. Returns whether the tag is to be changed.
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

/// Records that the file of an alert says that it is done.
pub fn record_written_tag(tx: &Tx<'_>, id: &AlertId) -> Result<()> {
    alerts::end_tag(tx, id)
}
