//! The table `attachments`. Tasks are loaded together with their attachments: see [`tasks`](super::tasks).

use crate::domain::{Attachment, AttachmentId, Filename, TaskId, Text, Timestamp};
use crate::store::{FromRow, Result, Statement, StoreError, Tx, View, columns, params, sql};

columns! {
    struct AttachmentRow {
        id: AttachmentId = "a.id",
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
) -> Result<Option<(AttachmentId, Attachment)>> {
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
        Ok((row.id, attachment))
    })
}

pub fn insert(
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
            id,
            task_number,
            attachment.filename,
            i64::try_from(attachment.size).map_err(StoreError::inconsistent)?,
            attachment.content_type,
            attachment.uploaded_at,
        ],
    )?;
    Ok(())
}

pub fn delete(tx: &Tx<'_>, task_number: i64, filename: &str) -> Result<()> {
    tx.execute(
        sql!("DELETE FROM attachments WHERE task_number = $1 AND filename = $2"),
        params![task_number, filename],
    )?;
    Ok(())
}
