//! Attachments of a task. The engine keeps their bytes in files.

use serde::{Deserialize, Serialize};

use super::find::{keys, load};
use crate::domain::{
    Attachment, AttachmentFolder, AttachmentId, EventKind, Filename, Refusal, Task, TaskId, Text,
};
use crate::ledger::history;
use crate::store::tables::attachments;
use crate::store::tables::tasks::{self, StoredTask};
use crate::store::{Result, Tx, View};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Attach {
    pub task_id: TaskId,
    /// The name of the folder with the bytes.
    pub id: AttachmentId,
    pub filename: Filename,
    pub size: u64,
    pub content_type: Text,
}

/// Whether an attachment uses the bytes in the folder of this id.
pub fn uses_bytes(view: &View<'_>, folder_id: &AttachmentId) -> Result<bool> {
    attachments::uses_bytes(view, folder_id)
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Attached {
    pub task: Task,
    /// The folder of the bytes: that of the first request if this one repeats it.
    pub id: AttachmentId,
}

pub fn attachment(
    view: &View<'_>,
    task_id: &TaskId,
    filename: &str,
) -> Result<(AttachmentFolder, Attachment)> {
    if let Some(found) = attachments::find(view, task_id, filename)? {
        return Ok(found);
    }
    keys(view, task_id)?;
    Err(Refusal::AttachmentNotFound(filename.to_owned()).into())
}

pub fn attach(tx: &mut Tx<'_>, attach: &Attach) -> Result<Attached> {
    let mut on = load(tx, &attach.task_id)?;
    let is_same = |attachment: &Attachment| attachment.filename == attach.filename;
    if on.task.attachments.iter().any(is_same) {
        return Err(Refusal::AttachmentExists(attach.filename.clone()).into());
    }
    let attachment = Attachment {
        filename: attach.filename.clone(),
        size: attach.size,
        content_type: attach.content_type.clone(),
        uploaded_at: tx.now,
    };
    attachments::insert(tx, on.number, &attach.id, &attachment, None)?;
    tasks::touch(tx, on.number)?;
    let added = EventKind::AttachmentAdded {
        filename: attach.filename.clone(),
        size: attach.size,
    };
    history::record(tx, on.on(), None, added)?;
    on.task.attachments.push(attachment);
    on.task.updated_at = tx.now;
    Ok(Attached {
        task: on.task,
        id: attach.id.clone(),
    })
}

/// A task without the attachment that was removed from it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Detached {
    pub task: Task,
    pub folder_id: AttachmentId,
    /// The folder of the bytes, if no attachment uses it any more.
    #[serde(default)]
    pub unused: Option<AttachmentFolder>,
}

/// Removes an attachment from a task. Attachments of other tasks keep their bytes.
pub fn detach(tx: &mut Tx<'_>, task_id: &TaskId, filename: &str) -> Result<Detached> {
    let mut on = load(tx, task_id)?;
    let is_same = |attachment: &Attachment| attachment.filename.as_str() == filename;
    let place = on.task.attachments.iter().position(is_same);
    let place = place.ok_or_else(|| Refusal::AttachmentNotFound(filename.to_owned()))?;
    attachments::delete(tx, on.number, filename)?;
    tasks::touch(tx, on.number)?;
    let filename = on.task.attachments.remove(place).filename;
    let folder = on.folders.remove(place);
    let removed = EventKind::AttachmentRemoved { filename };
    history::record(tx, on.on(), None, removed)?;
    on.task.updated_at = tx.now;
    let is_used = attachments::uses_bytes(tx, &folder.id)?;
    Ok(Detached {
        task: on.task,
        folder_id: folder.id.clone(),
        unused: (!is_used).then_some(folder),
    })
}

/// Gives a new task the attachments of the task that it comes from. Both use the same bytes.
pub fn carry_attachments(tx: &mut Tx<'_>, from: &StoredTask, to: &mut StoredTask) -> Result<()> {
    for (attachment, folder) in from.task.attachments.iter().zip(&from.folders) {
        let id = AttachmentId::new();
        attachments::insert(tx, to.number, &id, attachment, Some(folder))?;
        let added = EventKind::AttachmentAdded {
            filename: attachment.filename.clone(),
            size: attachment.size,
        };
        history::record(tx, to.on(), None, added)?;
        to.task.attachments.push(attachment.clone());
        to.folders.push(folder.clone());
    }
    Ok(())
}
