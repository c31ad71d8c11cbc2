//! The agents of a new installation

use reqwest::Method;
use serde_json::Value;

use crate::support::{Chorus, Server, invariants};

async fn names(server: &Server) -> Vec<String> {
    let agents = server.client().get("/api/agents", &[]).await.unwrap();
    let agents: Vec<Value> = agents.data().unwrap();
    let name = |agent: &Value| agent["name"].as_str().unwrap().to_owned();
    agents.iter().map(name).collect()
}

async fn delete(server: &Server, agent: &str) {
    let client = server.operator();
    let request = client.request(Method::DELETE, &format!("/api/agents/{agent}"));
    client.send(request).await.unwrap();
}

#[tokio::test]
async fn a_new_installation_has_specialists_and_deleted_ones_stay_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    let mut all = [
        "developer",
        "developer-review",
        "fixing-specialist",
        "implementation-specialist",
        "orchestrator",
        "planner",
        "qa",
        "testing-specialist",
        "verification-specialist",
    ]
    .map(str::to_owned)
    .to_vec();
    assert_eq!(names(&server).await, all);
    for deleted in ["testing-specialist", "qa"] {
        delete(&server, deleted).await;
        all.retain(|name| name != deleted);
    }
    server.stop();
    let server = Server::start(folder.path());
    assert_eq!(names(&server).await, all);
}

#[tokio::test]
async fn an_installation_of_an_older_version_gets_specialists_once() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    // The state that the older version left: some agents, and no mark that specialists were seeded.
    let specialists = names(&server).await.into_iter();
    for agent in specialists.filter(|name| name.ends_with("-specialist") || name == "qa") {
        delete(&server, &agent).await;
    }
    server.stop();
    invariants::open(&folder.path().join("chorus.db"))
        .execute("UPDATE installation SET specialists_planted_at = NULL", [])
        .unwrap();
    let server = Server::start(folder.path());
    assert_eq!(names(&server).await.len(), 4 + 4);
    delete(&server, "fixing-specialist").await;
    server.stop();
    let server = Server::start(folder.path());
    assert_eq!(names(&server).await.len(), 4 + 3);
}

#[tokio::test]
async fn the_demo_has_only_its_own_agents() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("demo");
    let demo = Chorus::new(["demo", "--once", "--port", "0", "--pace", "0", "--data-dir"]);
    let output = tokio::task::spawn_blocking({
        let folder = folder.clone();
        move || demo.argument(folder).output()
    });
    let output = output.await.unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    // This stays so when the data is served later.
    let server = Server::start(&folder);
    assert_eq!(names(&server).await.len(), 13);
}
