//! The places for connections: a limit below that of file descriptors.
//!
//! # How it works
//! Clients must not take the descriptors that the database, the runs and their logs need. So the number of connections is
//! limited, and so is the number of files that are sent at the same time. A client beyond the limit is told so with a 503 and
//! disconnected; a few descriptors are set aside for these answers.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::App;
use super::error::{ErrorAnswer, ErrorBody};
use crate::Error;

/// The most clients that are being refused at the same time; more clients wait to be accepted.
const REFUSED_AT_ONCE: usize = 16;

/// The time that a refused client has to read the answer.
const FAREWELL: Duration = Duration::from_secs(1);

/// The descriptors of the database, the listeners, the watchers and the runtime.
const OF_THE_SERVER: usize = 64;

/// The descriptors of one run: its log, lock, pipe and process, and those that it needs for a moment while it starts.
const OF_A_RUN: usize = 12;

/// The share of the descriptors that clients always have, however low the limit is.
const LEAST_SHARE: usize = 4;

/// The number of connections that leave enough descriptors for `max_runs` runs and `files` files that are being sent.
pub fn most_connections(descriptors: usize, max_runs: usize, files: usize) -> usize {
    let reserve = OF_THE_SERVER + max_runs * OF_A_RUN + files + REFUSED_AT_ONCE;
    descriptors
        .saturating_sub(reserve)
        .max(descriptors / LEAST_SHARE)
}

/// The places for connections. Clones share them.
#[derive(Debug, Clone)]
pub struct Places {
    most: usize,
    free: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
}

/// A connection's place, free again when it is dropped.
pub(super) type Place = OwnedSemaphorePermit;

impl Places {
    pub fn new(most: usize) -> Self {
        let most = most.min(Semaphore::MAX_PERMITS);
        Self {
            most,
            free: Arc::new(Semaphore::new(most)),
            refusals: Arc::new(Semaphore::new(REFUSED_AT_ONCE)),
        }
    }

    pub(super) fn take(&self) -> Option<Place> {
        self.free.clone().try_acquire_owned().ok()
    }

    /// Refuses a client in the background. Waits if too many clients are being refused.
    pub(super) async fn refuse(
        &self,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) {
        metrics::counter!("chorus_connections_refused_total").increment(1);
        let Ok(telling) = self.refusals.clone().acquire_owned().await else {
            return;
        };
        let answer = full(self.most);
        tokio::spawn(async move {
            // A client that has gone away, or does not read, is not worth more time.
            let _ = tokio::time::timeout(FAREWELL, tell(stream, &answer)).await;
            drop(telling);
        });
    }
}

impl App {
    /// Takes one of the places for files that are being sent.
    pub(super) fn take_file(&self) -> Result<Place, Error> {
        self.files.clone().try_acquire_owned().map_err(|_| {
            let most = self.engine.limits().files;
            Error::Busy(format!(
                "The server is sending {most} files and logs; close some and try again"
            ))
        })
    }
}

/// Keeps a place for as long as the stream lives.
pub(super) fn keeping<T>(
    place: Place,
    stream: impl Stream<Item = T> + Send + 'static,
) -> impl Stream<Item = T> + Send + 'static {
    stream.map(move |item| {
        let _kept = &place;
        item
    })
}

/// Sends an answer, and reads on until the client is done: closing with unread bytes would reset the connection, and the client
/// would lose the answer.
async fn tell(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    answer: &[u8],
) -> std::io::Result<()> {
    stream.write_all(answer).await?;
    stream.shutdown().await?;
    let mut unread = [0; 1024];
    while stream.read(&mut unread).await? > 0 {}
    Ok(())
}

fn full(most: usize) -> Vec<u8> {
    let error = Error::Busy(format!(
        "The server has {most} open connections and accepts no more; close some and try again, or raise the limit of open files (ulimit -n) and restart the server"
    ));
    let body = ErrorAnswer {
        error: ErrorBody {
            code: error.code().to_owned(),
            message: error.to_string(),
            details: None,
        },
    };
    let body = serde_json::to_string(&body).expect("an error is JSON");
    let length = body.len();
    format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nretry-after: 1\r\nconnection: close\r\n\r\n{body}"
    )
    .into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_leave_descriptors_for_runs_and_files() {
        assert_eq!(most_connections(1024, 8, 128), 720);
        assert_eq!(most_connections(20_000, 8, 256), 19_568);
        // A limit below the reserve still lets some clients in.
        assert_eq!(most_connections(64, 8, 8), 16);
    }
}
