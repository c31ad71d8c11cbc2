//! Accepts connections until the server stops.

use std::io::ErrorKind;
use std::time::Duration;

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

use super::places::{Place, Places};
use super::stall::Stallable;

/// The longest time that a client may take to send the head of a request. It also ends idle keep-alive connections, so it is
/// longer than clients usually keep them.
const HEAD: Duration = Duration::from_mins(2);

/// The longest time that a client may take no byte of an answer.
const STALL: Duration = Duration::from_mins(2);

/// The longest time that running requests may take when the server stops.
const GRACE: Duration = Duration::from_secs(10);

/// The size of a connection's buffers, which an idle client of a long answer occupies. The head of a request must fit.
const BUFFER: usize = 96 * 1024;

/// Serves until `stopping` is cancelled, then finishes running requests. A connection needs a place.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    stopping: CancellationToken,
    places: Places,
) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        match accepted {
            Ok((stream, _)) => match places.take() {
                Some(place) => spawn(stream, router.clone(), &graceful, place),
                None => places.refuse(stream).await,
            },
            Err(error) => wait_after(&error).await,
        }
    }
    drop(listener);
    if tokio::time::timeout(GRACE, graceful.shutdown())
        .await
        .is_err()
    {
        tracing::warn!(
            seconds = GRACE.as_secs(),
            "requests still running at shutdown were cut off"
        );
    }
}

fn spawn(stream: TcpStream, router: Router, graceful: &GracefulShutdown, place: Place) {
    // Answers are small and a client waits for each; Nagle's algorithm would delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(
            TokioIo::new(Stallable::new(stream, STALL)),
            TowerToHyperService::new(router),
        );
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        if let Err(error) = connection.await {
            tracing::debug!(%error, "connection ended early");
        }
        drop(place);
    });
}

/// Pauses before the next accept if the server has run out of file descriptors. A client that has gone away needs no pause.
async fn wait_after(error: &std::io::Error) {
    if matches!(
        error.kind(),
        ErrorKind::ConnectionAborted | ErrorKind::ConnectionReset | ErrorKind::ConnectionRefused
    ) {
        return;
    }
    tracing::error!(%error, "cannot accept a connection");
    tokio::time::sleep(Duration::from_millis(200)).await;
}
