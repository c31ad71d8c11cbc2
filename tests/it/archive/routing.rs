//! Export and import of task requirements, increments and reports.

use serde_json::{Value, json};

use super::{assert_same_files, export, import};
use crate::support::{TestApp, invariants};

/// Routes a task and completes it with a report.
async fn route_and_complete(app: &TestApp, task: &Value, result: &str) {
    let id = task.as_str().unwrap();
    app.post(&format!("/api/route/{id}"), json!({}))
        .await
        .data();
    let report = json!({ "result": result, "summary": "s", "details": { "log": ["a"] }, "agentContext": { "branch": "b" } });
    let output = json!({ "output": format!("Done. {report}") });
    app.put(&format!("/api/tasks/{id}/handoff/complete"), output)
        .await
        .data();
}

async fn get_increment(app: &TestApp, id: &str) -> Value {
    app.get(&format!("/api/increments/{id}")).await.data()
}

/// Creates an increment in its second round, one that depends on it, and tasks that wait.
async fn app_with_increments() -> (TestApp, String) {
    let app = TestApp::new().await;
    let agent = json!({ "provider": "command", "program": "/bin/true", "roles": ["implementation", "testing"], "skills": ["c++"] });
    app.operator().put("/api/agents/both", agent).await.data();
    let made = app
        .post(
            "/api/increments",
            json!({ "title": "first", "testCommand": "make" }),
        )
        .await
        .data();
    let id = made["id"].as_str().unwrap().to_owned();
    route_and_complete(&app, &made["tasks"][0]["id"], "passed").await;
    route_and_complete(&app, &made["tasks"][1]["id"], "failed").await;
    app.post(
        "/api/increments",
        json!({ "title": "second", "dependsOn": [id] }),
    )
    .await
    .data();
    // The older task depends on the newer one, for which no agent qualifies.
    let older = app.task("older").await;
    let newer = app.post("/api/tasks", json!({ "description": "newer", "agentRole": "design", "specialistTags": ["b", "a"], "priority": 0 })).await.data();
    let change = json!({ "dependsOn": [{ "taskId": newer["id"], "outcome": "any" }], "handoffInstructions": { "notes": "n" } });
    app.patch(&format!("/api/tasks/{older}"), change)
        .await
        .data();
    let refused = app
        .post(
            &format!("/api/route/{}", newer["id"].as_str().unwrap()),
            json!({}),
        )
        .await;
    assert_eq!(refused.error(), (409, "CONFLICT".to_owned()));
    (app, id)
}

#[tokio::test]
async fn requirements_increments_and_reports_are_exported_and_imported() {
    let (app, id) = app_with_increments().await;
    app.assert_invariants();
    let (_first, first) = export(&app).await;
    let other = TestApp::unseeded().await;
    let report = import(&other, &first, false).await.unwrap();
    assert_eq!(report.left_out, []);
    assert_eq!(report.imported.increments, 2);
    let (_second, second) = export(&other).await;
    assert_same_files(&first, &second);
    let increment = async |app: &TestApp| {
        let own = app.data_dir.workspaces().display().to_string();
        get_increment(app, &id)
            .await
            .to_string()
            .replace(&own, "own")
    };
    assert_eq!(increment(&app).await, increment(&other).await);
    let violations = invariants::violations(&other.data_dir.database());
    assert_eq!(violations, [""; 0]);
    let ready = |page: Value| -> Vec<Value> {
        page.as_array()
            .unwrap()
            .iter()
            .map(|task| task["id"].clone())
            .collect()
    };
    assert_eq!(
        ready(app.get("/api/ready").await.data()),
        ready(other.get("/api/ready").await.data()),
    );
    // The increment continues where it was.
    let imported = get_increment(&other, &id).await;
    assert_eq!(
        (&imported["round"], &imported["state"]),
        (&json!(2), &json!("active"))
    );
    let fix = json!({ "provider": "command", "program": "/bin/true", "roles": ["fixing", "verification"] });
    other.operator().put("/api/agents/other", fix).await.data();
    route_and_complete(&other, &imported["tasks"][3]["id"], "passed").await;
    route_and_complete(&other, &imported["tasks"][4]["id"], "passed").await;
    route_and_complete(&other, &imported["tasks"][2]["id"], "passed").await;
    assert_eq!(get_increment(&other, &id).await["state"], "done");
    // A second import is refused and changes nothing.
    import(&other, &first, false).await.unwrap_err();
    assert_eq!(get_increment(&other, &id).await["state"], "done");
}

#[tokio::test]
async fn a_contradictory_increment_is_reported() {
    let (app, id) = app_with_increments().await;
    let (_folder, archive) = export(&app).await;
    let file = archive.join(format!("increments/{id}.json"));
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("\"active\"", "\"blocked\"")).unwrap();
    let other = TestApp::unseeded().await;
    let refused = import(&other, &archive, false).await.unwrap_err();
    assert!(format!("{refused:?}").contains("blockedBy"), "{refused:?}");
    assert_eq!(other.get("/api/increments").await.data(), json!([]));
}

#[tokio::test]
async fn dependency_cycles_and_reserved_names_are_not_imported() {
    let (app, _) = app_with_increments().await;
    let waits = app
        .post(
            "/api/tasks",
            json!({ "description": "behind", "dependsOn": [app.task("a").await] }),
        )
        .await
        .data();
    let (_folder, archive) = export(&app).await;
    let first = waits["dependsOn"][0]["taskId"].as_str().unwrap();
    let file = archive.join(format!("registry/{first}/task.json"));
    let mut task: Value = serde_json::from_str(&std::fs::read_to_string(&file).unwrap()).unwrap();
    task["dependsOn"] = json!([{ "taskId": waits["id"], "outcome": "any" }]);
    std::fs::write(&file, task.to_string()).unwrap();
    let agent = std::fs::read_to_string(archive.join("agents/both.json")).unwrap();
    std::fs::write(
        archive.join("agents/operator.json"),
        agent.replace("\"both\"", "\"operator\""),
    )
    .unwrap();
    let other = TestApp::unseeded().await;
    let refused = format!("{:?}", import(&other, &archive, false).await.unwrap_err());
    assert_eq!(
        refused.matches("depends on a cycle of tasks").count(),
        2,
        "{refused}"
    );
    assert!(refused.contains("agents/operator.json"), "{refused}");
    let report = import(&other, &archive, true).await.unwrap();
    assert_eq!(report.left_out.len(), 3);
    let missing = other.get(&format!("/api/tasks/{first}")).await;
    assert_eq!(missing.error(), (404, "NOT_FOUND".to_owned()));
}
