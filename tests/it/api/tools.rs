//! `/api/tools`, `/api/agents/{name}/tools` and `/api/tasks/{id}/tools/{tool}`

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::pick;
use crate::support::TestApp;

fn qa_tool() -> Value {
    json!({
        "name": "handoff_to_qa", "description": "When it is done.", "targetAgent": "qa",
        "contextVariables": [
            { "name": "build", "type": "string", "required": true, "description": "Which build" },
            { "name": "urgent", "type": "boolean", "required": false, "description": "" },
        ],
        "handoffInstructions": "Test it.", "allowedAgents": null,
    })
}

/// Creates a task and hands it to an agent.
async fn active_task(app: &TestApp, agent: &str) -> String {
    let task = app.task("Write it").await;
    let body = json!({ "agentName": agent, "prompt": "Write the parser" });
    app.post(&format!("/api/tasks/{task}/handoff"), body)
        .await
        .data();
    task
}

#[tokio::test]
async fn a_tool_is_created_read_replaced_and_deleted() {
    let app = TestApp::new().await;
    assert_eq!(app.get("/api/tools").await.data(), json!([]));
    let made = app.operator().post("/api/tools", qa_tool()).await;
    assert_eq!((made.status.as_u16(), made.data()), (201, qa_tool()));
    assert_eq!(app.get("/api/tools").await.data(), json!([qa_tool()]));
    assert_snapshot!(app.operator().post("/api/tools", qa_tool()).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Tool already exists: handoff_to_qa. Edit it, or choose another name"}}"#);
    let mut changed = qa_tool();
    changed["description"] = json!("Later.");
    changed["allowedAgents"] = json!(["developer"]);
    assert_eq!(
        app.operator()
            .put("/api/tools/handoff_to_qa", changed.clone())
            .await
            .data(),
        changed
    );
    assert_eq!(app.get("/api/tools/handoff_to_qa").await.data(), changed);
    changed.as_object_mut().unwrap().remove("name");
    app.operator()
        .put("/api/tools/handoff_to_qa", changed.clone())
        .await
        .data();
    changed["name"] = json!("other");
    assert_snapshot!(app.operator().put("/api/tools/handoff_to_qa", changed.clone()).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"name: must be handoff_to_qa, the name in the path; tools cannot be renamed"}}"#);
    assert_snapshot!(app.operator().put("/api/tools/other", changed).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Tool not found: other"}}"#);
    let gone = app.operator().delete("/api/tools/handoff_to_qa").await;
    assert_eq!(gone.data()["description"], "Later.");
    for path in [
        "/api/tools/handoff_to_qa",
        "/api/tools/..%2fx",
        "/api/tools/Handoff",
    ] {
        assert_eq!(app.get(path).await.error(), (404, "NOT_FOUND".to_owned()));
    }
    let events = app.events().await;
    let types: Vec<_> = events
        .iter()
        .map(|event| event.event_type.as_str())
        .collect();
    // A change without effect records no event.
    assert_eq!(types, ["tool_created", "tool_changed", "tool_deleted"]);
}

#[tokio::test]
async fn all_faults_of_a_tool_are_reported_together() {
    let app = TestApp::new().await;
    let with = |key: &str, value: Value| {
        let mut tool = qa_tool();
        tool[key] = value;
        app.operator().post("/api/tools", tool)
    };
    let bad = with(
        "contextVariables",
        json!([{ "name": "_handoff_chain", "type": "string" }, { "name": "x", "type": "string" }, { "name": "x", "type": "number" }]),
    );
    assert_snapshot!(bad.await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"contextVariables[0].name: \"_handoff_chain\" must not start with `_handoff`, which is reserved for Chorus; contextVariables[2].name: \"x\" is listed twice","details":{"problems":[{"field":"contextVariables[0].name","message":"\"_handoff_chain\" must not start with `_handoff`, which is reserved for Chorus"},{"field":"contextVariables[2].name","message":"\"x\" is listed twice"}]}}}"#);
    assert_snapshot!(with("targetAgent", json!("nobody")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"targetAgent: unknown agent nobody; the agents are: developer, developer-review, orchestrator, planner, qa","details":{"problems":[{"field":"targetAgent","message":"unknown agent nobody; the agents are: developer, developer-review, orchestrator, planner, qa"}]}}}"#);
    assert_snapshot!(with("allowedAgents", json!(["nobody", "qa"])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"allowedAgents: unknown agent nobody; the agents are: developer, developer-review, orchestrator, planner, qa; allowedAgents: qa is the target, which cannot hand off to itself","details":{"problems":[{"field":"allowedAgents","message":"unknown agent nobody; the agents are: developer, developer-review, orchestrator, planner, qa"},{"field":"allowedAgents","message":"qa is the target, which cannot hand off to itself"}]}}}"#);
    assert_snapshot!(with("allowedAgents", json!([])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"allowedAgents: must name at least one agent; omit it to allow all agents except the target","details":{"problems":[{"field":"allowedAgents","message":"must name at least one agent; omit it to allow all agents except the target"}]}}}"#);
    assert_snapshot!(with("name", json!("Handoff")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"name: must start with a lowercase letter and contain only lowercase letters, digits and `_`"}}"#);
    assert_snapshot!(with("name", json!("_handoff_to_qa")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"name: must not start with `_handoff`, which is reserved for Chorus"}}"#);
    assert_snapshot!(with("name", json!(3)).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"name: invalid type: integer `3`, expected a string"}}"#);
    assert_snapshot!(with("contextVariables", json!([{ "name": "x", "type": "integer" }])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"contextVariables[0].type: unknown variant `integer`, expected one of `string`, `number`, `boolean`, `object`, `array`"}}"#);
    assert_snapshot!(with("description", json!(" ")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"description: must say when to use the tool","details":{"problems":[{"field":"description","message":"must say when to use the tool"}]}}}"#);
    assert_snapshot!(with("color", json!("red")).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"color: unknown field `color`, expected one of `name`, `description`, `targetAgent`, `contextVariables`, `handoffInstructions`, `allowedAgents`"}}"#);
    assert_eq!(app.get("/api/tools").await.data(), json!([]));
}

#[tokio::test]
async fn a_model_sees_the_tools_of_its_agent_by_name() {
    let app = TestApp::new().await;
    for (name, target, allowed) in [
        ("z_to_planner", "planner", json!(null)),
        ("a_to_qa", "QA", json!(null)),
        ("to_orchestrator", "orchestrator", json!(["qa"])),
    ] {
        let mut tool = qa_tool();
        tool["name"] = json!(name);
        tool["targetAgent"] = json!(target);
        tool["allowedAgents"] = allowed;
        app.operator().post("/api/tools", tool).await.data();
    }
    let seen = async |agent: &str| {
        let tools = app.get(&format!("/api/agents/{agent}/tools")).await.data();
        let names = tools.as_array().unwrap().iter();
        names
            .map(|tool| tool["function"]["name"].as_str().unwrap().to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(seen("developer").await, ["a_to_qa", "z_to_planner"]);
    assert_eq!(seen("qa").await, ["to_orchestrator", "z_to_planner"]);
    assert_eq!(seen("planner").await, ["a_to_qa"]);
    let tools = app.get("/api/agents/planner/tools").await.data();
    let parameters = &tools[0]["function"]["parameters"];
    assert_eq!(parameters["required"], json!(["build"]));
    assert_eq!(parameters["properties"]["urgent"]["type"], "boolean");
    assert_eq!(app.get("/api/agents/nobody/tools").await.error().0, 404);
}

#[tokio::test]
async fn a_call_completes_the_task_and_starts_a_child() {
    let app = TestApp::new().await;
    app.operator().post("/api/tools", qa_tool()).await.data();
    let task = active_task(&app, "developer").await;
    app.clock.advance(1000);
    let child = app
        .post(
            &format!("/api/tasks/{task}/tools/handoff_to_qa"),
            json!({ "build": "b1", "urgent": null }),
        )
        .await;
    let child = child.data();
    assert_eq!(
        pick(
            &child,
            &[
                "description",
                "status",
                "currentAgent",
                "parentId",
                "masterTaskId"
            ]
        ),
        json!({
            "description": "Write it", "status": { "type": "active" }, "currentAgent": "qa",
            "parentId": task, "masterTaskId": task,
        })
    );
    assert_eq!(
        pick(&child["agentChain"][0], &["agentName", "fromAgent", "mode"]),
        json!({ "agentName": "qa", "fromAgent": "developer", "mode": "transfer" })
    );
    assert_eq!(
        child["context"],
        json!({
            "build": "b1", "_handoff_from": "developer", "_handoff_tool": "handoff_to_qa",
            "_handoff_instructions": "Test it.", "_handoff_chain": ["developer"],
        })
    );
    let parent = app.get(&format!("/api/tasks/{task}")).await.data();
    assert_eq!(
        pick(&parent, &["status", "currentAgent"]),
        json!({ "status": { "type": "completed" }, "currentAgent": null })
    );
    assert_eq!(
        pick(
            &parent["agentChain"][0],
            &["completedAt", "output", "outcome"]
        ),
        json!({ "completedAt": 1_767_225_601_000_i64, "output": "Routed to qa", "outcome": "completed" })
    );
    let child = child["id"].as_str().unwrap();
    let history = app.get(&format!("/api/tasks/{child}/history")).await.data();
    let events = history["events"].as_array().unwrap().iter();
    let events: Vec<_> = events.map(|event| event["eventType"].clone()).collect();
    assert_eq!(
        events,
        ["task_created", "context_merged", "agent_handoff_started"]
    );
    let conversation = app.get(&format!("/api/tasks/{child}/conversation")).await;
    let messages = conversation.data();
    assert_eq!(
        pick(&messages[0], &["taskId", "type", "content"]),
        json!({ "taskId": task, "type": "user_message", "content": "Write the parser" })
    );
    assert_eq!(
        pick(
            &messages[1],
            &["taskId", "agentName", "type", "content", "data"]
        ),
        json!({
            "taskId": task, "agentName": "developer", "type": "handoff", "content": "Routed to qa",
            "data": {
                "fromAgent": "developer", "toAgent": "qa", "taskId": child, "tool": "handoff_to_qa",
                "variables": { "build": "b1" },
            },
        })
    );
}

#[tokio::test]
async fn a_refused_call_changes_nothing() {
    let app = TestApp::new().await;
    app.operator().post("/api/tools", qa_tool()).await.data();
    let task = active_task(&app, "developer").await;
    let newest = app.last_event().await;
    let call = |path: String, body: Value| app.post(Box::leak(path.into_boxed_str()), body);
    let own = |tool: &str| format!("/api/tasks/{task}/tools/{tool}");
    assert_snapshot!(call(own("handoff_to_qa"), json!({ "urgent": "yes", "extra": 1 })).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"build: is required (string); urgent: must be a boolean, not a string; extra: is not a variable of handoff_to_qa (build, urgent)","details":{"problems":[{"field":"build","message":"is required (string)"},{"field":"urgent","message":"must be a boolean, not a string"},{"field":"extra","message":"is not a variable of handoff_to_qa (build, urgent)"}]}}}"#);
    assert_snapshot!(call(own("nothing"), json!({})).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Tool not found: nothing. Choose one of: handoff_to_qa"}}"#);
    assert_snapshot!(call(own("No%20Tool"), json!({})).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Tool not found: No Tool. Choose one of: handoff_to_qa"}}"#);
    assert_snapshot!(call("/api/tasks/none/tools/handoff_to_qa".to_owned(), json!({ "build": "b" })).await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Task not found: none"}}"#);
    assert_snapshot!(call(own("handoff_to_qa"), json!(["b"])).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"The body is not a JSON object; send an object with named fields"}}"#);
    let huge = json!({ "build": "x".repeat(300 * 1024) });
    assert_snapshot!(call(own("handoff_to_qa"), huge).await.line(), @r#"413 {"error":{"code":"TOO_LARGE","message":"context is too large: the limit is 262144 bytes","details":{"limit":262144}}}"#);
    let own_target = active_task(&app, "qa").await;
    let newest_with = app.last_event().await;
    let path = format!("/api/tasks/{own_target}/tools/handoff_to_qa");
    assert_snapshot!(call(path, json!({ "build": "b" })).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"Agent qa may not call tool handoff_to_qa: the target of a tool may not call it"}}"#);
    assert_eq!(app.last_event().await, newest_with);
    assert_eq!(newest_with, newest + 2);
}

#[tokio::test]
async fn a_person_transfers_an_idle_task() {
    let app = TestApp::new().await;
    app.operator().post("/api/tools", qa_tool()).await.data();
    let task = app.task("Write it").await;
    let path = format!("/api/tasks/{task}/tools/handoff_to_qa");
    let child = app.post(&path, json!({ "build": "b" })).await.data();
    assert_eq!(child["context"]["_handoff_from"], json!(null));
    assert_eq!(child["context"]["_handoff_chain"], json!([]));
    assert_eq!(child["agentChain"][0]["mode"], "transfer");
    let handoffs = app
        .get(&format!(
            "/api/tasks/{}/handoffs",
            child["id"].as_str().unwrap()
        ))
        .await;
    assert_eq!(handoffs.data()[0]["prompt"], "Write it");
    assert_snapshot!(app.post(&path, json!({ "build": "b" })).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Control of task <id 1> has already moved to qa. This call changed nothing. See `chorus task tree <id 1>`"}}"#);
}

#[tokio::test]
async fn a_repeated_key_transfers_once() {
    let app = TestApp::new().await;
    app.operator().post("/api/tools", qa_tool()).await.data();
    let task = active_task(&app, "developer").await;
    let call = || {
        let request = axum::http::Request::post(format!("/api/tasks/{task}/tools/handoff_to_qa"))
            .header("host", "localhost")
            .header("idempotency-key", "once");
        app.send(
            request
                .body(json!({ "build": "b" }).to_string().into())
                .unwrap(),
        )
    };
    let (first, second) = (call().await.data(), call().await.data());
    assert_eq!(first, second);
    assert_eq!(
        app.get("/api/tasks").await.data().as_array().unwrap().len(),
        2
    );
}

#[tokio::test]
async fn an_unavailable_agent_gets_no_work() {
    let app = TestApp::new().await;
    app.operator().post("/api/tools", qa_tool()).await.data();
    let task = active_task(&app, "developer").await;
    rusqlite::Connection::open(app.data_dir.database())
        .unwrap()
        .execute("UPDATE agents SET available = 0 WHERE name = 'qa'", [])
        .unwrap();
    let path = format!("/api/tasks/{task}/tools/handoff_to_qa");
    assert_snapshot!(app.post(&path, json!({ "build": "b" })).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent not available: qa. Make it available with `chorus agent edit qa --available true`, or choose another agent"}}"#);
    let other = app.task("other").await;
    let body = json!({ "agentName": "qa", "prompt": "p" });
    assert_snapshot!(app.post(&format!("/api/tasks/{other}/handoff"), body).await.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Agent not available: qa. Make it available with `chorus agent edit qa --available true`, or choose another agent"}}"#);
}

#[tokio::test]
async fn deeply_nested_variables_and_large_tools_are_refused() {
    let app = TestApp::new().await;
    let tool = json!({
        "name": "to_qa", "description": "d", "targetAgent": "qa", "contextVariables": [{ "name": "x", "type": "array" }],
    });
    app.operator().post("/api/tools", tool.clone()).await.data();
    let nested = |levels: usize| {
        let json = format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
        serde_json::from_str::<Value>(&json).unwrap()
    };
    let task = active_task(&app, "developer").await;
    let path = format!("/api/tasks/{task}/tools/to_qa");
    assert_snapshot!(app.post(&path, nested(33)).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"x: must not be nested deeper than 32 levels","details":{"problems":[{"field":"x","message":"must not be nested deeper than 32 levels"}]}}}"#);
    let child = app.post(&path, nested(32)).await.data();
    let child = child["id"].as_str().unwrap().to_owned();
    let said = app.get(&format!("/api/tasks/{child}/conversation")).await;
    assert_eq!(said.data()[1]["data"]["variables"], nested(32));
    for (key, bytes) in [("description", 4097), ("handoffInstructions", 32_769)] {
        let mut large = tool.clone();
        large["name"] = json!("other");
        large[key] = json!("x".repeat(bytes));
        let refused = app.operator().post("/api/tools", large).await;
        assert_eq!(refused.error(), (400, "INVALID_BODY".to_owned()), "{key}");
    }
}

#[tokio::test]
async fn a_tool_with_an_unavailable_target_is_not_offered() {
    let app = TestApp::new().await;
    app.operator().post("/api/tools", qa_tool()).await.data();
    let offered = async || {
        let tools = app.get("/api/agents/developer/tools").await.data();
        tools.as_array().unwrap().len()
    };
    assert_eq!(offered().await, 1);
    rusqlite::Connection::open(app.data_dir.database())
        .unwrap()
        .execute("UPDATE agents SET available = 0 WHERE name = 'qa'", [])
        .unwrap();
    assert_eq!(offered().await, 0);
    assert_eq!(app.get("/api/tools").await.data(), json!([qa_tool()]));
}

#[tokio::test]
async fn ending_a_transferred_task_names_the_new_agent() {
    let app = TestApp::new().await;
    app.operator().post("/api/tools", qa_tool()).await.data();
    let task = active_task(&app, "developer").await;
    let path = format!("/api/tasks/{task}/tools/handoff_to_qa");
    app.post(&path, json!({ "build": "b" })).await.data();
    let cancelled = app
        .post(&format!("/api/tasks/{task}/handoff/cancel"), json!({}))
        .await;
    assert_snapshot!(cancelled.line(), @r#"409 {"error":{"code":"CONFLICT","message":"Control of task <id 1> has already moved to qa. This call changed nothing. See `chorus task tree <id 1>`"}}"#);
}
