//! The limit of connections, and what clients beyond it see

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::support::{Chorus, Sandbox, Server};

/// A keep-alive connection that sends one request at a time.
struct Connection(BufReader<TcpStream>);

impl Connection {
    async fn open(server: &Server) -> Self {
        let address = server.url.strip_prefix("http://").unwrap();
        Self(BufReader::new(TcpStream::connect(address).await.unwrap()))
    }

    /// Sends a request. Returns the status and the body of the answer.
    async fn send(&mut self, method: &str, path: &str, body: &str) -> (u16, Value) {
        let length = body.len();
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n{body}"
        );
        self.0
            .get_mut()
            .write_all(request.as_bytes())
            .await
            .unwrap();
        let (mut status, mut length, mut line) = (0, 0, String::new());
        while self.0.read_line(&mut line).await.unwrap() > 0 && line != "\r\n" {
            if let Some(rest) = line.strip_prefix("HTTP/1.1 ") {
                status = rest[..3].parse().unwrap();
            } else if let Some(rest) = line.strip_prefix("content-length: ") {
                length = rest.trim().parse().unwrap();
            }
            line.clear();
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).await.unwrap();
        (status, serde_json::from_slice(&body).unwrap_or_default())
    }
}

/// Starts a server that may open 256 files.
fn serve(sandbox: &Sandbox) -> Server {
    let command = Chorus::new(["serve", "--port", "0", "--max-runs", "2"]);
    Server::spawn(&sandbox.data_dir, command.with_open_files(256))
}

#[tokio::test]
async fn clients_beyond_the_limit_are_refused_and_agents_still_run() {
    let sandbox = Sandbox::new().with_agent("poet", "echo done");
    let server = serve(&sandbox);
    let mut open = Vec::new();
    let refused = loop {
        let mut connection = Connection::open(&server).await;
        let (status, body) = connection.send("GET", "/healthz", "").await;
        match status {
            200 => open.push(connection),
            _ => break (status, body),
        }
        assert!(open.len() < 256, "no client was refused");
    };
    let message = format!(
        "The server has {} open connections and accepts no more; close some and try again, or raise the limit of open files (ulimit -n) and restart the server",
        open.len()
    );
    assert_eq!(
        refused,
        (
            503,
            json!({ "error": { "code": "BUSY", "message": message } })
        )
    );
    // All places are taken, and an agent still has what it needs.
    let client = &mut open[0];
    let (_, task) = client
        .send("POST", "/api/tasks", r#"{"description":"d"}"#)
        .await;
    let task = task["data"]["id"].as_str().unwrap().to_owned();
    let start = json!({ "agentName": "poet", "prompt": "p" }).to_string();
    let (status, _) = client
        .send("POST", &format!("/api/tasks/{task}/handoff"), &start)
        .await;
    assert_eq!(status, 200);
    let path = format!("/api/tasks/{task}?wait=idle&timeout=120");
    let (_, task) = client.send("GET", &path, "").await;
    assert_eq!(task["data"]["agentChain"][0]["output"], "done");
    // A place that becomes free is given to the next client.
    open.pop();
    loop {
        let mut connection = Connection::open(&server).await;
        if let (200, _) = connection.send("GET", "/healthz", "").await {
            break;
        }
    }
}
