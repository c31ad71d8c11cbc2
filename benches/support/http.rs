//! A client that costs little, so that what is measured is the server.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

const START: &[u8] = br#"{"agentName":"developer","prompt":"Make the failing test pass, and say in two sentences what was wrong with it."}"#;
const COMPLETE: &[u8] =
    br#"{"output":"The fixture was shared between tests and one of them changed it. Each test makes its own now."}"#;

/// Where a task is handed off.
pub struct Doors {
    start: Uri,
    complete: Uri,
    cancel: Uri,
}

impl Doors {
    pub fn of(task_id: &str) -> Self {
        Self {
            start: uri(&format!("/api/tasks/{task_id}/handoff")),
            complete: uri(&format!("/api/tasks/{task_id}/handoff/complete")),
            cancel: uri(&format!("/api/tasks/{task_id}/handoff/cancel")),
        }
    }
}

/// Reads a path.
pub fn uri(path: &str) -> Uri {
    path.parse().expect("ids are legal in a path")
}

/// One connection that is kept alive.
pub struct Connection(SendRequest<Full<Bytes>>);

impl Connection {
    pub async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address)
            .await
            .expect("the server listens");
        stream.set_nodelay(true).expect("it is a TCP socket");
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("HTTP/1.1 needs no shaking of hands");
        // An error here is one of the request that is under way, which reports it.
        tokio::spawn(async move { drop(connection.await) });
        Self(sender)
    }

    /// Starts and completes a hand-off.
    pub async fn hand_off(&mut self, doors: &Doors) {
        self.send(Method::POST, &doors.start, Bytes::from_static(START))
            .await;
        self.complete(doors).await;
    }

    /// Completes a hand-off.
    pub async fn complete(&mut self, doors: &Doors) {
        self.put(&doors.complete, Bytes::from_static(COMPLETE))
            .await;
    }

    /// Puts a body.
    pub async fn put(&mut self, path: &Uri, body: Bytes) {
        self.send(Method::PUT, path, body).await;
    }

    /// Starts a hand-off. Returns the answer.
    pub async fn start(&mut self, doors: &Doors) -> String {
        self.post(&doors.start, Bytes::from_static(START)).await
    }

    /// Cancels a hand-off.
    pub async fn cancel(&mut self, doors: &Doors) {
        self.send(Method::POST, &doors.cancel, Bytes::from_static(b"{}"))
            .await;
    }

    pub async fn get(&mut self, path: &Uri) {
        self.send(Method::GET, path, Bytes::new()).await;
    }

    /// Posts a body. Returns the answer.
    pub async fn post(&mut self, path: &Uri, body: Bytes) -> String {
        text(self.answer(Method::POST, path, body).await).await
    }

    /// Reads a page as text.
    pub async fn text(&mut self, path: &str) -> String {
        text(self.answer(Method::GET, &uri(path), Bytes::new()).await).await
    }

    /// Sends a request, and reads the answer without looking at it.
    async fn send(&mut self, method: Method, path: &Uri, body: Bytes) {
        let mut answer = self.answer(method, path, body).await.into_body();
        while let Some(frame) = answer.frame().await {
            frame.expect("the answer is whole");
        }
    }

    async fn answer(&mut self, method: Method, path: &Uri, body: Bytes) -> Response<Incoming> {
        let request = Request::builder()
            .method(method)
            .uri(path.clone())
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .expect("all parts are legal");
        self.0.ready().await.expect("the connection is open");
        let response = self.0.send_request(request).await;
        let response = response.expect("the server answers");
        assert!(
            response.status().is_success(),
            "{path}: {}",
            response.status()
        );
        response
    }
}

async fn text(response: Response<Incoming>) -> String {
    let body = response.into_body().collect().await;
    let bytes = body.expect("the answer is whole").to_bytes();
    String::from_utf8(bytes.into()).expect("it is text")
}

/// Sums up what the metrics say under a name, whatever their labels.
pub fn metric(page: &str, name: &str) -> f64 {
    page.lines()
        .filter_map(|line| line.rsplit_once(' '))
        .filter(|(key, _)| key.split('{').next() == Some(name))
        .filter_map(|(_, value)| value.parse::<f64>().ok())
        .sum()
}
