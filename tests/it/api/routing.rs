//! `PATCH /api/tasks/{id}`, ready tasks, `/api/tasks/{id}/route`, `/api/increments` and reports

use axum::http::Method;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{OPERATOR_TOKEN, TestApp};

async fn agent(app: &TestApp, name: &str, roles: &[&str], skills: &[&str]) {
    let agent =
        json!({ "provider": "command", "program": "/bin/true", "roles": roles, "skills": skills });
    app.operator()
        .put(&format!("/api/agents/{name}"), agent)
        .await
        .data();
}

#[tokio::test]
async fn an_invalid_edit_names_the_field_and_changes_nothing() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let before = app.get(&format!("/api/tasks/{id}")).await.body;
    let refused = async |body: Value| app.patch(&format!("/api/tasks/{id}"), body).await.line();
    assert_snapshot!(refused(json!({})).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"give at least one of agentRole, specialistTags, estimatedDuration, priority, dependsOn, agentContext, handoffInstructions and agentWorkspace"}}"#);
    assert_snapshot!(refused(json!({ "agentRole": "Test ing" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentRole: must be a role such as `testing`: lowercase letters, digits and `-`, starting with a letter, at most 64 characters"}}"#);
    assert_snapshot!(refused(json!({ "specialistTags": ["a,b"] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"specialistTags[0]: must be a skill such as `python`: one word without commas, at most 64 bytes"}}"#);
    assert_snapshot!(refused(json!({ "specialistTags": "python" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"specialistTags: invalid type: string \"python\", expected a sequence"}}"#);
    assert_snapshot!(refused(json!({ "estimatedDuration": 0 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"estimatedDuration: must be a number of minutes, 1 to 525600"}}"#);
    assert_snapshot!(refused(json!({ "priority": 9 })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"priority: must be 0 (most urgent) to 4, or P0 to P4"}}"#);
    assert_snapshot!(refused(json!({ "dependsOn": ["nope"] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"dependsOn: task nope does not exist","details":{"problems":[{"field":"dependsOn","message":"task nope does not exist"}]}}}"#);
    assert_snapshot!(refused(json!({ "dependsOn": [id, id] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"dependsOn: names the task <id 1> twice","details":{"problems":[{"field":"dependsOn","message":"names the task <id 1> twice"}]}}}"#);
    assert_snapshot!(refused(json!({ "dependsOn": [{ "taskId": id, "outcome": "maybe" }] })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"dependsOn[0]: must be the id of a task, or an object with `taskId` and `outcome` (completed, failed or any)"}}"#);
    assert_snapshot!(refused(json!({ "agentContext": { "filesModified": "a", "attempts": 1.5 } })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentContext.filesModified: must be an array of strings; agentContext.attempts: must be a number, 0 or more","details":{"problems":[{"field":"agentContext.filesModified","message":"must be an array of strings"},{"field":"agentContext.attempts","message":"must be a number, 0 or more"}]}}}"#);
    assert_snapshot!(refused(json!({ "handoffInstructions": { "nextRole": "No" } })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"handoffInstructions.nextRole: must be a role such as `testing`","details":{"problems":[{"field":"handoffInstructions.nextRole","message":"must be a role such as `testing`"}]}}}"#);
    assert_snapshot!(refused(json!({ "agentContext": { "x": "y".repeat(70_000) } })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"agentContext: must not be larger than 65536 bytes","details":{"problems":[{"field":"agentContext","message":"must not be larger than 65536 bytes"}]}}}"#);
    assert_snapshot!(refused(json!({ "description": "other" })).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"description: unknown field `description`, expected one of `agentRole`, `agent_role`, `specialistTags`, `specialist_tags`, `estimatedDuration`, `estimated_duration`, `priority`, `dependsOn`, `agentContext`, `agent_context`, `handoffInstructions`, `handoff_instructions`, `agentWorkspace`"}}"#);
    assert_eq!(app.get(&format!("/api/tasks/{id}")).await.body, before);
    // Any JSON value is stored unchanged.
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
async fn a_merged_context_has_a_limit_too() {
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
async fn an_edit_without_effect_records_no_event() {
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
    make(None, &[]).await;
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
}

/// Lists the ids of tasks, and returns the cursor of the next page.
async fn ids(app: &TestApp, path: &str) -> (Vec<String>, Option<String>) {
    let page = app.get(path).await.json();
    let tasks = page["data"].as_array().unwrap().iter();
    let ids = tasks.map(|task| task["id"].as_str().unwrap().to_owned());
    let next = page["meta"]["next"].as_str().map(str::to_owned);
    (ids.collect(), next)
}

#[tokio::test]
async fn ready_tasks_are_listed_most_urgent_first_at_both_paths() {
    let app = TestApp::new().await;
    let create = async |body: Value| {
        let task = app.post("/api/tasks", body).await.data();
        task["id"].as_str().unwrap().to_owned()
    };
    let python =
        json!({ "description": "d", "agentRole": "testing", "specialistTags": ["python"] });
    let python = create(python).await;
    let mcp = json!({ "description": "d", "agentRole": "testing", "specialistTags": ["mcp"] });
    let mcp = create(mcp).await;
    let untagged = create(json!({ "description": "d", "agentRole": "testing" })).await;
    let urgent = create(json!({ "description": "d", "priority": 0 })).await;
    create(json!({ "description": "d", "dependsOn": [python] })).await;
    agent(&app, "tess", &["testing", "design"], &["PYTHON"]).await;
    let all = [&urgent, &python, &mcp, &untagged].map(Clone::clone);
    for (query, expected) in [
        ("", &all[..]),
        // A task without tags suits every agent with the role.
        ("&forAgent=tess", &[python.clone(), untagged.clone()][..]),
        ("&limit=1", std::slice::from_ref(&urgent)),
        (&format!("&after={urgent}&limit=2"), &all[1..3]),
    ] {
        let new = ids(&app, &format!("/api/tasks?ready=true{query}")).await;
        let old = ids(
            &app,
            &format!("/api/ready?{}", query.trim_start_matches('&')),
        )
        .await;
        assert_eq!((&new.0[..], &new), (expected, &old), "{query}");
    }
    for query in ["&forAgent=nobody", "&after=nope", "&limit=0"] {
        let new = app.get(&format!("/api/tasks?ready=true{query}")).await;
        let old = app.get(&format!("/api/ready?{}", &query[1..])).await;
        assert_eq!(new.line(), old.line(), "{query}");
        assert!(new.status.is_client_error(), "{query}");
    }
    let pending = ids(&app, "/api/tasks?ready=true&status=pending").await;
    assert_eq!(pending.0, all);
    assert_eq!(ids(&app, "/api/tasks?ready=false").await.0.len(), 5);
    let summaries = app.get("/api/tasks?ready=true&view=summary").await.data();
    assert_eq!(summaries[0]["id"], json!(urgent));
    assert_eq!(summaries[0]["agentChain"], Value::Null);
}

#[tokio::test]
async fn filters_that_contradict_ready_are_refused() {
    let app = TestApp::new().await;
    let refused = async |query: &str| app.get(&format!("/api/tasks?{query}")).await.line();
    assert_snapshot!(refused("ready=true&status=active").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: status: contradicts ready=true; ready tasks are pending"}}"#);
    assert_snapshot!(refused("ready=true&agentRole=testing").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: agentRole: cannot be combined with ready=true; use forAgent"}}"#);
    assert_snapshot!(refused("ready=true&tags=python").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: tags: cannot be combined with ready=true; use forAgent"}}"#);
    assert_snapshot!(refused("forAgent=qa").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: forAgent: needs ready=true; only ready tasks can be listed for an agent"}}"#);
    assert_snapshot!(refused("ready=yes").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: ready: provided string was not `true` or `false`"}}"#);
}

#[tokio::test]
async fn a_task_is_routed_at_both_paths() {
    let app = TestApp::new().await;
    agent(&app, "tess", &["testing"], &[]).await;
    for path in ["/api/tasks/{id}/route", "/api/route/{id}"] {
        let body = json!({ "description": "d", "agentRole": "testing" });
        let task = app.post("/api/tasks", body).await.data();
        let id = task["id"].as_str().unwrap();
        let choice = app.get(&format!("/api/tasks/{id}/route")).await.data();
        assert_eq!(choice["agent"], "tess");
        assert_eq!(app.get(&format!("/api/route/{id}")).await.data(), choice);
        let routed = app.post(&path.replace("{id}", id), json!({})).await.data();
        assert_eq!(routed["currentAgent"], "tess", "{path}");
        let again = app.post(&path.replace("{id}", id), json!({})).await;
        assert_eq!(again.error(), (409, "CONFLICT".to_owned()), "{path}");
        let missing = app.get(&path.replace("{id}", "nope")).await;
        assert_eq!(missing.error(), (404, "NOT_FOUND".to_owned()), "{path}");
    }
}

#[tokio::test]
async fn answers_of_deprecated_paths_name_their_successor() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    for (path, successor) in [
        ("/api/ready".to_owned(), "/api/tasks?ready=true".to_owned()),
        (
            "/api/ready?limit=0".to_owned(),
            "/api/tasks?ready=true".to_owned(),
        ),
        (format!("/api/route/{id}"), format!("/api/tasks/{id}/route")),
        (
            "/api/route/nope".to_owned(),
            "/api/tasks/nope/route".to_owned(),
        ),
    ] {
        let headers = app.get(&path).await.headers;
        assert_eq!(headers["deprecation"], "@1794960000", "{path}");
        let link = format!("<{successor}>; rel=\"successor-version\"");
        assert_eq!(headers["link"], link, "{path}");
        let headers = app.get(&successor).await.headers;
        assert!(!headers.contains_key("deprecation"), "{successor}");
    }
}

#[tokio::test]
async fn an_invalid_increment_is_refused_and_creates_nothing() {
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
async fn a_repeated_key_creates_one_increment() {
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
async fn only_the_run_of_a_task_submits_its_report() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/report");
    let report = json!({ "result": "passed" });
    assert_eq!(
        app.post(&path, report.clone()).await.error(),
        (403, "FORBIDDEN".to_owned())
    );
    let operator = app
        .with_token(OPERATOR_TOKEN, Method::POST, &path, report.clone())
        .await;
    assert_eq!(operator.error(), (403, "FORBIDDEN".to_owned()));
    let other = app.task("other").await;
    let token = "a-token";
    app.start_run(&other, "qa", token).await;
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
