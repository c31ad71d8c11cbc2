//! A context that is set after its task was closed

use serde_json::{Value, json};

use crate::support::TestApp;

async fn task(app: &TestApp, more: Value) -> String {
    let mut body = json!({ "description": "d" });
    body.as_object_mut()
        .unwrap()
        .extend(more.as_object().unwrap().clone());
    let task = app.post("/api/tasks", body).await.data();
    task["id"].as_str().unwrap().to_owned()
}

async fn context(app: &TestApp, task: &str) -> Value {
    app.get(&format!("/api/tasks/{task}")).await.data()["agentContext"].clone()
}

async fn set_context(app: &TestApp, task: &str, context: Value) {
    let body = json!({ "agentContext": context });
    app.patch(&format!("/api/tasks/{task}"), body).await.data();
}

async fn set_status(app: &TestApp, task: &str, status: &str) {
    let path = format!("/api/tasks/{task}/status");
    app.put(&path, json!({ "status": status })).await.data();
}

/// Returns the data of the last event of a type in the history of a task.
async fn last_event(app: &TestApp, task: &str, event_type: &str) -> Value {
    let history = app.get(&format!("/api/tasks/{task}/history")).await.data();
    let mut events = history["events"].as_array().unwrap().iter().rev();
    let last = events.find(|event| event["eventType"] == event_type);
    last.map_or(Value::Null, |event| event["data"].clone())
}

#[tokio::test]
async fn a_task_that_is_closed_first_and_described_afterwards_reaches_its_dependants() {
    let app = TestApp::new().await;
    let first = task(&app, json!({})).await;
    let other = task(&app, json!({})).await;
    let test = task(
        &app,
        json!({ "dependsOn": [first], "agentContext": { "testCommand": "make test" } }),
    )
    .await;
    // Another dependency is still open.
    let both = task(&app, json!({ "dependsOn": [first, other] })).await;
    let on_failure = task(
        &app,
        json!({ "dependsOn": [{ "taskId": first, "outcome": "failed" }] }),
    )
    .await;
    set_status(&app, &first, "completed").await;
    let told = json!({ "work_completed": "It parses", "files_modified": ["a.rs"], "test_command": "make" });
    set_context(&app, &first, told).await;
    assert_eq!(
        context(&app, &test).await,
        json!({ "testCommand": "make test", "workCompleted": "It parses", "filesModified": ["a.rs"] }),
        "the task keeps its own key"
    );
    assert_eq!(context(&app, &both).await["workCompleted"], "It parses");
    assert_eq!(context(&app, &on_failure).await, json!({}));
    assert_eq!(
        last_event(&app, &first, "context_passed").await,
        json!({ "to": format!("{test}, {both}"), "started": "" })
    );
    assert_eq!(
        last_event(&app, &test, "task_updated").await,
        json!({ "changed": "agentContext" })
    );
    // A second change follows, and a removed key goes.
    set_context(
        &app,
        &both,
        json!({ "workCompleted": "It parses", "filesModified": ["b.rs"] }),
    )
    .await;
    set_context(&app, &first, json!({ "workCompleted": "It parses dates" })).await;
    assert_eq!(
        context(&app, &test).await,
        json!({ "testCommand": "make test", "workCompleted": "It parses dates" })
    );
    assert_eq!(
        context(&app, &both).await,
        json!({ "workCompleted": "It parses dates", "filesModified": ["b.rs"] }),
        "a key that was set in the meantime stays"
    );
    app.assert_invariants();
}

#[tokio::test]
async fn a_dependant_that_has_started_is_named() {
    let app = TestApp::new().await;
    let first = task(&app, json!({})).await;
    let dependants = json!({ "dependsOn": [first] });
    let working = task(&app, dependants.clone()).await;
    let ended = task(&app, dependants.clone()).await;
    let reopened = task(&app, dependants.clone()).await;
    let free = task(&app, dependants).await;
    set_status(&app, &first, "completed").await;
    app.start_run(&working, "developer", "sesame").await;
    set_status(&app, &ended, "completed").await;
    let handoff = json!({ "agentName": "qa", "prompt": "p" });
    app.post(&format!("/api/tasks/{reopened}/handoff"), handoff)
        .await
        .data();
    app.put(
        &format!("/api/tasks/{reopened}/handoff/complete"),
        json!({ "output": "o" }),
    )
    .await
    .data();
    set_status(&app, &reopened, "pending").await;
    set_context(&app, &first, json!({ "workCompleted": "It parses" })).await;
    for started in [&working, &ended, &reopened] {
        assert_eq!(context(&app, started).await.get("workCompleted"), None);
    }
    assert_eq!(
        context(&app, &free).await,
        json!({ "workCompleted": "It parses" })
    );
    assert_eq!(
        last_event(&app, &first, "context_passed").await,
        json!({ "to": free, "started": format!("{working}, {ended}, {reopened}") })
    );
}

#[tokio::test]
async fn the_context_of_an_open_task_waits_for_its_end() {
    let app = TestApp::new().await;
    let first = task(&app, json!({})).await;
    let test = task(&app, json!({ "dependsOn": [first] })).await;
    set_context(&app, &first, json!({ "workCompleted": "Half of it" })).await;
    assert_eq!(context(&app, &test).await, json!({}));
    assert_eq!(
        last_event(&app, &first, "context_passed").await,
        Value::Null
    );
    set_status(&app, &first, "completed").await;
    assert_eq!(
        context(&app, &test).await,
        json!({ "workCompleted": "Half of it" })
    );
    // A change of something else, or no change, passes nothing.
    app.patch(&format!("/api/tasks/{first}"), json!({ "priority": 0 }))
        .await
        .data();
    set_context(&app, &first, json!({ "workCompleted": "Half of it" })).await;
    assert_eq!(
        last_event(&app, &first, "context_passed").await,
        Value::Null
    );
}

#[tokio::test]
async fn a_long_context_is_cut_and_followed() {
    let app = TestApp::new().await;
    let first = task(&app, json!({})).await;
    let test = task(&app, json!({ "dependsOn": [first] })).await;
    set_status(&app, &first, "completed").await;
    for letter in ["x", "y"] {
        set_context(
            &app,
            &first,
            json!({ "workCompleted": letter.repeat(30_000), "testStatus": letter }),
        )
        .await;
        let passed = context(&app, &test).await;
        assert_eq!(passed["testStatus"], letter);
        assert!(
            passed["workCompleted"]
                .as_str()
                .unwrap()
                .starts_with(letter)
        );
        assert!(passed.to_string().len() <= 2048);
    }
    set_context(&app, &first, json!({ "testStatus": "short" })).await;
    assert_eq!(context(&app, &test).await, json!({ "testStatus": "short" }));
}
