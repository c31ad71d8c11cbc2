//! Attachments of tasks.
//!
//! The bytes are synced to disk before the row is inserted, and removed after the row is deleted. A crash in between
//! leaves an orphaned folder, never a row without its bytes.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::{Engine, Result};
use crate::domain::{
    Attachment, AttachmentFolder, AttachmentId, Filename, Idempotency, Task, TaskId, Text,
};
use crate::error::Error;
use crate::ledger::task::{self, Attach};

/// An uploaded file.
#[derive(Debug, Clone)]
pub struct Upload {
    pub filename: Filename,
    pub content_type: Text,
    pub bytes: Bytes,
}

impl Engine {
    pub async fn attach(
        &self,
        task_id: TaskId,
        upload: Upload,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        // Checked first, so that an unknown task leaves no folder behind.
        self.task(&task_id).await?;
        let id = AttachmentId::new();
        let folder = self.options.data_dir.upload(&AttachmentFolder {
            task_id: task_id.clone(),
            id: id.clone(),
        });
        let attach = Attach {
            task_id,
            id: id.clone(),
            filename: upload.filename.clone(),
            size: upload.bytes.len() as u64,
            content_type: upload.content_type,
        };
        let written = blocking({
            let folder = folder.clone();
            move || write_upload(&folder, &upload.filename, &upload.bytes)
        });
        if let Err(error) = written.await {
            // Half a file would occupy room on a full disk.
            remove_upload(folder).await;
            return Err(error);
        }
        let attached = self.write(once, move |tx| task::attach(tx, &attach)).await;
        let is_ours = attached.as_ref().is_ok_and(|attached| attached.id == id);
        if !is_ours {
            remove_upload(folder).await;
        }
        Ok(attached?.task)
    }

    /// Finds an attachment and the path of its bytes.
    pub async fn attachment(
        &self,
        task_id: &TaskId,
        filename: &str,
    ) -> Result<(Attachment, PathBuf)> {
        let found = self.read({
            let (task_id, filename) = (task_id.clone(), filename.to_owned());
            move |view| task::attachment(view, &task_id, &filename)
        });
        let (folder, attachment) = found.await?;
        let path = self
            .options
            .data_dir
            .upload(&folder)
            .join(attachment.filename.as_str());
        if tokio::fs::try_exists(&path).await.map_err(Error::io)? {
            Ok((attachment, path))
        } else {
            tracing::error!(%task_id, filename, path = %path.display(), "attachment is missing on disk; restore it from a backup");
            Err(Error::NotFound(format!(
                "Attachment {filename} is missing on disk; restore it from a backup, or delete the attachment and upload it again"
            )))
        }
    }

    pub async fn detach(
        &self,
        task_id: TaskId,
        filename: String,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        let detached = self
            .write(once, move |tx| task::detach(tx, &task_id, &filename))
            .await?;
        if let Some(folder) = detached.unused {
            remove_upload(self.options.data_dir.upload(&folder)).await;
        }
        Ok(detached.task)
    }
}

/// Writes a file into its own new folder, and syncs the file and the folders.
pub(super) fn write_upload(
    folder: &Path,
    filename: &Filename,
    bytes: &[u8],
) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = File::create_new(folder.join(filename.as_str()))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    // The attachment's folder, the task's folder and the uploads folder may all be new, so each parent is synced too.
    for folder in folder.ancestors().take(4) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

async fn remove_upload(folder: PathBuf) {
    let removed = tokio::fs::remove_dir_all(&folder).await;
    // A repeated request finds the folder already removed.
    if let Err(error) = removed
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(%error, folder = %folder.display(), "cannot remove an unused attachment; delete the folder by hand");
    }
}

async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(run)
        .await
        .map_err(Error::internal)?
        .map_err(Error::io)
}
