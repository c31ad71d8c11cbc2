//! Plans and files travel from a task to the tasks that stand for it.

use chorus::client::Client;
use chorus::domain::{Outcome, Task};
use reqwest::Method;
use serde_json::{Value, json};

use super::{client_of_run, expect_refusal, waiting_agents};
use crate::support::{
    Events, Sandbox, create_task, hand_off, last_handoff_id, run_agent, start_handoff, wait_for_end,
};

const PLAN: &str = "chorus task plan --summary 'A parser' --requirement 'Reads CSV' --criterion 'Tests pass' --step 'Write it'";

async fn task(client: &Client, id: &str) -> Value {
    let path = format!("/api/tasks/{id}");
    client.get(&path, &[]).await.unwrap().data().unwrap()
}

async fn tasks(client: &Client) -> Vec<Task> {
    client.get("/api/tasks", &[]).await.unwrap().data().unwrap()
}

async fn history(client: &Client, id: &str) -> Vec<String> {
    let path = format!("/api/tasks/{id}/history");
    let history: Value = client.get(&path, &[]).await.unwrap().data().unwrap();
    let events = history["events"].as_array().unwrap().iter();
    events
        .map(|event| event["eventType"].as_str().unwrap().to_owned())
        .collect()
}

/// Returns the status and the body of a file of a task.
async fn file(client: &Client, task: &str, name: &str) -> (u16, String) {
    let path = format!("/api/tasks/{task}/attachments/{name}");
    let response = client.request(Method::GET, &path).send().await.unwrap();
    (response.status().as_u16(), response.text().await.unwrap())
}

async fn attach(client: &Client, task: &str, name: &str, bytes: &'static str) {
    let path = format!("/api/tasks/{task}/attachments?filename={name}");
    let request = client.request(Method::POST, &path).body(bytes);
    assert!(request.send().await.unwrap().status().is_success());
}

async fn detach(client: &Client, task: &str, name: &str) {
    let path = format!("/api/tasks/{task}/attachments/{name}");
    let request = client.request(Method::DELETE, &path);
    assert!(request.send().await.unwrap().status().is_success());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_planner_plans_the_task_of_its_caller_and_the_next_agent_sees_the_plan() {
    let sandbox = Sandbox::new()
        .with_agent(
            "orchestrator",
            "chorus handoff planner 'Plan it' && chorus handoff developer 'Do it'",
        )
        .with_agent("planner", PLAN)
        .with_agent("developer", "cat");
    let server = sandbox.serve(1);
    let client = server.client();
    let handoff = run_agent(&client, "orchestrator").await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    for part in [
        "## Summary\n\n> A parser\n",
        "## Requirements\n\n> - Reads CSV\n",
        "## Acceptance criteria\n\n> - Tests pass\n",
        "## Plan\n\n> - Write it\n",
    ] {
        assert!(handoff.output.as_str().contains(part), "{}", handoff.output);
    }
    let tasks = tasks(&client).await;
    let [parent, planned, developed] = &tasks[..] else {
        panic!("{tasks:?}")
    };
    let whole = task(&client, parent.id.as_str()).await;
    assert_eq!(
        (&whole["taskType"], &whole["sharedPlan"]),
        (&json!("planned"), &Value::Null)
    );
    for child in [planned, developed] {
        let child = task(&client, child.id.as_str()).await;
        for key in [
            "taskType",
            "summary",
            "requirements",
            "acceptanceCriteria",
            "plan",
        ] {
            assert_eq!(child[key], whole[key], "{key}");
        }
        assert_eq!(child["sharedPlan"], json!({ "taskId": parent.id }));
        let events = history(&client, child["id"].as_str().unwrap()).await;
        assert!(!events.contains(&"planning_updated".to_owned()));
    }
    let events = history(&client, parent.id.as_str()).await;
    assert!(
        events.contains(&"planning_updated".to_owned()),
        "{events:?}"
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_plan_that_changes_is_the_plan_of_every_open_child() {
    let sandbox = waiting_agents(&["a", "b"]).with_agent("reader", "cat");
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "a").await;
    let run_a = client_of_run(&server, &mut events, &first).await;
    let body = json!({ "agentName": "b", "prompt": "p" });
    let second = hand_off(&run_a, &first, &body).await.unwrap();
    let run_b = client_of_run(&server, &mut events, &second).await;
    // A person plans the first task while agents work below it.
    let path = format!("/api/tasks/{}/planning", first.id);
    let plan = json!({ "summary": "The new plan" });
    client.send_json(Method::PUT, &path, &plan).await.unwrap();
    let body = json!({ "agentName": "reader", "prompt": "p" });
    let third = hand_off(&run_b, &second, &body).await.unwrap();
    let read = wait_for_end(&client, last_handoff_id(&third)).await;
    assert!(
        read.output.as_str().contains("> The new plan"),
        "{}",
        read.output
    );
    // The plan of a child of a child is held by the first task, which a run plans by any of these ids.
    for id in [&first.id, &second.id, &third.id] {
        let path = format!("/api/tasks/{id}/planning");
        let plan = json!({ "summary": format!("By {id}") });
        let planned = run_b.send_json(Method::PUT, &path, &plan).await.unwrap();
        assert_eq!(planned.data::<Value>().unwrap()["id"], id.as_str());
        let holder = task(&client, first.id.as_str()).await;
        assert_eq!(holder["summary"], format!("By {id}"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_plans_only_the_plan_of_its_own_task_and_changes_nothing_else_above() {
    let sandbox = waiting_agents(&["a", "b"]);
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "a").await;
    let run_a = client_of_run(&server, &mut events, &first).await;
    let body = json!({ "agentName": "b", "prompt": "p" });
    let second = hand_off(&run_a, &first, &body).await.unwrap();
    let run_b = client_of_run(&server, &mut events, &second).await;
    let stranger = create_task(&client).await;
    for (path, body) in [
        (
            format!("/api/tasks/{}/planning", stranger.id),
            json!({ "summary": "forged" }),
        ),
        (
            format!("/api/tasks/{}/status", first.id),
            json!({ "status": "completed" }),
        ),
    ] {
        let refused = run_b.send_json(Method::PUT, &path, &body).await;
        let (status, code, _) = expect_refusal(refused);
        assert_eq!((status, code.as_str()), (403, "FORBIDDEN"), "{path}");
    }
    // A task that a run creates is other work, with a plan of its own.
    let created = json!({ "description": "something else" });
    let own = run_b.send_json(Method::POST, "/api/tasks", &created).await;
    let own: Value = own.unwrap().data().unwrap();
    assert_eq!(own["sharedPlan"], Value::Null);
    let path = format!("/api/tasks/{}/planning", own["id"].as_str().unwrap());
    let plan = json!({ "summary": "its own" });
    run_b.send_json(Method::PUT, &path, &plan).await.unwrap();
    assert_eq!(
        task(&client, first.id.as_str()).await["taskType"],
        "descriptionOnly"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_stages_of_an_increment_have_one_plan_which_their_agents_cannot_change() {
    let sandbox = waiting_agents(&["a"]).with_specialist(
        "coder",
        "implementation",
        &[],
        "echo $CHORUS_HANDOFF_ID $CHORUS_TOKEN; exec sleep 600",
    );
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let parent = start_handoff(&client, "a").await;
    let run = client_of_run(&server, &mut events, &parent).await;
    let path = format!("/api/tasks/{}/planning", parent.id);
    let plan = json!({ "acceptanceCriteria": ["It works"] });
    run.send_json(Method::PUT, &path, &plan).await.unwrap();
    attach(&client, parent.id.as_str(), "notes.txt", "read me").await;
    let increment = json!({ "title": "Parser", "description": "Write it" });
    let made = run
        .send_json(Method::POST, "/api/increments", &increment)
        .await;
    let made: Value = made.unwrap().data().unwrap();
    let stages = made["tasks"].as_array().unwrap();
    assert_eq!(stages.len(), 3);
    for stage in stages {
        assert_eq!(stage["acceptanceCriteria"], json!(["It works"]));
        assert_eq!(stage["sharedPlan"], json!({ "taskId": parent.id }));
        assert_eq!(stage["attachments"][0]["filename"], "notes.txt");
    }
    let first: Task = serde_json::from_value(stages[0].clone()).unwrap();
    events
        .wait_for_on(first.id.as_str(), "agent_handoff_started", "coder")
        .await;
    let first: Task = serde_json::from_value(task(&client, first.id.as_str()).await).unwrap();
    let coder = client_of_run(&server, &mut events, &first).await;
    for id in [&first.id, &parent.id] {
        let path = format!("/api/tasks/{id}/planning");
        let plan = json!({ "acceptanceCriteria": ["It compiles"] });
        let refused = coder.send_json(Method::PUT, &path, &plan).await;
        let (status, _, message) = expect_refusal(refused);
        assert_eq!(status, 403);
        assert!(message.contains("stage of an increment"), "{message}");
    }
    // The run that made the increment may, by the id of a stage too.
    let path = format!("/api/tasks/{}/planning", first.id);
    run.send_json(Method::PUT, &path, &plan).await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_child_has_the_files_of_its_parent_and_neither_loses_them_by_the_other() {
    let sandbox = waiting_agents(&["a", "b"]);
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "a").await;
    let parent = first.id.as_str();
    attach(&client, parent, "one.txt", "first").await;
    attach(&client, parent, "two.txt", "second").await;
    let run = client_of_run(&server, &mut events, &first).await;
    let body = json!({ "agentName": "b", "prompt": "p" });
    let child = hand_off(&run, &first, &body).await.unwrap();
    let child = child.id.as_str();
    let ok = |text: &str| (200, text.to_owned());
    assert_eq!(file(&client, child, "one.txt").await, ok("first"));
    detach(&client, parent, "one.txt").await;
    assert_eq!(file(&client, parent, "one.txt").await.0, 404);
    assert_eq!(file(&client, child, "one.txt").await, ok("first"));
    // The name is free again, and names other bytes in each task.
    attach(&client, parent, "one.txt", "changed").await;
    assert_eq!(file(&client, child, "one.txt").await, ok("first"));
    detach(&client, child, "two.txt").await;
    assert_eq!(file(&client, parent, "two.txt").await, ok("second"));
    // An export has the files of both.
    let to = sandbox.path("export");
    let exported = server.chorus(["export", to.to_str().unwrap()]).output();
    assert!(exported.status.success(), "{exported:?}");
    for (task, text) in [(parent, "changed"), (child, "first")] {
        let copy = to.join(format!("registry/{task}/attachments/one.txt"));
        assert_eq!(std::fs::read_to_string(copy).unwrap(), text);
    }
    // The bytes are removed with the last attachment that uses them.
    let files = || {
        let uploads = std::fs::read_dir(sandbox.data_dir.join("uploads").join(parent));
        uploads.unwrap().count()
    };
    assert_eq!(files(), 3);
    detach(&client, child, "one.txt").await;
    assert_eq!(files(), 2);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_import_keeps_the_plan_shared() {
    let sandbox = waiting_agents(&["a", "b"]);
    let server = sandbox.serve(2);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let first = start_handoff(&client, "a").await;
    let run = client_of_run(&server, &mut events, &first).await;
    let body = json!({ "agentName": "b", "prompt": "p" });
    let child = hand_off(&run, &first, &body).await.unwrap();
    let path = format!("/api/tasks/{}/planning", child.id);
    run.send_json(Method::PUT, &path, &json!({ "summary": "One plan" }))
        .await
        .unwrap();
    let to = sandbox.path("export");
    let exported = server.chorus(["export", to.to_str().unwrap()]).output();
    assert!(exported.status.success(), "{exported:?}");
    drop(server);
    let other = Sandbox::new();
    let imported = crate::support::Chorus::new(["import", to.to_str().unwrap()])
        .env("CHORUS_DATA_DIR", &other.data_dir)
        .output();
    assert!(imported.status.success(), "{imported:?}");
    let shared = other.query(
        "SELECT group_concat(coalesce(t.summary, '-') || ' ' || coalesce(p.summary, '-'), '; ')
           FROM tasks t LEFT JOIN tasks p ON p.number = t.plan_number",
    );
    assert_eq!(shared, "One plan -; - One plan");
    other.assert_invariants();
}
