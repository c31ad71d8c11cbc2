//! `PATCH /api/tasks/ID`, `/api/ready`, `/api/route`, `/api/increments` and reports: what is refused, and how.

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{OPERATOR, TestApp};

async fn agent(app: &TestApp, name: &str, roles: &[&str], skills: &[&str]) {
    let agent =
        json!({ "provider": "command", "program": "/bin/true", "roles": roles, "skills": skills });
    app.put(&format!("/api/agents/{name}"), agent).await.data();
}

#[tokio::test]
async fn what_a_task_cannot_need_is_refused_by_name_and_nothing_is_written() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let before = app.get(&format!("/api/tasks/{id}")).await.body;
    let refused = async |body: Value| app.patch(&format!("/api/tasks/{id}"), body).await.line();
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"give at least one of agentRole, specialistTags, estimatedDuration, priority, dependsOn, agentContext and handoffInstructions"}}"#);
    assert_snapshot!(refused(json!({ "agentRole": "Test ing" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentRole: must be a role such as `testing`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters"}}"#);
    assert_snapshot!(refused(json!({ "specialistTags": ["a,b"] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"specialistTags[0]: must be a skill such as `python`: one word without commas, at most 64 bytes"}}"#);
    assert_snapshot!(refused(json!({ "specialistTags": "python" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"specialistTags: invalid type: string \"python\", expected a sequence"}}"#);
    assert_snapshot!(refused(json!({ "estimatedDuration": 0 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"estimatedDuration: must be a number of minutes, 1 to 525600"}}"#);
    assert_snapshot!(refused(json!({ "priority": 9 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"priority: must be 0 (the most urgent) to 4, or P0 to P4"}}"#);
    assert_snapshot!(refused(json!({ "dependsOn": ["nope"] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"dependsOn: task nope does not exist","details":{"problems":[{"field":"dependsOn","message":"task nope does not exist"}]}}}"#);
    assert_snapshot!(refused(json!({ "dependsOn": [id, id] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"dependsOn: names the task <id 1> twice","details":{"problems":[{"field":"dependsOn","message":"names the task <id 1> twice"}]}}}"#);
    assert_snapshot!(refused(json!({ "dependsOn": [{ "taskId": id, "outcome": "maybe" }] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"dependsOn[0]: must be the id of a task, or an object with `taskId` and `outcome` (completed, failed or any)"}}"#);
    assert_snapshot!(refused(json!({ "agentContext": { "filesModified": "a", "attempts": 1.5 } })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentContext.filesModified: must be an array of strings; agentContext.attempts: must be a number, 0 or more","details":{"problems":[{"field":"agentContext.filesModified","message":"must be an array of strings"},{"field":"agentContext.attempts","message":"must be a number, 0 or more"}]}}}"#);
    assert_snapshot!(refused(json!({ "handoffInstructions": { "nextRole": "No" } })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"handoffInstructions.nextRole: must be a role such as `testing`","details":{"problems":[{"field":"handoffInstructions.nextRole","message":"must be a role such as `testing`"}]}}}"#);
    assert_snapshot!(refused(json!({ "agentContext": { "x": "y".repeat(70_000) } })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentContext: must not be larger than 65536 bytes","details":{"problems":[{"field":"agentContext","message":"must not be larger than 65536 bytes"}]}}}"#);
    assert_snapshot!(refused(json!({ "description": "other" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: unknown field `description`, expected one of `agentRole`, `specialistTags`, `estimatedDuration`, `priority`, `dependsOn`, `agentContext`, `handoffInstructions`"}}"#);
    assert_eq!(app.get(&format!("/api/tasks/{id}")).await.body, before);
    // Any JSON value comes back as it was sent.
    let odd = json!({ "x": "a\0b \u{202e} \"quoted\"\n", "y": [null, 1e300, { "z": {} }] });
    let set = app
        .patch(&format!("/api/tasks/{id}"), json!({ "agentContext": odd }))
        .await
        .data();
    assert_eq!(set["agentContext"], odd);
    let missing = app.patch("/api/tasks/nope", json!({ "priority": 1 })).await;
    assert_eq!(missing.error(), (404, "NOT_FOUND".to_owned()));
    let merge = app
        .patch(
            &format!("/api/tasks/{id}?merge=perhaps"),
            json!({ "priority": 1 }),
        )
        .await;
    assert_eq!(merge.error(), (400, "INVALID_QUERY".to_owned()));
}

#[tokio::test]
async fn what_is_merged_has_a_limit_too() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}?merge=true");
    for key in ["a", "b", "c"] {
        let mut context = serde_json::Map::new();
        context.insert(key.to_owned(), "x".repeat(30_000).into());
        let reply = app.patch(&path, json!({ "agentContext": context })).await;
        if key == "c" {
            assert_eq!(reply.error(), (400, "INVALID_BODY".to_owned()));
        } else {
            reply.data();
        }
    }
    let kept = app.get(&format!("/api/tasks/{id}")).await.data();
    assert_eq!(kept["agentContext"].as_object().unwrap().len(), 2);
}

#[tokio::test]
async fn a_change_that_changes_nothing_writes_nothing() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}");
    let change = json!({ "agentRole": "testing", "specialistTags": ["Python"] });
    app.patch(&path, change.clone()).await.data();
    let events = async || {
        app.get(&format!("{path}/history")).await.data()["events"]
            .as_array()
            .unwrap()
            .len()
    };
    let before = events().await;
    app.patch(&path, change).await.data();
    assert_eq!(events().await, before);
}

#[tokio::test]
async fn tasks_are_listed_by_role_and_tags() {
    let app = TestApp::new().await;
    let make = async |role: Option<&str>, tags: &[&str]| {
        let body = json!({ "description": "d", "agentRole": role, "specialistTags": tags });
        let made = app.post("/api/tasks", body).await.data();
        made["id"].as_str().unwrap().to_owned()
    };
    let python = make(Some("testing"), &["python"]).await;
    let both = make(Some("testing"), &["mcp", "python"]).await;
    let fix = make(Some("fixing"), &["python"]).await;
    let plain = make(None, &[]).await;
    let list = async |query: &str| -> Vec<String> {
        let page = app.get(&format!("/api/tasks?{query}")).await.data();
        page.as_array()
            .unwrap()
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        list("agentRole=testing").await,
        [python.clone(), both.clone()]
    );
    assert_eq!(
        list("tags=python").await,
        [python.clone(), both.clone(), fix.clone()]
    );
    assert_eq!(
        list("tags=MCP,%20nothing").await,
        std::slice::from_ref(&both)
    );
    assert_eq!(
        list("tags=mcp,python&agentRole=testing&status=pending").await,
        [python.clone(), both.clone()]
    );
    assert_eq!(
        list("tags=mcp,python&limit=1").await,
        std::slice::from_ref(&python)
    );
    assert_eq!(
        list(&format!("tags=mcp,python&after={python}")).await,
        [both.clone(), fix.clone()]
    );
    assert_eq!(
        list("tags=python&status=completed").await,
        Vec::<String>::new()
    );
    app.patch(
        &format!("/api/tasks/{both}"),
        json!({ "specialistTags": [] }),
    )
    .await
    .data();
    assert_eq!(list("tags=mcp").await, Vec::<String>::new());
    assert_eq!(
        app.get("/api/tasks?tags=a%20b").await.error(),
        (400, "INVALID_QUERY".to_owned())
    );
    assert_eq!(
        app.get("/api/tasks?agentRole=A").await.error(),
        (400, "INVALID_QUERY".to_owned())
    );
    agent(&app, "tess", &["testing", "design"], &["PYTHON"]).await;
    let ready = async |query: &str| -> Vec<String> {
        let page = app.get(&format!("/api/ready{query}")).await.data();
        page.as_array()
            .unwrap()
            .iter()
            .map(|task| task["id"].as_str().unwrap().to_owned())
            .collect()
    };
    assert_eq!(
        ready("?forAgent=tess").await,
        [python.clone(), both.clone()],
        "no tags suit everybody of the role"
    );
    assert_eq!(ready("").await, [python, both, fix, plain]);
    assert_eq!(
        app.get("/api/ready?forAgent=nobody").await.error(),
        (404, "NOT_FOUND".to_owned())
    );
    assert_eq!(
        app.get("/api/ready?limit=0").await.error(),
        (400, "INVALID_QUERY".to_owned())
    );
}

#[tokio::test]
async fn an_increment_that_cannot_be_is_refused_and_leaves_nothing() {
    let app = TestApp::new().await;
    let refused = async |body: Value| app.post("/api/increments", body).await.line();
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"missing field `title`"}}"#);
    assert_snapshot!(refused(json!({ "title": " " })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must not be empty"}}"#);
    assert_snapshot!(refused(json!({ "title": "two\nlines" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must be one line; put the rest into the description"}}"#);
    assert_snapshot!(refused(json!({ "title": "t", "dependsOn": ["nope"] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"dependsOn: increment nope does not exist","details":{"problems":[{"field":"dependsOn","message":"increment nope does not exist"}]}}}"#);
    assert_snapshot!(refused(json!({ "title": "t", "tasks": [] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"tasks: unknown field `tasks`, expected one of `title`, `description`, `testCommand`, `dependsOn`, `specialistTags`, `priority`, `agentWorkspace`, `source`"}}"#);
    assert_snapshot!(refused(json!({ "title": "t".repeat(1001) })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"title: must not be longer than 1000 bytes; put the rest into the description"}}"#);
    assert_eq!(app.get("/api/tasks").await.data(), json!([]));
    assert_eq!(app.get("/api/increments").await.data(), json!([]));
    assert_eq!(
        app.get("/api/increments/nope").await.error(),
        (404, "NOT_FOUND".to_owned())
    );
    assert_eq!(
        app.get("/api/increments/..%2Fx").await.error(),
        (404, "NOT_FOUND".to_owned())
    );
    let odd = app
        .post(
            "/api/increments",
            json!({ "title": "it's \"odd\" 🎶; DROP TABLE increments" }),
        )
        .await
        .data();
    assert_eq!(odd["title"], "it's \"odd\" 🎶; DROP TABLE increments");
    let listed = app.get("/api/increments?state=active").await.data();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(
        app.get("/api/increments?state=done").await.data(),
        json!([])
    );
}

#[tokio::test]
async fn the_same_key_makes_one_increment() {
    let app = TestApp::new().await;
    let make = async || {
        let request = axum::http::Request::post("/api/increments")
            .header("host", "localhost")
            .header("idempotency-key", "k")
            .body(json!({ "title": "t" }).to_string().into())
            .unwrap();
        app.send(request).await.data()
    };
    let (first, again) = (make().await, make().await);
    assert_eq!(first, again);
    assert_eq!(
        app.get("/api/tasks").await.data().as_array().unwrap().len(),
        3
    );
}

#[tokio::test]
async fn only_the_run_that_works_reports() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/report");
    let report = json!({ "result": "passed" });
    assert_eq!(
        app.post(&path, report.clone()).await.error(),
        (403, "FORBIDDEN".to_owned())
    );
    let operator = app
        .with_token(OPERATOR, Method::POST, &path, report.clone())
        .await;
    assert_eq!(operator.error(), (403, "FORBIDDEN".to_owned()));
    let other = app.task("other").await;
    let token = "a-token";
    app.let_work(&other, "qa", token).await;
    let foreign = app
        .with_token(token, Method::POST, &path, report.clone())
        .await;
    assert_eq!(foreign.error(), (403, "FORBIDDEN".to_owned()));
    let own = format!("/api/tasks/{other}/report");
    for bad in [
        json!({}),
        json!({ "result": "maybe" }),
        json!({ "result": "passed", "agentContext": { "attempts": "x" } }),
    ] {
        let refused = app.with_token(token, Method::POST, &own, bad).await;
        assert_eq!(refused.error(), (400, "INVALID_BODY".to_owned()));
    }
    app.with_token(token, Method::POST, &own, report)
        .await
        .data();
}
