//! API calls that change a task, as values that can be compared and sent again.

use axum::body::Body;
use axum::http::{Method, Request, header};
use serde_json::{Value, json};

#[derive(Debug, Clone, PartialEq)]
pub enum Verb {
    Create {
        description: String,
    },
    Start {
        agent: &'static str,
        prompt: String,
        reason: Option<String>,
        resume: bool,
    },
    Complete {
        output: String,
    },
    Cancel {
        reason: Option<String>,
    },
    SetStatus {
        status: Value,
    },
    Plan {
        change: Value,
    },
    Queue {
        content: String,
    },
    Attach {
        filename: &'static str,
        bytes: String,
    },
    Detach {
        filename: &'static str,
    },
}

/// A call about a task, with an optional idempotency key.
#[derive(Debug, Clone, PartialEq)]
pub struct Call {
    pub task: String,
    pub verb: Verb,
    pub key: Option<String>,
}

impl Call {
    /// Returns the method, the path and the body.
    pub fn parts(&self) -> (Method, String, String) {
        let (method, path, body) = match &self.verb {
            Verb::Create { description } => (
                Method::POST,
                String::new(),
                json!({ "description": description }).to_string(),
            ),
            Verb::Start {
                agent,
                prompt,
                reason,
                resume,
            } => {
                let body = json!({ "agentName": agent, "prompt": prompt, "reason": reason, "resume": resume });
                (
                    Method::POST,
                    format!("/{}/handoff", self.task),
                    body.to_string(),
                )
            }
            Verb::Complete { output } => (
                Method::PUT,
                format!("/{}/handoff/complete", self.task),
                json!({ "output": output }).to_string(),
            ),
            Verb::Cancel { reason: None } => (
                Method::POST,
                format!("/{}/handoff/cancel", self.task),
                String::new(),
            ),
            Verb::Cancel { reason } => (
                Method::POST,
                format!("/{}/handoff/cancel", self.task),
                json!({ "reason": reason }).to_string(),
            ),
            Verb::SetStatus { status } => (
                Method::PUT,
                format!("/{}/status", self.task),
                json!({ "status": status }).to_string(),
            ),
            Verb::Plan { change } => (
                Method::PUT,
                format!("/{}/planning", self.task),
                change.to_string(),
            ),
            Verb::Queue { content } => (
                Method::POST,
                format!("/{}/queue", self.task),
                json!({ "content": content }).to_string(),
            ),
            Verb::Attach { filename, bytes } => (
                Method::POST,
                format!("/{}/attachments?filename={filename}", self.task),
                bytes.clone(),
            ),
            Verb::Detach { filename } => (
                Method::DELETE,
                format!("/{}/attachments/{filename}", self.task),
                String::new(),
            ),
        };
        (method, format!("/api/tasks{path}"), body)
    }

    /// Builds the HTTP request.
    pub fn request(&self) -> Request<Body> {
        let (method, path, body) = self.parts();
        let mut request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost");
        if let Some(key) = &self.key {
            request = request.header("idempotency-key", key);
        }
        request.body(body.into()).unwrap()
    }
}
