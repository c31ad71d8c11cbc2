//! `/api/setup` and `/api/agents/{name}/setup`

use serde_json::{Value, json};

use crate::support::TestApp;

async fn put(app: &TestApp, name: &str, agent: Value) {
    let reply = app
        .operator()
        .put(&format!("/api/agents/{name}"), agent)
        .await;
    assert_eq!(reply.status, 201, "{}", reply.line());
}

#[tokio::test]
async fn the_setup_names_missing_programs_and_specs() {
    let app = TestApp::unseeded().await;
    let spec = app.data_dir.path().join("writer.md");
    std::fs::write(&spec, "# Writer\n\nYou write.").unwrap();
    let sh = json!({ "provider": "command", "program": "/bin/sh", "specPath": "writer.md" });
    put(&app, "writer", sh).await;
    let lost = json!({ "provider": "command", "program": "no-such-program" });
    put(&app, "lost", lost).await;

    let all = app.get("/api/setup").await.data();
    let missing = json!({ "agentName": "lost", "program": "no-such-program", "programPath": null, "specProblem": null });
    let mut found = json!({ "agentName": "writer", "program": "/bin/sh", "programPath": "/bin/sh", "specProblem": null });
    assert_eq!(all, json!([missing, found]));

    found["spec"] = json!("# Writer\n\nYou write.");
    assert_eq!(app.get("/api/agents/writer/setup").await.data(), found);
    let lost = app.get("/api/agents/lost/setup").await.data();
    assert_eq!(lost["spec"], json!(null));

    // Files are looked at anew each time.
    std::fs::remove_file(&spec).unwrap();
    let writer = app.get("/api/agents/writer/setup").await.data();
    assert_eq!(writer["spec"], json!(null));
    let problem = writer["specProblem"].as_str().unwrap();
    assert!(
        problem.starts_with("Spec writer.md of agent writer does not exist"),
        "{problem}"
    );
}

#[tokio::test]
async fn the_setup_of_an_unknown_agent_is_not_found() {
    let app = TestApp::new().await;
    assert_eq!(
        app.get("/api/agents/nobody/setup").await.error(),
        (404, "NOT_FOUND".to_owned())
    );
}
