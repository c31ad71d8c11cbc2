//! `PATCH /api/tasks/{id}` with `agentWorkspace`

use axum::http::Method;
use serde_json::json;

use crate::support::TestApp;

#[tokio::test]
async fn the_workspace_of_a_task_can_be_changed_while_no_agent_is_active() {
    let app = TestApp::new().await;
    let folder = tempfile::tempdir().unwrap();
    let to = json!({ "agentWorkspace": folder.path() });
    let task = app.task("Work").await;
    let path = format!("/api/tasks/{task}");
    let changed = app.patch(&path, to.clone()).await.data();
    assert_eq!(changed["agentWorkspace"], to["agentWorkspace"]);
    assert_eq!(app.get(&path).await.data(), changed);
    let last = app.events().await.pop().unwrap();
    assert_eq!(last.event_type.as_str(), "task_updated");
    assert!(
        last.data
            .values()
            .any(|keys| keys.as_str() == "agentWorkspace")
    );
    // The same workspace again is no change, also while an agent is active.
    app.start_run(&task, "qa", "token-of-qa").await;
    let before = app.last_event().await;
    app.patch(&path, to.clone()).await.data();
    assert_eq!(app.last_event().await, before);
    let refused = app.patch(&path, json!({ "agentWorkspace": "/tmp" })).await;
    assert_eq!(refused.error(), (409, "CONFLICT".to_owned()));
    assert_eq!(
        app.get(&path).await.data()["agentWorkspace"],
        to["agentWorkspace"]
    );
}

#[tokio::test]
async fn a_workspace_where_no_agent_may_work_is_refused() {
    let app = TestApp::new().await;
    let task = app.task("Work").await;
    let path = format!("/api/tasks/{task}");
    let before = app.get(&path).await.data();
    let data_dir = app.data_dir.path().to_str().unwrap().to_owned();
    for workspace in [
        "",
        "relative",
        "/",
        "/proc/self/root",
        "/tmp/../etc",
        &data_dir,
    ] {
        let refused = app
            .patch(&path, json!({ "agentWorkspace": workspace }))
            .await;
        assert_eq!(
            refused.error(),
            (400, "INVALID_BODY".to_owned()),
            "{workspace}"
        );
    }
    let refused = app.patch(&path, json!({ "agentWorkspace": null })).await;
    assert_eq!(refused.error(), (400, "INVALID_BODY".to_owned()));
    assert_eq!(app.get(&path).await.data(), before);
}

#[tokio::test]
async fn a_run_changes_no_workspace() {
    let app = TestApp::new().await;
    let task = app.task("Work").await;
    app.start_run(&task, "qa", "token-of-qa").await;
    let body = json!({ "description": "Below" });
    let child = app
        .with_token("token-of-qa", Method::POST, "/api/tasks", body)
        .await;
    let child = child.data()["id"].as_str().unwrap().to_owned();
    for task in [&task, &child] {
        let path = format!("/api/tasks/{task}");
        let body = json!({ "agentWorkspace": "/tmp" });
        let refused = app
            .with_token("token-of-qa", Method::PATCH, &path, body)
            .await;
        assert_eq!(refused.error(), (403, "FORBIDDEN".to_owned()));
    }
}
