//! Bodies that stop, that are large, or that no handler reads

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::http::Request;
use chorus::config::Limits;
use futures_util::stream;
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::support::TestApp;

/// A body that the test sends piece by piece; it ends when the sender is dropped. A piece is sent when the one before it was
/// read.
fn piecewise() -> (mpsc::Sender<Bytes>, Body) {
    let (sender, receiver) = mpsc::channel(1);
    let pieces = stream::unfold(receiver, |mut receiver| async {
        let piece: Bytes = receiver.recv().await?;
        Some((Ok::<_, Infallible>(piece), receiver))
    });
    (sender, Body::from_stream(pieces))
}

fn new_task(body: impl Into<Body>) -> Request<Body> {
    let request = Request::post("/api/tasks").header("host", "localhost");
    request.body(body.into()).unwrap()
}

#[tokio::test]
async fn a_body_that_stops_is_refused() {
    let app = TestApp::with_limits(Limits {
        body_pause: Duration::from_millis(10),
        ..Limits::default()
    })
    .await;
    let (sender, body) = piecewise();
    sender.send(Bytes::from_static(b"{\"descr")).await.unwrap();
    let reply = app.send(new_task(body)).await;
    assert_eq!(reply.error(), (408, "REQUEST_TIMEOUT".to_owned()));
    drop(sender);
}

#[tokio::test]
async fn a_body_that_never_ends_is_refused() {
    let app = TestApp::with_limits(Limits {
        body: 1000,
        body_time: Duration::from_millis(100),
        ..Limits::default()
    })
    .await;
    // A byte now and then: no pause is too long, but the whole is.
    let slow = stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(5)).await;
        Some((Ok::<_, Infallible>(Bytes::from_static(b" ")), ()))
    });
    let reply = app.send(new_task(Body::from_stream(slow))).await;
    assert_eq!(reply.error(), (408, "REQUEST_TIMEOUT".to_owned()));
}

#[tokio::test]
async fn large_bodies_share_a_budget_and_small_ones_need_none() {
    let app = TestApp::with_limits(Limits {
        bodies: 1024 * 1024,
        ..Limits::default()
    })
    .await;
    let large = Bytes::from(format!("{{\"description\": \"{}\"}}", "x".repeat(500_000)));
    let (first, body) = piecewise();
    let first_answer = app.send_in_background(new_task(body));
    // The first body takes the whole budget with its second piece, because it does not say how long it is.
    let mut end = large.clone();
    for piece in [end.split_to(50_000), end.split_to(50_000), end.split_to(1)] {
        first.send(piece).await.unwrap();
    }
    drop(first.reserve().await.unwrap());
    let second_answer = app.send_in_background(new_task(large));
    let small = app
        .post("/api/tasks", json!({ "description": "small" }))
        .await;
    assert_eq!(small.status, 201);
    assert!(!second_answer.is_finished());
    first.send(end).await.unwrap();
    drop(first);
    assert_eq!(first_answer.await.unwrap().status, 201);
    assert_eq!(second_answer.await.unwrap().status, 201);
}

#[tokio::test]
async fn a_client_that_sends_everything_first_reads_the_refusal() {
    let app = TestApp::with_limits(Limits {
        body: 1000,
        ..Limits::default()
    })
    .await;
    let address = app.listen().await;
    let address = address.strip_prefix("http://").unwrap();
    // More than the buffers of the sockets hold.
    let body = vec![b'x'; 20 * 1024 * 1024];
    for (path, status) in [("/api/tasks", "413"), ("/api/nothing", "404")] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
        stream.write_all(&body).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn a_client_that_asks_first_is_refused_at_once() {
    let app = TestApp::with_limits(Limits {
        body: 1000,
        ..Limits::default()
    })
    .await;
    let is_read = Arc::new(AtomicBool::new(false));
    let body = stream::poll_fn({
        let is_read = is_read.clone();
        move |_| {
            is_read.store(true, Ordering::Relaxed);
            Poll::Ready(Some(Ok::<_, Infallible>(Bytes::from_static(b"x"))))
        }
    });
    let mut request = new_task(Body::from_stream(body));
    let headers = request.headers_mut();
    headers.insert("expect", "100-continue".parse().unwrap());
    headers.insert("content-length", "2000".parse().unwrap());
    let reply = app.send(request).await;
    assert_eq!(reply.error(), (413, "TOO_LARGE".to_owned()));
    assert!(!is_read.load(Ordering::Relaxed));
}
