//! Streams the raw output of a run.

use std::path::PathBuf;

use bytes::Bytes;
use futures_util::stream::{self, Stream};
use tokio::io::{AsyncReadExt, AsyncSeekExt};
use tokio::sync::watch as signal;
use tokio_util::sync::CancellationToken;

use super::Runner;
use super::watch::Watch;
use crate::domain::RunId;
use crate::supervisor::RunFiles;

const PIECE: usize = 64 * 1024;

/// A stream of a run's output.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    serde::Serialize,
    serde::Deserialize,
    utoipa::ToSchema,
)]
#[serde(rename_all = "camelCase")]
pub enum LogStream {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
    /// The prompt as the agent got it on standard input.
    Prompt,
}

impl LogStream {
    pub fn file(self, files: &RunFiles) -> PathBuf {
        match self {
            Self::Stdout => files.stdout(),
            Self::Stderr => files.stderr(),
            Self::Prompt => files.prompt(),
        }
    }
}

struct Following {
    file: tokio::fs::File,
    watch: Watch,
    gone: Option<signal::Receiver<bool>>,
    stopping: CancellationToken,
}

impl Runner {
    /// Streams the output of a run from an offset on until its process has ended.
    pub async fn follow_log(
        &self,
        run_id: &RunId,
        log: LogStream,
        from: u64,
    ) -> std::io::Result<impl Stream<Item = std::io::Result<Bytes>> + Send + use<>> {
        let files = self.files(run_id);
        let path = log.file(&files);
        let watch = self.0.watcher.watch(&path)?;
        let mut file = super::open_log(&path)?;
        file.seek(std::io::SeekFrom::Start(from)).await?;
        let gone = self.end_signal(run_id).await;
        Ok(stream::unfold(
            Following {
                file,
                watch,
                gone,
                stopping: self.0.stopping.clone(),
            },
            next_piece,
        ))
    }
}

async fn next_piece(mut following: Following) -> Option<(std::io::Result<Bytes>, Following)> {
    loop {
        let mut piece = vec![0; PIECE];
        match following.file.read(&mut piece).await {
            Ok(0) => {
                let gone = following.gone.as_mut()?;
                let (is_gone, is_cut) = tokio::select! {
                    () = following.watch.grown() => (false, false),
                    _ = gone.wait_for(|is_gone| *is_gone) => (true, false),
                    () = following.stopping.cancelled() => (false, true),
                };
                if is_gone {
                    following.gone = None;
                }
                if is_cut {
                    // An error instead of an end: the reader has not seen everything.
                    let cut =
                        std::io::Error::other("the server is stopping; follow the log again later");
                    return Some((Err(cut), following));
                }
            }
            Ok(count) => {
                piece.truncate(count);
                return Some((Ok(piece.into()), following));
            }
            Err(error) => return Some((Err(error), following)),
        }
    }
}
