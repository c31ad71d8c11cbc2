//! A cheap HTTP client, so that the measurement is of the server.

use std::net::SocketAddr;

use http_body_util::{BodyExt, Full};
use hyper::body::{Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::{Method, Request, Response, Uri, header};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::server::DataDir;

const START: &[u8] = br#"{"agentName":"developer","prompt":"Make the failing test pass, and say in two sentences what was wrong with it."}"#;
const COMPLETE: &[u8] =
    br#"{"output":"The fixture was shared between tests and one of them changed it. Each test makes its own now."}"#;

/// The URLs of a task's hand-offs.
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

pub fn uri(path: &str) -> Uri {
    path.parse().expect("ids are valid in a path")
}

/// A keep-alive connection.
pub struct Connection {
    sender: SendRequest<Full<Bytes>>,
    token: Option<String>,
}

impl Connection {
    pub async fn open(address: SocketAddr) -> Self {
        let stream = TcpStream::connect(address)
            .await
            .expect("the server listens");
        stream.set_nodelay(true).expect("it is a TCP socket");
        let (sender, connection) = http1::handshake(TokioIo::new(stream))
            .await
            .expect("HTTP/1.1 has no handshake");
        // An error is also reported by the current request.
        tokio::spawn(async move { drop(connection.await) });
        Self {
            sender,
            token: None,
        }
    }

    /// Sends the operator's token with every request.
    pub fn with_token_of(mut self, data_dir: &DataDir) -> Self {
        let token = std::fs::read_to_string(data_dir.path().join("operator.token"));
        self.token = Some(token.expect("the server has written it").trim().to_owned());
        self
    }

    pub async fn hand_off(&mut self, doors: &Doors) {
        self.send(Method::POST, &doors.start, Bytes::from_static(START))
            .await;
        self.complete(doors).await;
    }

    pub async fn complete(&mut self, doors: &Doors) {
        self.put(&doors.complete, Bytes::from_static(COMPLETE))
            .await;
    }

    pub async fn put(&mut self, path: &Uri, body: Bytes) {
        self.send(Method::PUT, path, body).await;
    }

    pub async fn start(&mut self, doors: &Doors) -> String {
        self.post(&doors.start, Bytes::from_static(START)).await
    }

    pub async fn cancel(&mut self, doors: &Doors) {
        self.send(Method::POST, &doors.cancel, Bytes::from_static(b"{}"))
            .await;
    }

    pub async fn get(&mut self, path: &Uri) {
        self.send(Method::GET, path, Bytes::new()).await;
    }

    pub async fn post(&mut self, path: &Uri, body: Bytes) -> String {
        text(self.answer(Method::POST, path, body).await).await
    }

    pub async fn text(&mut self, path: &str) -> String {
        text(self.answer(Method::GET, &uri(path), Bytes::new()).await).await
    }

    /// Sends a request, and reads and drops the answer.
    async fn send(&mut self, method: Method, path: &Uri, body: Bytes) {
        let mut answer = self.answer(method, path, body).await.into_body();
        while let Some(frame) = answer.frame().await {
            frame.expect("the answer is complete");
        }
    }

    async fn answer(&mut self, method: Method, path: &Uri, body: Bytes) -> Response<Incoming> {
        let mut request = Request::builder();
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request
            .method(method)
            .uri(path.clone())
            .header(header::HOST, "localhost")
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))
            .expect("all parts are valid");
        self.sender.ready().await.expect("the connection is open");
        let response = self.sender.send_request(request).await;
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
    let bytes = body.expect("the answer is complete").to_bytes();
    String::from_utf8(bytes.into()).expect("it is text")
}

/// Sums the values of a metric over all labels.
pub fn metric(page: &str, name: &str) -> f64 {
    page.lines()
        .filter_map(|line| line.rsplit_once(' '))
        .filter(|(key, _)| key.split('{').next() == Some(name))
        .filter_map(|(_, value)| value.parse::<f64>().ok())
        .sum()
}
