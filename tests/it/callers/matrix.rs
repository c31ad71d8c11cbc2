//! Every kind of caller and every operation that changes something, generated from the OpenAPI document.

use axum::body::Body;
use axum::http::{Request, header};
use chorus::domain::RunId;
use chorus::peer::{Origin, Peer};
use serde_json::{Value, json};

use crate::support::{OPERATOR_TOKEN, TestApp};

const RUN_TOKEN: &str = "the-token-of-the-run";

/// The callers that may use an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Allowed {
    /// The operator alone: it sets up Chorus, or decides for a person.
    Operator,
    /// The operator, and a run for its own agent.
    OperatorAndOwnRun,
    /// The operator, a person at this machine, and a run within its own task.
    Everybody,
    /// The operator, and a person at this machine.
    People,
    /// A run alone.
    Run,
}

use Allowed::{Everybody, Operator, OperatorAndOwnRun, People, Run};

/// The decision for each operation. A new operation needs a line here.
const DECISIONS: [(&str, Allowed); 41] = [
    ("acknowledge_mail", Everybody),
    ("announce_capabilities", OperatorAndOwnRun),
    ("approve_request", Operator),
    ("approve_requests", Operator),
    ("call_tool", Everybody),
    ("cancel_handoff", Everybody),
    ("claim_request", Everybody),
    ("complete_handoff", Everybody),
    ("create_attachment", Everybody),
    ("create_increment", Everybody),
    ("create_message", Everybody),
    ("create_request", Everybody),
    ("create_task", Everybody),
    ("create_tool", Operator),
    ("delete_agent", Operator),
    ("delete_attachment", Everybody),
    ("delete_queued_message", People),
    ("delete_tool", Operator),
    ("edit_agent", Operator),
    ("edit_task", Everybody),
    ("finish_request", Everybody),
    ("mark_mail_read", Everybody),
    ("mark_request_next", Operator),
    ("plan_task", Everybody),
    ("put_agent", Operator),
    ("put_dispatch_routes", Operator),
    ("put_tool", Operator),
    ("queue_message", Everybody),
    ("raise_alert", Everybody),
    ("renew_request_lease", Everybody),
    ("requeue_request", Everybody),
    ("resolve_alert", Operator),
    ("retry_increment", Operator),
    ("route_task", Everybody),
    ("route_task_legacy", Everybody),
    ("send_chat_message", People),
    ("send_mail", Everybody),
    ("set_task_status", Everybody),
    ("start_handoff", Everybody),
    ("start_session_handoff", Everybody),
    ("submit_report", Run),
];

/// The kinds of callers, with the token that each sends and the process that the kernel names.
const CALLERS: [&str; 6] = [
    "operator",
    "run",
    "run without its token",
    "same user",
    "other user",
    "other machine",
];

/// Returns the status that each caller gets; 0 stands for any answer but 401 and 403.
const fn expected(allowed: Allowed) -> [u16; 6] {
    match allowed {
        Operator => [0, 403, 403, 401, 401, 401],
        OperatorAndOwnRun => [0, 0, 0, 401, 401, 401],
        Everybody => [0, 0, 0, 0, 401, 401],
        People => [0, 403, 403, 0, 401, 401],
        Run => [403, 0, 0, 403, 401, 401],
    }
}

/// An operation that changes something, as the document describes it.
struct Operation {
    id: String,
    method: String,
    path: String,
    needs_token: bool,
}

fn operations() -> Vec<Operation> {
    let document: Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    let mut found = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if method != "get" {
                found.push(Operation {
                    id: operation["operationId"].as_str().unwrap().to_owned(),
                    method: method.to_uppercase(),
                    path: path.clone(),
                    needs_token: operation["security"] == json!([{ "token": [] }]),
                });
            }
        }
    }
    found.sort_by(|one, other| one.id.cmp(&other.id));
    found
}

/// An installation with a run of `developer`, which works on the task.
struct Scene {
    app: TestApp,
    task: String,
    run: RunId,
}

impl Scene {
    async fn set() -> Self {
        let app = TestApp::new().await;
        let task = app.task("Write it").await;
        let body = json!({ "agentName": "developer", "prompt": "Do it" });
        app.post(&format!("/api/tasks/{task}/handoff"), body)
            .await
            .data();
        let run = app.claim_run(RUN_TOKEN).await.identity.run_id;
        Self { app, task, run }
    }

    /// Sends an operation as a caller. A body that is not valid for the operation is refused only after the rights.
    async fn send(&self, operation: &Operation, caller: &str) -> (u16, String) {
        let path = operation
            .path
            .replace("{filename}", "a.txt")
            .replace("{tool}", "nope")
            .replace("{name}", "developer");
        let id = if path.contains("/tasks/") || path.contains("/route/") {
            &self.task
        } else {
            "nope"
        };
        let origin = match caller {
            "run without its token" => Origin::Run(self.run.clone()),
            "other user" => Origin::OtherUser,
            "other machine" => Origin::OtherMachine,
            _ => Origin::OwnUser,
        };
        let body = match operation.id.as_str() {
            "submit_report" => json!({ "result": "passed" }),
            _ => json!({}),
        };
        let mut request = Request::builder()
            .method(operation.method.as_str())
            .uri(path.replace("{id}", id))
            .header(header::HOST, "localhost")
            .extension(Peer::known(origin));
        let token = match caller {
            "operator" => Some(OPERATOR_TOKEN),
            "run" => Some(RUN_TOKEN),
            _ => None,
        };
        if let Some(token) = token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let reply = self
            .app
            .send(request.body(Body::from(body.to_string())).unwrap())
            .await;
        let text = String::from_utf8_lossy(&reply.body).into_owned();
        (reply.status.as_u16(), text)
    }
}

#[test]
fn every_operation_that_changes_something_has_a_decision() {
    let operations = operations();
    let found: Vec<_> = operations.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(found, DECISIONS.map(|(id, _)| id));
    for (operation, (id, allowed)) in operations.iter().zip(DECISIONS) {
        assert_eq!(
            operation.needs_token,
            allowed == Operator,
            "{id}: the document names the operations that need the operator's token"
        );
    }
}

#[tokio::test]
async fn every_caller_may_do_exactly_as_the_matrix_says() {
    let mut scene = Scene::set().await;
    for (operation, (id, allowed)) in operations().iter().zip(DECISIONS) {
        for (caller, expected) in CALLERS.into_iter().zip(expected(allowed)) {
            let before = scene.app.last_event().await;
            let (status, text) = scene.send(operation, caller).await;
            assert!(status < 500, "{id} by {caller}: {status} {text}");
            if expected == 0 {
                assert!(![401, 403].contains(&status), "{id} by {caller}: {text}");
                // The next caller finds everything as this one did.
                if scene.app.last_event().await != before {
                    scene = Scene::set().await;
                }
            } else {
                assert_eq!(status, expected, "{id} by {caller}: {text}");
                assert_eq!(scene.app.last_event().await, before, "{id} by {caller}");
            }
        }
    }
}

#[tokio::test]
async fn a_stranger_reads_nothing_and_gets_the_reason() {
    let app = TestApp::new().await;
    let document: Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    let paths = document["paths"].as_object().unwrap();
    let readable = paths.iter().filter(|(_, item)| item.get("get").is_some());
    for (path, _) in readable.filter(|(path, _)| *path != "/healthz") {
        for (origin, why) in [
            (Origin::OtherUser, "from another user"),
            (Origin::OtherMachine, "from another machine"),
            (Origin::Unknown, "the calling process cannot be found"),
            (Origin::LostRun, "from a process of a run"),
        ] {
            let request = Request::get(path.replace(['{', '}'], "x"))
                .header(header::HOST, "localhost")
                .extension(Peer::known(origin));
            let reply = app.send(request.body(Body::empty()).unwrap()).await;
            assert_eq!(reply.error(), (401, "UNAUTHORIZED".to_owned()), "{path}");
            let message = reply.json()["error"]["message"].to_string();
            assert!(message.contains(why), "{path}: {message}");
        }
    }
}
