//! Accepts connections until the server stops.

use std::io::ErrorKind;
use std::time::Duration;

use axum::Router;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixListener, UnixStream};
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use super::places::{Place, Places};
use super::stall::Stallable;
use crate::peer::Peer;

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
    local: Option<UnixListener>,
    router: Router,
    stopping: CancellationToken,
    places: Places,
) {
    let graceful = GracefulShutdown::new();
    loop {
        let accepted = tokio::select! {
            () = stopping.cancelled() => break,
            accepted = listener.accept() => accepted.map(|(stream, _)| Either::Left(stream)),
            accepted = accept_local(local.as_ref()) => accepted.map(Either::Right),
        };
        match (accepted, places.take()) {
            (Ok(Either::Left(stream)), Some(place)) => {
                let peer = tcp_peer(&stream);
                spawn(stream, peer, router.clone(), &graceful, place);
            }
            (Ok(Either::Right(stream)), Some(place)) => {
                let peer = unix_peer(&stream);
                spawn(stream, peer, router.clone(), &graceful, place);
            }
            (Ok(stream), None) => places.refuse(stream).await,
            (Err(error), place) => {
                drop(place);
                wait_after(&error).await;
            }
        }
    }
    drop((listener, local));
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

/// Accepts a connection to the Unix socket; without one, waits for ever.
async fn accept_local(listener: Option<&UnixListener>) -> std::io::Result<UnixStream> {
    match listener {
        Some(listener) => listener.accept().await.map(|(stream, _)| stream),
        None => std::future::pending().await,
    }
}

/// Describes the client of a new TCP connection, or `None` if it has gone away.
fn tcp_peer(stream: &TcpStream) -> Option<Peer> {
    // Answers are small and a client waits for each; Nagle's algorithm would delay them.
    if let Err(error) = stream.set_nodelay(true) {
        tracing::debug!(%error, "cannot set TCP_NODELAY");
    }
    let (local, remote) = (stream.local_addr().ok()?, stream.peer_addr().ok()?);
    Some(Peer::tcp(local, remote))
}

fn unix_peer(stream: &UnixStream) -> Option<Peer> {
    let client = stream.peer_cred().ok()?;
    Some(Peer::unix(client.uid(), client.pid()))
}

/// Serves a connection. Every request carries the connection's peer.
fn spawn(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    peer: Option<Peer>,
    router: Router,
    graceful: &GracefulShutdown,
    place: Place,
) {
    let router = TowerToHyperService::new(router);
    let service = service_fn(move |mut request: Request<Incoming>| {
        if let Some(peer) = &peer {
            request.extensions_mut().insert(peer.clone());
        }
        router.call(request)
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(BUFFER)
        .serve_connection(TokioIo::new(Stallable::new(stream, STALL)), service);
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
