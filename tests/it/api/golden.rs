//! One golden answer per noun, with every key in its order. All other tests assert only the fields that they are about.

use axum::http::Request;
use chorus::engine::default_kind_rules;
use insta::assert_snapshot;
use serde_json::{Value, json};

use super::pick;
use crate::support::{Reply, TestApp, redact};

/// Writes the status and the data of an answer: one line per key, and an empty line before each item of a list.
fn lines(reply: &Reply) -> String {
    let status = reply.status;
    match reply.data() {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(fields).collect();
            redact(&format!("{status}\n\n{}", items.join("\n")))
        }
        data => redact(&format!("{status}\n{}", fields(&data))),
    }
}

fn fields(object: &Value) -> String {
    let fields = object.as_object().unwrap().iter();
    let fields = fields.map(|(key, value)| format!("{key}: {value}\n"));
    fields.collect()
}

/// Posts JSON and returns the id in the answer.
async fn create(app: &TestApp, path: &str, body: Value) -> String {
    let created = app.post(path, body).await.data();
    created["id"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn a_new_task() {
    let app = TestApp::new().await;
    let body = json!({ "description": "Write the parser" });
    let reply = app.post("/api/tasks", body).await;
    assert_eq!(reply.headers["content-type"], "application/json");
    assert_snapshot!(lines(&reply), @r#"
    201 Created
    taskType: "descriptionOnly"
    id: "<id 1>"
    description: "Write the parser"
    status: {"type":"pending"}
    createdAt: 1767225600000
    updatedAt: 1767225600000
    sessionId: null
    source: {"sourceType":"api","userId":"anonymous","conversationId":null}
    agentWorkspace: "<tmp>/workspaces/<id 1>"
    attachments: []
    currentAgent: null
    agentChain: []
    parentId: null
    masterTaskId: null
    context: {}
    agentRole: null
    specialistTags: []
    estimatedDuration: null
    priority: 2
    dependsOn: []
    agentContext: {}
    handoffInstructions: {}
    incrementId: null
    stage: null
    round: null
    routeAttempts: 0
    waitingReason: null
    blocked: false
    sharedPlan: null
    "#);
}

#[tokio::test]
async fn a_planned_task_with_a_file_and_a_handoff() {
    let app = TestApp::new().await;
    let id = app.task("Write the parser").await;
    let at = |path: &str| format!("/api/tasks/{id}/{path}");
    let upload = Request::post(at("attachments?filename=a.png"))
        .header("host", "localhost")
        .header("content-type", "image/png");
    app.send(upload.body("twelve bytes".into()).unwrap())
        .await
        .data();
    app.start_run(&id, "planner", "token").await;
    let planning = json!({
        "summary": "A parser", "requirements": ["reads JSON"], "acceptanceCriteria": ["the tests pass"],
        "plan": ["lexer", "grammar"],
    });
    let planned = app.put(&at("planning"), planning).await.data();
    // All other fields are those of a new task.
    let changed = [
        "taskType",
        "summary",
        "requirements",
        "acceptanceCriteria",
        "plan",
        "status",
        "attachments",
        "currentAgent",
        "agentChain",
    ];
    assert_snapshot!(redact(&fields(&pick(&planned, &changed))), @r#"
    taskType: "planned"
    summary: "A parser"
    requirements: ["reads JSON"]
    acceptanceCriteria: ["the tests pass"]
    plan: ["lexer","grammar"]
    status: {"type":"active"}
    attachments: [{"filename":"a.png","size":12,"contentType":"image/png","uploadedAt":1767225600000}]
    currentAgent: "planner"
    agentChain: [{"agentName":"planner","startedAt":1767225600000,"completedAt":null,"output":"","id":"<id 1>","fromAgent":null,"mode":"delegate","outcome":null,"error":null}]
    "#);
}

#[tokio::test]
async fn summaries_of_tasks() {
    let app = TestApp::new().await;
    app.task("Write the parser").await;
    assert_snapshot!(lines(&app.get("/api/tasks?view=summary").await), @r#"
    200 OK

    id: "<id 1>"
    description: "Write the parser"
    status: {"type":"pending"}
    createdAt: 1767225600000
    updatedAt: 1767225600000
    currentAgent: null
    "#);
}

#[tokio::test]
async fn a_history() {
    let app = TestApp::new().await;
    let id = app.task("Write the parser").await;
    app.start_run(&id, "developer", "token").await;
    let history = app.get(&format!("/api/tasks/{id}/history")).await;
    assert_snapshot!(lines(&history), @r#"
    200 OK
    events: [{"timestamp":1767225600000,"eventType":"task_created","data":{"description":"Write the parser"},"number":1},{"timestamp":1767225600000,"eventType":"agent_handoff_started","data":{"agentName":"developer"},"handoffId":"<id 1>","number":2},{"timestamp":1767225600000,"eventType":"run_started","data":{"agentName":"developer"},"handoffId":"<id 1>","number":3}]
    "#);
}

#[tokio::test]
async fn a_queue() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let path = format!("/api/tasks/{id}/queue");
    app.post(&path, json!({ "content": "first" })).await.data();
    assert_snapshot!(lines(&app.get(&path).await), @r#"
    200 OK
    messages: [{"id":"<id 1>","content":"first","receivedAt":1767225600000,"deliveredAt":null,"handoffId":null}]
    "#);
}

#[tokio::test]
async fn the_choice_of_the_router() {
    let app = TestApp::new().await;
    let agent = json!({ "provider": "command", "program": "/bin/true", "roles": ["testing"] });
    app.operator().put("/api/agents/tess", agent).await.data();
    let body = json!({ "description": "d", "agentRole": "testing" });
    let id = create(&app, "/api/tasks", body).await;
    let mut choice = app.get(&format!("/api/tasks/{id}/route")).await.data();
    let first = choice["candidates"][0].take();
    choice["candidates"] = json!([]);
    assert_eq!(
        choice,
        json!({ "taskId": id, "agent": "tess", "fallback": false, "ready": true, "reason": null, "candidates": [] })
    );
    let reason = &first["why"];
    assert!(reason.is_string());
    assert_eq!(
        first,
        json!({ "agent": "tess", "score": 0, "suits": true, "taken": true, "why": reason })
    );
}

#[tokio::test]
async fn a_handoff() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let body = json!({ "agentName": "qa", "prompt": "Test it", "reason": "to be sure" });
    let path = format!("/api/tasks/{id}/handoff");
    let task = app.post(&path, body).await.data();
    let handoff = task["agentChain"][0]["id"].as_str().unwrap();
    let handoff = app.get(&format!("/api/handoffs/{handoff}")).await;
    assert_snapshot!(lines(&handoff), @r#"
    200 OK
    id: "<id 1>"
    taskId: "<id 2>"
    agentName: "qa"
    fromAgent: null
    mode: "delegate"
    prompt: "Test it"
    reason: "to be sure"
    startedAt: 1767225600000
    completedAt: null
    output: ""
    outcome: null
    error: null
    usage: null
    costUsd: null
    run: {"id":"<id 3>","attempt":1,"state":"queued","outcome":null,"queuedAt":1767225600000,"startedAt":null,"endedAt":null,"failingSince":null,"lastError":null,"deniedTools":[]}
    report: null
    fromHandoffId: null
    transferredTo: null
    traceId: "<trace>"
    parentSpanId: null
    sessionId: null
    harnessTraceId: null
    live: {"runState":"queued","lastProgressAt":1767225600000,"waitsFor":[]}
    unansweredHandoffs: []
    "#);
}

#[tokio::test]
async fn a_tree_of_tasks() {
    let app = TestApp::new().await;
    let tool = json!({ "name": "to_qa", "description": "d", "targetAgent": "qa" });
    app.operator().post("/api/tools", tool).await.data();
    let id = app.task("chain").await;
    app.post(&format!("/api/tasks/{id}/tools/to_qa"), json!({}))
        .await
        .data();
    assert_snapshot!(lines(&app.get(&format!("/api/tasks/{id}/tree")).await), @r#"
    200 OK
    id: "<id 1>"
    description: "chain"
    status: {"type":"completed"}
    createdAt: 1767225600000
    currentAgent: null
    handoffs: []
    children: [{"id":"<id 2>","description":"chain","status":{"type":"active"},"createdAt":1767225600000,"currentAgent":"qa","handoffs":[{"id":"<id 3>","agentName":"qa","fromAgent":null,"mode":"transfer","startedAt":1767225600000,"completedAt":null,"outcome":null,"costUsd":null,"live":{"runState":"queued","lastProgressAt":1767225600000,"waitsFor":[]},"unansweredHandoffs":[]}],"children":[],"omitted":0}]
    omitted: 0
    "#);
}

#[tokio::test]
async fn messages() {
    let app = TestApp::new().await;
    let tool = json!({
        "name": "to_qa", "description": "d", "targetAgent": "qa", "contextVariables": [{ "name": "build", "type": "string" }],
    });
    app.operator().post("/api/tools", tool).await.data();
    let id = app.task("Write it").await;
    let body = json!({ "agentName": "developer", "prompt": "Write the parser" });
    app.post(&format!("/api/tasks/{id}/handoff"), body)
        .await
        .data();
    let path = format!("/api/tasks/{id}/tools/to_qa");
    app.post(&path, json!({ "build": "b1" })).await.data();
    let conversation = app.get(&format!("/api/tasks/{id}/conversation")).await;
    assert_snapshot!(lines(&conversation), @r#"
    200 OK

    number: 1
    timestamp: 1767225600000
    taskId: "<id 1>"
    handoffId: "<id 2>"
    agentName: null
    type: "user_message"
    content: "Write the parser"
    data: null

    number: 2
    timestamp: 1767225600000
    taskId: "<id 1>"
    handoffId: "<id 2>"
    agentName: "developer"
    type: "handoff"
    content: "Routed to qa"
    data: {"fromAgent":"developer","toAgent":"qa","taskId":"<id 3>","tool":"to_qa","variables":{"build":"b1"}}
    "#);
}

#[tokio::test]
async fn a_tool() {
    let app = TestApp::new().await;
    let tool = json!({
        "name": "to_qa", "description": "When it is done.", "targetAgent": "qa", "handoffInstructions": "Test it.",
        "contextVariables": [{ "name": "build", "type": "string", "required": true, "description": "Which build" }],
    });
    assert_snapshot!(lines(&app.operator().post("/api/tools", tool).await), @r#"
    201 Created
    name: "to_qa"
    description: "When it is done."
    targetAgent: "qa"
    contextVariables: [{"name":"build","type":"string","required":true,"description":"Which build"}]
    handoffInstructions: "Test it."
    allowedAgents: null
    "#);
    let definitions = app.get("/api/agents/developer/tools").await;
    assert_snapshot!(lines(&definitions), @r#"
    200 OK

    type: "function"
    function: {"name":"to_qa","description":"When it is done.","parameters":{"type":"object","properties":{"build":{"type":"string","description":"Which build"}},"required":["build"]}}
    "#);
}

#[tokio::test]
async fn a_session_and_its_handoff() {
    let app = TestApp::new().await;
    let body = json!({
        "fromAgent": "planner", "toAgent": "developer", "reason": "The plan is ready", "userIntent": "Build the parser",
        "conversationHistory": [{ "role": "user", "content": "Hi" }], "invoke": false,
    });
    let started = app.post("/api/sessions/s/handoffs", body).await;
    assert_snapshot!(lines(&started), @r#"
    201 Created
    id: "<id 1>"
    sessionId: "s"
    taskId: "<id 2>"
    "#);
    assert_snapshot!(lines(&app.get("/api/sessions/s").await), @r#"
    200 OK
    id: "s"
    taskId: "<id 1>"
    createdAt: 1767225600000
    updatedAt: 1767225600000
    handoffs: 1
    agentName: "developer"
    currentAgent: null
    "#);
    assert_snapshot!(lines(&app.get("/api/sessions/s/handoffs/last").await), @r#"
    200 OK
    id: "<id 1>"
    sessionId: "s"
    taskId: "<id 2>"
    fromAgent: "planner"
    toAgent: "developer"
    reason: "The plan is ready"
    userIntent: "Build the parser"
    conversationHistory: [{"role":"user","content":"Hi"}]
    harnessTraceId: null
    traceId: "<trace>"
    invoked: false
    createdAt: 1767225600000
    completedAt: 1767225600000
    outcome: "completed"
    output: ""
    "#);
}

#[tokio::test]
async fn a_claimed_request() {
    let app = TestApp::new().await;
    let body = json!({
        "title": "Refactor the parser", "body": "It reads\nevery line twice.", "kind": "implementation",
        "priority": "P1", "effort": "M",
        "source": { "sourceType": "file", "file": "/notes/todo.md", "line": 12 },
    });
    let id = create(&app, "/api/requests", body).await;
    let path = |action: &str| format!("/api/requests/{id}/{action}");
    app.clock.advance(1_000);
    app.operator()
        .post(&path("approve"), json!({}))
        .await
        .data();
    app.clock.advance(1_000);
    let claimed = app.post(&path("claim"), json!({ "agent": "worker" })).await;
    assert_snapshot!(lines(&claimed), @r#"
    200 OK
    id: "<id 1>"
    title: "Refactor the parser"
    body: "It reads\nevery line twice."
    kind: "implementation"
    state: "claimed"
    priority: "P1"
    effort: "M"
    source: {"sourceType":"file","taskId":null,"file":"/notes/todo.md","line":12,"userId":null}
    taskId: null
    response: null
    attempts: 1
    lease: {"agent":"worker","fencing":1,"expiresAt":1767226502000}
    transitions: [{"from":null,"to":"needs","by":"anonymous","at":1767225600000,"reason":null},{"from":"needs","to":"delegated","by":"operator","at":1767225601000,"reason":null},{"from":"delegated","to":"claimed","by":"worker","at":1767225602000,"reason":null}]
    recovery: []
    createdAt: 1767225600000
    updatedAt: 1767225602000
    approvedAt: 1767225601000
    stuck: false
    withdrawnAt: null
    handoffId: null
    jobId: null
    agentWorkspace: null
    "#);
}

#[tokio::test]
async fn the_dispatcher_and_a_route() {
    let app = TestApp::new().await;
    let rules = default_kind_rules();
    app.engine.seed_kind_rules(rules).await.unwrap();
    let routes = app.get("/api/dispatch/routes").await.data();
    assert_snapshot!(fields(&routes[0]), @r#"
    kind: "brainstorm"
    agent: "planner"
    mode: "agent"
    rank: 1.0
    batch: false
    retry: false
    maxAttempts: 2
    startCommand: null
    pollCommand: null
    pollSeconds: 10
    "#);
    for title in ["In progress", "Waiting"] {
        let body = json!({ "title": title, "body": "", "kind": "fix" });
        let id = create(&app, "/api/requests", body).await;
        let path = format!("/api/requests/{id}/approve");
        app.operator().post(&path, json!({})).await.data();
        if title == "In progress" {
            let path = format!("/api/requests/{id}/claim");
            app.post(&path, json!({ "agent": "worker" })).await.data();
        }
    }
    assert_snapshot!(lines(&app.get("/api/dispatch").await), @r#"
    200 OK
    enabled: false
    maxRuns: 0
    debounceSeconds: 0.0
    running: [{"id":"<id 1>","title":"In progress","kind":"fix","priority":"P2","agent":"worker","since":1767225600000,"taskId":null,"handoffId":null,"run":null,"workspace":null,"jobId":null,"attempts":1}]
    waiting: [{"id":"<id 2>","title":"Waiting","kind":"fix","priority":"P2","since":1767225600000,"attempts":0,"lastFailure":null}]
    held: []
    stuck: []
    undecided: []
    next: []
    "#);
}

#[tokio::test]
async fn an_increment() {
    let app = TestApp::new().await;
    let body =
        json!({ "title": "Parser", "description": "Reads JSON", "testCommand": "make test" });
    create(&app, "/api/increments", body).await;
    assert_snapshot!(lines(&app.get("/api/increments").await), @r#"
    200 OK

    id: "<id 1>"
    title: "Parser"
    description: "Reads JSON"
    testCommand: "make test"
    state: "active"
    round: 1
    blockedBy: null
    createdAt: 1767225600000
    updatedAt: 1767225600000
    "#);
}

#[tokio::test]
async fn an_agent() {
    let app = TestApp::new().await;
    assert_snapshot!(lines(&app.get("/api/agents/qa").await), @r#"
    200 OK
    name: "qa"
    specPath: "agents/qa.md"
    allowedTools: "Read Glob Grep Bash"
    permissionMode: "default"
    provider: "claude-code"
    model: null
    program: null
    arguments: []
    environment: {}
    outputForm: "all"
    maxSeconds: null
    idleSeconds: null
    available: true
    roles: []
    skills: []
    maxSessionDuration: null
    responsibilities: ""
    isolation: null
    "#);
}

#[tokio::test]
async fn a_mail() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let body = json!({
        "version": "1.0.0", "type": "task_handoff", "from": "developer", "to": ["qa"], "cc": ["operator"], "subject": "Ready",
        "body": "make test", "taskId": task, "handoffType": "implementation_to_testing",
        "context": { "files": ["a.rs"], "attempts": 1.5 }, "previousAttempts": 2, "urgency": "high", "ackRequired": true,
    });
    assert_snapshot!(lines(&app.post("/api/mail", body).await), @r#"
    201 Created
    id: "<id 1>"
    version: "1.0.0"
    type: "task_handoff"
    from: "developer"
    fromVerified: false
    to: ["qa"]
    cc: ["operator"]
    threadId: "<id 1>"
    subject: "Ready"
    body: "make test"
    taskId: "<id 2>"
    handoffId: null
    handoffType: "implementation_to_testing"
    context: {"files":["a.rs"],"attempts":1.5}
    previousAttempts: 2
    urgency: "high"
    ackRequired: true
    ackDueAt: 1767240000000
    sentAt: 1767225600000
    recipients: [{"recipient":"qa","cc":false,"deliveredAt":null,"readAt":null,"acknowledgedAt":null,"handoffId":null},{"recipient":"operator","cc":true,"deliveredAt":null,"readAt":null,"acknowledgedAt":null,"handoffId":null}]
    "#);
}

#[tokio::test]
async fn an_alert() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let body = json!({ "message": "The disk is full", "taskId": task });
    assert_snapshot!(lines(&app.post("/api/alerts", body).await), @r#"
    201 Created
    id: "<id 1>"
    message: "The disk is full"
    taskId: "<id 2>"
    file: null
    line: null
    raisedAt: 1767225600000
    raisedBy: "anonymous"
    resolvedAt: null
    resolvedBy: null
    "#);
}

#[tokio::test]
async fn the_usage_of_a_task() {
    let app = TestApp::new().await;
    let id = app.task("d").await;
    let usage = app.get(&format!("/api/tasks/{id}/usage")).await;
    assert_snapshot!(lines(&usage), @r#"
    200 OK
    runs: 0
    inputTokens: 0
    outputTokens: 0
    turns: 0
    durationMs: 0
    costUsd: null
    "#);
}
