//! The table `attachments`. Tasks are loaded together with their attachments: see [`tasks`](super::tasks).

use crate::domain::{
    Attachment, AttachmentFolder, AttachmentId, Filename, TaskId, Text, Timestamp,
};
use crate::store::{FromRow, Result, Statement, StoreError, Tx, View, columns, params, sql};

columns! {
    struct AttachmentRow {
        folder_task_id: TaskId = "coalesce((SELECT f.id FROM tasks f WHERE f.number = a.stored_task_number), t.id)",
        folder_id: AttachmentId = "coalesce(a.stored_id, a.id)",
        filename: Filename = "a.filename",
        size: u64 = "a.size",
        content_type: Text = "a.content_type",
        uploaded_at: Timestamp = "a.uploaded_at",
    }
}

pub fn find(
    view: &View<'_>,
    task_id: &TaskId,
    filename: &str,
) -> Result<Option<(AttachmentFolder, Attachment)>> {
    const ONE: Statement<2> = sql!(
        "SELECT ",
        AttachmentRow::COLUMNS,
        " FROM attachments a JOIN tasks t ON t.number = a.task_number WHERE t.id = $1 AND a.filename = $2"
    );
    view.row(ONE, params![task_id, filename], |row| {
        let row = AttachmentRow::from_row(row)?;
        let attachment = Attachment {
            filename: row.filename,
            size: row.size,
            content_type: row.content_type,
            uploaded_at: row.uploaded_at,
        };
        let folder = AttachmentFolder {
            task_id: row.folder_task_id,
            id: row.folder_id,
        };
        Ok((folder, attachment))
    })
}

/// Inserts an attachment. `stored` is the folder of its bytes, if that is not its own.
pub fn insert(
    tx: &Tx<'_>,
    task_number: i64,
    id: &AttachmentId,
    attachment: &Attachment,
    stored: Option<&AttachmentFolder>,
) -> Result<()> {
    tx.insert(
        sql!(
            "INSERT INTO attachments (id, task_number, filename, size, content_type, uploaded_at, stored_task_number, stored_id)
             VALUES ($1, $2, $3, $4, $5, $6, (SELECT number FROM tasks WHERE id = $7), $8)"
        ),
        params![
            id,
            task_number,
            attachment.filename,
            i64::try_from(attachment.size).map_err(StoreError::inconsistent)?,
            attachment.content_type,
            attachment.uploaded_at,
            stored.map(|folder| &folder.task_id),
            stored.map(|folder| &folder.id),
        ],
    )?;
    Ok(())
}

/// Whether an attachment uses the bytes in the folder of this id.
pub fn uses_bytes(view: &View<'_>, folder_id: &AttachmentId) -> Result<bool> {
    view.has(
        sql!("SELECT 1 FROM attachments WHERE id = $1 AND stored_id IS NULL UNION ALL SELECT 1 FROM attachments WHERE stored_id = $1"),
        params![folder_id],
    )
}

pub fn delete(tx: &Tx<'_>, task_number: i64, filename: &str) -> Result<()> {
    tx.execute(
        sql!("DELETE FROM attachments WHERE task_number = $1 AND filename = $2"),
        params![task_number, filename],
    )?;
    Ok(())
}
