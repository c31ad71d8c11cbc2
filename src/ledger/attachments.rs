//! The table `attachments`.

use crate::domain::{Attachment, AttachmentId, EventKind, Refusal, Task, TaskId};
use crate::ledger::{history, task};
use crate::store::tables::tasks::{self};
use crate::store::{Attach, Attached, Result, StoreError, Tx, View, params, sql};

pub(crate) fn add(tx: &mut Tx<'_>, attach: &Attach) -> Result<Attached> {
    let mut on = task::load(tx, &attach.task_id)?;
    if on
        .task
        .attachments
        .iter()
        .any(|attachment| attachment.filename == attach.filename)
    {
        return Err(Refusal::AttachmentExists(attach.filename.clone()).into());
    }
    let attachment = Attachment {
        filename: attach.filename.clone(),
        size: attach.size,
        content_type: attach.content_type.clone(),
        uploaded_at: tx.now,
    };
    insert(tx, on.number, &attach.id, &attachment)?;
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

/// Inserts an attachment's row.
pub(crate) fn insert(
    tx: &Tx<'_>,
    task_number: i64,
    id: &AttachmentId,
    attachment: &Attachment,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO attachments (id, task_number, filename, size, content_type, uploaded_at)
             VALUES ($1, $2, $3, $4, $5, $6)"
        ),
        params![
            id.as_str(),
            task_number,
            attachment.filename.as_str(),
            i64::try_from(attachment.size).map_err(StoreError::inconsistent)?,
            attachment.content_type.as_str(),
            attachment.uploaded_at.as_millis(),
        ],
    )?;
    Ok(())
}

pub(crate) fn remove(
    tx: &mut Tx<'_>,
    task_id: &TaskId,
    filename: &str,
) -> Result<(Task, AttachmentId)> {
    let mut on = task::load(tx, task_id)?;
    let place = on
        .task
        .attachments
        .iter()
        .position(|attachment| attachment.filename.as_str() == filename)
        .ok_or_else(|| Refusal::AttachmentNotFound(filename.to_owned()))?;
    tx.execute(
        sql!("DELETE FROM attachments WHERE task_number = $1 AND filename = $2"),
        params![on.number, filename],
    )?;
    tasks::touch(tx, on.number)?;
    let filename = on.task.attachments.remove(place).filename;
    let removed = EventKind::AttachmentRemoved { filename };
    history::record(tx, on.on(), None, removed)?;
    on.task.updated_at = tx.now;
    Ok((on.task, on.attachment_ids.remove(place)))
}

pub(crate) fn find(
    view: &View<'_>,
    task_id: &TaskId,
    filename: &str,
) -> Result<Option<(AttachmentId, Attachment)>> {
    view.row(
        sql!(
            "SELECT a.id, a.filename, a.size, a.content_type, a.uploaded_at
               FROM attachments a
               JOIN tasks t ON t.number = a.task_number
              WHERE t.id = $1 AND a.filename = $2"
        ),
        params![task_id.as_str(), filename],
        |row| {
            let attachment = Attachment {
                filename: row.parsed(1)?,
                size: u64::try_from(row.integer(2)?).map_err(StoreError::inconsistent)?,
                content_type: row.text(3)?,
                uploaded_at: row.timestamp(4)?,
            };
            Ok((row.parsed(0)?, attachment))
        },
    )
}
