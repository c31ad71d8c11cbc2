//! Readiness of tasks compared with a simple model: random dependencies, outcomes and reopened tasks.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::support::{TestApp, env_number};

const OUTCOMES: [&str; 3] = ["completed", "failed", "any"];
const STATUSES: [&str; 5] = ["pending", "active", "waiting", "completed", "failed"];

/// A change of the dependency graph. Tasks are given by index, modulo their number.
#[derive(Debug, Clone)]
enum Verb {
    Create {
        priority: u8,
        depends_on: Vec<(usize, usize)>,
    },
    Depend {
        task: usize,
        depends_on: Vec<(usize, usize)>,
    },
    SetStatus {
        task: usize,
        status: usize,
    },
    SetPriority {
        task: usize,
        priority: u8,
    },
}

fn any_verb() -> impl Strategy<Value = Verb> {
    let edges = || proptest::collection::vec((0..100_usize, 0..3_usize), 0..4);
    prop_oneof![
        3 => (0..5_u8, edges()).prop_map(|(priority, depends_on)| Verb::Create { priority, depends_on }),
        2 => (0..100_usize, edges()).prop_map(|(task, depends_on)| Verb::Depend { task, depends_on }),
        6 => (0..100_usize, 0..5_usize).prop_map(|(task, status)| Verb::SetStatus { task, status }),
        1 => (0..100_usize, 0..5_u8).prop_map(|(task, priority)| Verb::SetPriority { task, priority }),
    ]
}

#[derive(Debug, Clone)]
struct ModelTask {
    priority: u8,
    status: &'static str,
    depends_on: BTreeMap<usize, &'static str>,
}

/// The expected tasks.
#[derive(Debug, Default)]
struct Model(Vec<ModelTask>);

impl Model {
    fn edges(&self, indexes: &[(usize, usize)]) -> BTreeMap<usize, &'static str> {
        let known = indexes.iter().filter(|_| !self.0.is_empty());
        known
            .map(|(task, outcome)| (task % self.0.len(), OUTCOMES[*outcome]))
            .collect()
    }

    /// Returns whether a task can be reached along dependencies.
    fn reaches(&self, from: &BTreeMap<usize, &'static str>, task: usize) -> bool {
        let mut seen = std::collections::HashSet::new();
        let mut stack: Vec<usize> = from.keys().copied().collect();
        while let Some(next) = stack.pop() {
            if next == task {
                return true;
            }
            if seen.insert(next) {
                stack.extend(self.0[next].depends_on.keys());
            }
        }
        false
    }

    fn is_met(&self, task: usize, outcome: &str) -> bool {
        match self.0[task].status {
            "completed" => outcome != "failed",
            "failed" => outcome != "completed",
            _ => false,
        }
    }

    /// Lists the ready tasks, most urgent and oldest first.
    fn ready(&self) -> Vec<usize> {
        let mut ready: Vec<usize> = (0..self.0.len())
            .filter(|task| {
                let task = &self.0[*task];
                task.status == "pending"
                    && task
                        .depends_on
                        .iter()
                        .all(|(on, outcome)| self.is_met(*on, outcome))
            })
            .collect();
        ready.sort_by_key(|task| (self.0[*task].priority, *task));
        ready
    }
}

fn to_json(ids: &[String], depends_on: &BTreeMap<usize, &'static str>) -> Value {
    let edges = depends_on.iter().map(|(task, outcome)| {
        // Both notations mean the same.
        if *outcome == "completed" && task % 2 == 0 {
            json!(ids[*task])
        } else {
            json!({ "taskId": ids[*task], "outcome": outcome })
        }
    });
    edges.collect()
}

async fn ready(app: &TestApp, limit: usize) -> Vec<String> {
    let mut all = Vec::new();
    let mut path = format!("/api/ready?limit={limit}");
    loop {
        let page = app.get(&path).await.json();
        let tasks = page["data"].as_array().unwrap().clone();
        all.extend(
            tasks
                .iter()
                .map(|task| task["id"].as_str().unwrap().to_owned()),
        );
        match page["meta"]["next"].as_str() {
            None => return all,
            Some(next) => path = format!("/api/ready?limit={limit}&after={next}"),
        }
    }
}

async fn compare(verbs: Vec<Verb>) {
    let app = TestApp::new().await;
    let (mut model, mut ids) = (Model::default(), Vec::new());
    for verb in verbs {
        match verb {
            Verb::Create {
                priority,
                depends_on,
            } => {
                let depends_on = model.edges(&depends_on);
                let body = json!({ "description": "d", "priority": priority, "dependsOn": to_json(&ids, &depends_on) });
                let made = app.post("/api/tasks", body).await.data();
                ids.push(made["id"].as_str().unwrap().to_owned());
                model.0.push(ModelTask {
                    priority,
                    status: "pending",
                    depends_on,
                });
            }
            _ if ids.is_empty() => continue,
            Verb::Depend { task, depends_on } => {
                let task = task % ids.len();
                let depends_on = model.edges(&depends_on);
                let body = json!({ "dependsOn": to_json(&ids, &depends_on) });
                let reply = app.patch(&format!("/api/tasks/{}", ids[task]), body).await;
                if model.reaches(&depends_on, task) {
                    assert_eq!(reply.error(), (409, "CONFLICT".to_owned()));
                    let message = reply.json()["error"]["message"]
                        .as_str()
                        .unwrap()
                        .to_owned();
                    assert!(
                        message.matches(ids[task].as_str()).count() >= 2,
                        "the message does not name the cycle: {message}"
                    );
                } else {
                    reply.data();
                    model.0[task].depends_on = depends_on;
                }
            }
            Verb::SetStatus { task, status } => {
                let task = task % ids.len();
                let status = STATUSES[status];
                app.put(
                    &format!("/api/tasks/{}/status", ids[task]),
                    json!({ "status": status }),
                )
                .await
                .data();
                model.0[task].status = status;
            }
            Verb::SetPriority { task, priority } => {
                let task = task % ids.len();
                let path = format!("/api/tasks/{}", ids[task]);
                app.patch(&path, json!({ "priority": priority }))
                    .await
                    .data();
                model.0[task].priority = priority;
            }
        }
        let expected: Vec<_> = model
            .ready()
            .into_iter()
            .map(|task| ids[task].clone())
            .collect();
        assert_eq!(ready(&app, 1000).await, expected);
        assert_eq!(ready(&app, 2).await, expected, "page by page");
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12 * env_number("CHORUS_TEST_CASES", 1),
        ..ProptestConfig::default()
    })]

    #[test]
    fn ready_tasks_match_the_model(verbs in proptest::collection::vec(any_verb(), 1..40)) {
        tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(compare(verbs));
    }
}

#[tokio::test]
async fn a_dependency_cycle_is_refused_and_named() {
    let app = TestApp::new().await;
    let mut ids = Vec::new();
    for _ in 0..3 {
        let before: Vec<&String> = ids.last().into_iter().collect();
        let made = app
            .post(
                "/api/tasks",
                json!({ "description": "d", "dependsOn": before }),
            )
            .await
            .data();
        ids.push(made["id"].as_str().unwrap().to_owned());
    }
    let path = format!("/api/tasks/{}", ids[0]);
    let refused = app.patch(&path, json!({ "dependsOn": [ids[2]] })).await;
    assert_eq!(refused.error(), (409, "CONFLICT".to_owned()));
    let chain = [&ids[0], &ids[2], &ids[1], &ids[0]]
        .map(String::as_str)
        .join(" → ");
    assert_eq!(
        refused.json()["error"]["message"],
        format!("dependsOn: the dependencies would form a cycle: {chain}. Remove one of them")
    );
    let itself = app.patch(&path, json!({ "dependsOn": [ids[0]] })).await;
    assert_eq!(itself.error(), (409, "CONFLICT".to_owned()));
    assert_eq!(
        app.get(&path).await.data()["dependsOn"],
        json!([]),
        "nothing was written"
    );
}

#[tokio::test]
async fn a_status_change_with_sqlite3_updates_readiness() {
    let app = TestApp::new().await;
    let first = app.task("first").await;
    let made = app
        .post(
            "/api/tasks",
            json!({ "description": "second", "dependsOn": [first] }),
        )
        .await
        .data();
    let second = made["id"].as_str().unwrap().to_owned();
    assert_eq!(ready(&app, 10).await, std::slice::from_ref(&first));
    // An operator completes the first task with sqlite3.
    let database = crate::support::invariants::open(&app.data_dir.database());
    let changed = database.execute(
        "UPDATE tasks SET status = 'completed' WHERE id = $1",
        [&first],
    );
    assert_eq!(changed.unwrap(), 1);
    assert_eq!(ready(&app, 10).await, [second]);
}
