//! The raw output of a run.

use std::path::PathBuf;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use tokio::io::{AsyncReadExt, AsyncSeekExt};

use super::watch::Watch;
use super::{Runner, run_dir};
use crate::domain::RunId;
use crate::supervisor::RunFiles;

/// How much is sent at once.
const PIECE: usize = 64 * 1024;

/// Which output.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Deserialize, utoipa::ToSchema)]
#[serde(rename_all = "camelCase")]
pub enum LogStream {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
}

impl LogStream {
    /// Returns the file in a run directory.
    pub fn file(self, files: &RunFiles) -> PathBuf {
        match self {
            Self::Stdout => files.stdout(),
            Self::Stderr => files.stderr(),
        }
    }
}

struct Following {
    file: tokio::fs::File,
    watch: Watch,
    released: std::pin::Pin<Box<dyn Future<Output = std::io::Result<()>> + Send>>,
    is_over: bool,
}

impl Runner {
    /// Sends the output of a run from a place on, and what is added to it, until its process is gone.
    pub async fn follow_log(
        &self,
        run_id: &RunId,
        log: LogStream,
        from: u64,
    ) -> std::io::Result<impl Stream<Item = std::io::Result<Bytes>> + Send + use<>> {
        let files = self.files(run_id);
        let path = log.file(&files);
        let watch = self.0.watcher.watch(&path)?;
        let mut file = tokio::fs::File::open(path).await?;
        file.seek(std::io::SeekFrom::Start(from)).await?;
        let is_over = !run_dir::is_held(&files);
        let released = Box::pin(run_dir::until_released(files));
        Ok(stream::unfold(
            Following {
                file,
                watch,
                released,
                is_over,
            },
            next_piece,
        ))
    }
}

async fn next_piece(mut following: Following) -> Option<(std::io::Result<Bytes>, Following)> {
    loop {
        let mut piece = vec![0; PIECE];
        match following.file.read(&mut piece).await {
            Ok(0) if following.is_over => return None,
            Ok(0) => tokio::select! {
                () = following.watch.grown() => {}
                _ = &mut following.released => following.is_over = true,
            },
            Ok(count) => {
                piece.truncate(count);
                return Some((Ok(piece.into()), following));
            }
            Err(error) => return Some((Err(error), following)),
        }
    }
}
