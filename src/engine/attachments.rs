//! Files of tasks.
//!
//! The bytes are in place and on disk before the row is written, and are removed after the row is gone. A crash in
//! between leaves a folder that no row names, never a row without its bytes.

use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use super::{Engine, Result};
use crate::domain::{Attachment, AttachmentId, Filename, Idempotency, Task, TaskId, Text};
use crate::error::Error;
use crate::ledger::task::{self, Attach};

/// A file that a caller sent.
#[derive(Debug, Clone)]
pub struct Upload {
    /// Its name.
    pub filename: Filename,
    /// Its media type.
    pub content_type: Text,
    /// What is in it.
    pub bytes: Bytes,
}

impl Engine {
    /// Attaches a file to a task.
    pub async fn attach(
        &self,
        task_id: TaskId,
        upload: Upload,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        // A request for a task that is not there must not leave a folder behind.
        self.task(&task_id).await?;
        let id = AttachmentId::new();
        let folder = self.options.data_dir.upload(&task_id, &id);
        let attach = Attach {
            task_id,
            id: id.clone(),
            filename: upload.filename.clone(),
            size: upload.bytes.len() as u64,
            content_type: upload.content_type,
        };
        blocking({
            let folder = folder.clone();
            move || write_upload(&folder, &upload.filename, &upload.bytes)
        })
        .await?;
        let attached = self.write(once, move |tx| task::attach(tx, &attach)).await;
        let is_ours = attached.as_ref().is_ok_and(|attached| attached.id == id);
        if !is_ours {
            remove_upload(folder).await;
        }
        Ok(attached?.task)
    }

    /// Finds a file of a task, and where its bytes are.
    pub async fn attachment(
        &self,
        task_id: &TaskId,
        filename: &str,
    ) -> Result<(Attachment, PathBuf)> {
        let found = self.read({
            let (task_id, filename) = (task_id.clone(), filename.to_owned());
            move |view| task::attachment(view, &task_id, &filename)
        });
        let (id, attachment) = found.await?;
        let path = self
            .options
            .data_dir
            .upload(task_id, &id)
            .join(attachment.filename.as_str());
        if tokio::fs::try_exists(&path)
            .await
            .map_err(Error::internal)?
        {
            Ok((attachment, path))
        } else {
            tracing::error!(%task_id, filename, path = %path.display(), "the bytes of an attachment are missing");
            Err(Error::NotFound(format!(
                "The bytes of attachment {filename} are missing on disk"
            )))
        }
    }

    /// Removes a file from a task.
    pub async fn detach(
        &self,
        task_id: TaskId,
        filename: String,
        once: Option<Idempotency>,
    ) -> Result<Task> {
        let (task, id) = self
            .write(once, move |tx| task::detach(tx, &task_id, &filename))
            .await?;
        remove_upload(self.options.data_dir.upload(&task.id, &id)).await;
        Ok(task)
    }
}

/// Writes a file in a folder of its own, down to the disk.
pub(super) fn write_upload(
    folder: &Path,
    filename: &Filename,
    bytes: &[u8],
) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let mut file = File::create_new(folder.join(filename.as_str()))?;
    file.write_all(bytes)?;
    file.sync_all()?;
    // The folder, the task's folder and the folder of all uploads may be new, and each is an entry of the one above.
    for folder in folder.ancestors().take(4) {
        File::open(folder)?.sync_all()?;
    }
    Ok(())
}

async fn remove_upload(folder: PathBuf) {
    let removed = tokio::fs::remove_dir_all(&folder).await;
    // A request that is repeated finds the folder gone already.
    if let Err(error) = removed
        && error.kind() != ErrorKind::NotFound
    {
        tracing::warn!(%error, folder = %folder.display(), "an attachment that is no longer needed stays on disk");
    }
}

async fn blocking<T: Send + 'static>(
    run: impl FnOnce() -> std::io::Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(run)
        .await
        .map_err(Error::internal)?
        .map_err(Error::internal)
}
