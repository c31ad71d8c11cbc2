//! Rules across fields that the OpenAPI document states: what it forbids is refused, and what it allows beside that is accepted.

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::TestApp;

/// A rule of the document, with bodies that it forbids, and one that differs in nothing else and is accepted.
struct Rule {
    /// The place of the rule below `components/schemas`.
    place: &'static str,
    value: Value,
    operation: (Method, String),
    forbidden: Vec<Value>,
    allowed: Value,
}

/// Changes one field.
fn with(body: &Value, field: &str, value: Value) -> Value {
    let mut body = body.clone();
    body[field] = value;
    body
}

fn workspaces(place: &'static str, path: &str, body: &Value) -> Rule {
    let forbidden = ["/", "//.", "/a/../b", "/a/..", "/proc", "/./proc/self/root"];
    Rule {
        place,
        value: json!({ "pattern": r"^[/.]*$|(^|/)\.\.(/|$)|^[/.]*/proc(/|$)" }),
        operation: (Method::POST, path.to_owned()),
        forbidden: forbidden
            .map(|workspace| with(body, "agentWorkspace", workspace.into()))
            .into(),
        allowed: with(body, "agentWorkspace", "/tmp/..a/b../proc".into()),
    }
}

fn rules(tasks: &[String; 2], mail: &str) -> Vec<Rule> {
    let task = json!({ "description": "d" });
    let increments = json!({ "title": "t" });
    let request = json!({ "title": "t", "body": "b", "kind": "fix" });
    let sent = json!({ "to": ["qa"], "subject": "s", "body": "b" });
    let rule = json!({
        "kind": "fix", "agent": "developer", "mode": "async", "rank": 1, "batch": false, "retry": false, "maxAttempts": 1,
        "startCommand": ["start"], "pollCommand": ["poll", ""], "pollSeconds": 1,
    });
    let source =
        json!({ "sourceType": "file", "taskId": null, "file": "/a.md", "line": 1, "userId": null });
    let sources = |all: &[Value]| {
        let bodies = all.iter().cloned();
        bodies
            .map(|source| with(&request, "source", source))
            .collect()
    };
    let routes = |all: &[Value]| -> Vec<Value> {
        let bodies = all.iter();
        bodies.map(|rule| json!({ "routes": [rule] })).collect()
    };
    let agent = json!({ "provider": "codex", "specPath": "agents/qa.md" });
    vec![
        workspaces(
            "/TaskInput/properties/agentWorkspace/not",
            "/api/tasks",
            &task,
        ),
        workspaces(
            "/IncrementInput/properties/agentWorkspace/not",
            "/api/increments",
            &increments,
        ),
        workspaces(
            "/RequestInput/properties/agentWorkspace/not",
            "/api/requests",
            &request,
        ),
        Rule {
            place: "/TaskInput/properties/dependsOn/uniqueItems",
            value: json!(true),
            operation: (Method::POST, "/api/tasks".to_owned()),
            forbidden: vec![with(&task, "dependsOn", json!([tasks[0], tasks[0]]))],
            allowed: with(&task, "dependsOn", json!(tasks)),
        },
        Rule {
            place: "/StatusInput/properties/status/not/required",
            value: json!(["type", "message"]),
            operation: (Method::PUT, format!("/api/tasks/{}/status", tasks[0])),
            forbidden: ["pending", "completed"]
                .map(|status| json!({ "status": { "type": status, "message": "" } }))
                .into(),
            allowed: json!({ "status": { "type": "failed", "message": "" } }),
        },
        Rule {
            place: "/RequestInput/properties/source/allOf/1/then/properties/file/type",
            value: json!("string"),
            operation: (Method::POST, "/api/requests".to_owned()),
            forbidden: sources(&[
                with(&source, "file", Value::Null),
                with(&source, "file", " ".into()),
                with(&source, "taskId", tasks[0].as_str().into()),
                with(&source, "sourceType", "task".into()),
                with(&source, "sourceType", "person".into()),
            ]),
            allowed: with(&request, "source", source.clone()),
        },
        Rule {
            place: "/Route/allOf/0/then/properties/startCommand/type",
            value: json!("array"),
            operation: (Method::PUT, "/api/dispatch/routes".to_owned()),
            forbidden: routes(&[
                with(&rule, "startCommand", Value::Null),
                with(&rule, "pollCommand", json!([" "])),
                with(&rule, "mode", "agent".into()),
                with(&rule, "batch", true.into()),
            ]),
            allowed: json!({ "routes": [rule] }),
        },
        Rule {
            place: "/AgentChange/then/properties/specPath/pattern",
            value: json!(r"[^/]\.[mM][dD]$"),
            operation: (Method::PATCH, "/api/agents/qa".to_owned()),
            forbidden: ["", " ", ".md", "agents/.md", "agents/qa.txt"]
                .map(|path| with(&agent, "specPath", path.into()))
                .into(),
            allowed: agent.clone(),
        },
        Rule {
            place: "/MailInput/not/required",
            value: json!(["threadId", "inReplyTo"]),
            operation: (Method::POST, "/api/mail".to_owned()),
            forbidden: vec![with(
                &with(&sent, "inReplyTo", mail.into()),
                "threadId",
                "t".into(),
            )],
            allowed: with(&sent, "inReplyTo", mail.into()),
        },
    ]
}

#[tokio::test]
async fn a_rule_of_the_document_holds_and_forbids_nothing_else() {
    let app = TestApp::new().await;
    let document: Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    let schemas = &document["components"]["schemas"];
    let tasks = [app.task("a").await, app.task("b").await];
    let mail = json!({ "to": ["qa"], "subject": "s", "body": "b" });
    let mail = app.operator().post("/api/mail", mail).await.data();
    let mail = mail["id"].as_str().unwrap();
    for rule in rules(&tasks, mail) {
        assert_eq!(
            schemas.pointer(rule.place),
            Some(&rule.value),
            "{}",
            rule.place
        );
        let (method, path) = rule.operation;
        for body in rule.forbidden {
            let refused = app
                .operator()
                .send(method.clone(), &path, body.clone())
                .await;
            assert_eq!(refused.status, 400, "{path} {body}: {}", refused.line());
        }
        let accepted = app
            .operator()
            .send(method, &path, rule.allowed.clone())
            .await;
        assert!(
            accepted.status.is_success(),
            "{path} {}: {}",
            rule.allowed,
            accepted.line()
        );
    }
}

#[tokio::test]
async fn an_empty_id_in_a_query_is_neither_allowed_nor_accepted() {
    let app = TestApp::new().await;
    let task = app.task("a").await;
    let document: Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    for (path, name, url) in [
        ("/api/events", "task", "/api/events?task=".to_owned()),
        (
            "/api/tasks/{id}/handoffs",
            "after",
            format!("/api/tasks/{task}/handoffs?after="),
        ),
        ("/api/tasks", "tags", "/api/tasks?tags=".to_owned()),
    ] {
        let parameters = document["paths"][path]["get"]["parameters"]
            .as_array()
            .unwrap();
        let parameter = parameters
            .iter()
            .find(|parameter| parameter["name"] == name);
        assert_eq!(parameter.unwrap()["schema"]["minLength"], 1, "{path}");
        assert_eq!(app.get(&url).await.status, 400, "{url}");
    }
}
