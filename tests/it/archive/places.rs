//! Imported tasks can run: their workspaces exist in the new installation, or are named.

use std::path::Path;

use serde_json::json;

use super::{export, import};
use crate::support::{Chorus, Sandbox, TestApp};

#[tokio::test]
async fn workspaces_move_along_or_are_named() {
    let app = TestApp::new().await;
    let outside = tempfile::tempdir().unwrap();
    let gone = tempfile::tempdir().unwrap();
    let (outside_path, gone_path) = (
        outside.path().to_str().unwrap().to_owned(),
        gone.path().to_str().unwrap().to_owned(),
    );
    let create = async |workspace: Option<&str>| {
        let mut body = json!({ "description": "d" });
        if let Some(workspace) = workspace {
            body["agentWorkspace"] = json!(workspace);
        }
        let task = app.post("/api/tasks", body).await.data();
        task["id"].as_str().unwrap().to_owned()
    };
    let own = create(None).await;
    let kept = create(Some(&outside_path)).await;
    let lost = create(Some(&gone_path)).await;
    let (_folder, archive) = export(&app).await;
    drop(gone);
    let other = TestApp::unseeded().await;
    let report = import(&other, &archive, false).await.unwrap();
    let workspace = async |id: &str| {
        let task = other.get(&format!("/api/tasks/{id}")).await.data();
        task["agentWorkspace"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        Path::new(&workspace(&own).await),
        other.data_dir.workspaces().join(&own)
    );
    assert_eq!(workspace(&kept).await, outside_path);
    assert_eq!(workspace(&lost).await, gone_path);
    let displaced: Vec<_> = report
        .displaced
        .iter()
        .map(|task| task.id.as_str())
        .collect();
    assert_eq!(displaced, [lost.as_str()]);
}

#[tokio::test]
async fn a_forbidden_workspace_is_named_and_no_run_starts_there() {
    for forbidden in ["/", "/proc/self/root", "workspaces/../runs", "../x", ""] {
        let folder = tempfile::tempdir().unwrap();
        super::tasks::write_minimal_archive(folder.path(), &["one"]);
        let task = folder.path().join("registry/one/task.json");
        let text = std::fs::read_to_string(&task).unwrap();
        let text = text.replace("\"/tmp\"", &json!(forbidden).to_string());
        std::fs::write(task, text).unwrap();
        let app = TestApp::unseeded().await;
        let report = import(&app, folder.path(), false).await.unwrap();
        assert_eq!(report.displaced.len(), 1, "{forbidden}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_imported_task_runs_in_the_new_installation() {
    let sandbox = Sandbox::new().with_agent("worker", "pwd");
    let server = sandbox.serve(1);
    let client = server.client();
    let elsewhere = sandbox.path("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let task = |workspace: Option<&Path>| chorus::api::TaskInput {
        description: "Say where".parse().unwrap(),
        agent_workspace: workspace.map(|path| path.to_str().unwrap().parse().unwrap()),
        ..Default::default()
    };
    let own = client
        .tasks()
        .create(&task(None))
        .await
        .unwrap()
        .data()
        .unwrap();
    let lost = client
        .tasks()
        .create(&task(Some(&elsewhere)))
        .await
        .unwrap()
        .data()
        .unwrap();
    assert!(server.stop().success());
    std::fs::remove_dir(&elsewhere).unwrap();
    let (archive, copy) = (sandbox.path("archive"), sandbox.path("imported"));
    let run = |verb: &[&str], data_dir: &Path| {
        Chorus::new(verb.iter().copied())
            .argument(&archive)
            .env("CHORUS_DATA_DIR", data_dir)
            .transcript()
    };
    let done = run(
        &["export", "--with-environment", "SANDBOX"],
        &sandbox.data_dir,
    );
    assert!(done.starts_with("exit 0\n"), "{done}");
    std::fs::rename(&sandbox.data_dir, sandbox.path("old")).unwrap();
    let done = run(&["import"], &copy);
    assert!(done.starts_with("exit 0\n"), "{done}");
    let advice = format!(
        "task {}: the workspace {} does not exist, or is not a directory; give the task another one: chorus task edit {} --workspace DIR",
        lost.id,
        elsewhere.display(),
        lost.id
    );
    assert!(done.contains(&advice), "{done}");
    assert!(!done.contains(own.id.as_str()), "{done}");
    let server = crate::support::Server::spawn(
        &copy,
        Chorus::new(["serve", "--port", "0", "--log", "warn"]),
    );
    let hand_off = |task: &str| {
        Chorus::new(["handoff", task, "worker", "Go"])
            .env("CHORUS_URL", &server.url)
            .env("CHORUS_DATA_DIR", &copy)
            .transcript()
    };
    let workspace = copy
        .canonicalize()
        .unwrap()
        .join("workspaces")
        .join(own.id.as_str());
    let said = hand_off(own.id.as_str());
    assert!(
        said.starts_with(&format!("exit 0\n--- stdout\n{}\n", workspace.display())),
        "{said}"
    );
    let said = hand_off(lost.id.as_str());
    let command = format!("chorus task edit {} --workspace DIR", lost.id);
    assert!(
        said.starts_with("exit 1\n") && said.contains(&command),
        "{said}"
    );
    let moved = sandbox.path("moved");
    std::fs::create_dir(&moved).unwrap();
    let edited = Chorus::new(["task", "edit", lost.id.as_str(), "--workspace"])
        .argument(&moved)
        .env("CHORUS_URL", &server.url)
        .env("CHORUS_DATA_DIR", &copy)
        .transcript();
    assert!(edited.starts_with("exit 0\n"), "{edited}");
    let said = hand_off(lost.id.as_str());
    let moved = moved.canonicalize().unwrap();
    assert!(
        said.starts_with(&format!("exit 0\n--- stdout\n{}\n", moved.display())),
        "{said}"
    );
    assert!(server.stop().success());
    std::fs::rename(sandbox.path("old"), &sandbox.data_dir).unwrap();
}
