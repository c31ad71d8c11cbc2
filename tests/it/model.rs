//! Random calls compared with a simple model: sequential and concurrent.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::call::{Call, Verb};
use crate::support::model::{AGENTS, Model};
use crate::support::{Random, TestApp, env_number};

/// One step of a sequence: a new call, or a repetition of an earlier one.
#[derive(Debug, Clone)]
enum Step {
    New {
        verb: Verb,
        task: usize,
        key: Option<u8>,
        tick: i64,
    },
    Repeat {
        back: usize,
    },
}

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{1,8}",
        2 => any::<String>().prop_map(|text| text.replace('\0', "")),
        1 => Just(" ".to_owned()),
    ]
}

fn any_status() -> impl Strategy<Value = Value> {
    let words = prop::sample::select(vec!["pending", "active", "waiting", "completed", "failed"]);
    prop_oneof![
        words.prop_map(|word| json!(word)),
        any_text().prop_map(|message| json!({ "type": "failed", "message": message })),
    ]
}

fn any_change() -> impl Strategy<Value = Value> {
    let texts = || weighted(0.4, vec(any_text(), 0..3));
    (weighted(0.6, any_text()), texts(), texts(), texts())
        .prop_map(|(summary, requirements, criteria, plan)| {
            let fields = [
                ("summary", json!(summary)),
                ("requirements", json!(requirements)),
                ("acceptanceCriteria", json!(criteria)),
                ("plan", json!(plan)),
            ];
            fields
                .into_iter()
                .filter(|(_, value)| !value.is_null())
                .collect::<HashMap<_, _>>()
        })
        .prop_map(|change| json!(change))
}

fn any_verb() -> impl Strategy<Value = Verb> {
    let filename = || prop::sample::select(vec!["a", "b"]);
    let agent = prop::sample::select(AGENTS.to_vec()).prop_map(|(name, _)| name);
    prop_oneof![
        2 => any_text().prop_map(|description| Verb::Create { description }),
        5 => (agent, any_text(), proptest::option::of(any_text()), prop::bool::weighted(0.05))
            .prop_map(|(agent, prompt, reason, resume)| Verb::Start { agent, prompt, reason, resume }),
        3 => any_text().prop_map(|output| Verb::Complete { output }),
        2 => proptest::option::of(any_text()).prop_map(|reason| Verb::Cancel { reason }),
        2 => any_status().prop_map(|status| Verb::SetStatus { status }),
        2 => any_change().prop_map(|change| Verb::Plan { change }),
        2 => any_text().prop_map(|content| Verb::Queue { content }),
        2 => (filename(), any_text()).prop_map(|(filename, bytes)| Verb::Attach { filename, bytes }),
        1 => filename().prop_map(|filename| Verb::Detach { filename }),
    ]
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => (any_verb(), 0..4_usize, weighted(0.4, 0..6_u8), 0..3_i64)
            .prop_map(|(verb, task, key, tick)| Step::New { verb, task, key, tick }),
        1 => (0..8_usize).prop_map(|back| Step::Repeat { back }),
    ]
}

/// Applies a sequence to an app and to the model, and compares every answer and the final state.
async fn compare(steps: Vec<Step>) {
    let app = TestApp::new().await;
    let mut model = Model::new(app.data_dir.workspaces());
    let mut sent: Vec<Call> = Vec::new();
    // Most verbs need a task, so every sequence starts with two.
    let start = ["one", "two"].map(|description| Step::New {
        verb: Verb::Create {
            description: description.to_owned(),
        },
        task: 0,
        key: None,
        tick: 0,
    });
    for step in start.into_iter().chain(steps) {
        let call = match step {
            Step::New {
                verb,
                task,
                key,
                tick,
            } => {
                app.clock.advance(tick);
                let task = model.tasks.get(task).map(|model| &model.task["id"]);
                Call {
                    task: task.and_then(Value::as_str).unwrap_or("nowhere").to_owned(),
                    verb,
                    key: key.map(|key| format!("key-{key}")),
                }
            }
            Step::Repeat { back } => match sent.iter().rev().nth(back) {
                Some(call) => call.clone(),
                None => continue,
            },
        };
        let reply = app.send(call.request()).await;
        let data = reply.json()["data"].clone();
        model
            .apply(&call, app.clock.now().as_millis(), &data)
            .assert_matches(&reply);
        sent.push(call);
    }
    compare_state(&app, &model).await;
    app.engine.close().await;
    app.assert_invariants();
}

async fn compare_state(app: &TestApp, model: &Model) {
    let tasks: Vec<_> = model.tasks.iter().map(|model| &model.task).collect();
    assert_eq!(app.get("/api/tasks?limit=1000").await.data(), json!(tasks));
    for model in &model.tasks {
        let path = format!("/api/tasks/{}", model.task["id"].as_str().unwrap());
        assert_eq!(app.get(&path).await.data(), model.task);
        let mut history = app.get(&format!("{path}/history")).await.data();
        let events = history["events"].as_array_mut().unwrap();
        let number = |event: &mut Value| {
            event
                .as_object_mut()
                .unwrap()
                .remove("number")
                .unwrap()
                .as_i64()
        };
        let numbers: Vec<_> = events.iter_mut().map(number).collect();
        assert!(numbers.is_sorted_by(|one, next| one < next));
        assert_eq!(*events, model.events);
        let queue = app.get(&format!("{path}/queue")).await.data();
        assert_eq!(queue, json!({ "messages": model.messages }));
        let handoffs = app.get(&format!("{path}/handoffs")).await.data();
        let request = |handoff: &Value| json!((&handoff["prompt"], &handoff["reason"]));
        let requests: Vec<_> = handoffs.as_array().unwrap().iter().map(request).collect();
        assert_eq!(json!(requests), json!(model.requests));
        for (filename, bytes) in &model.files {
            let file = app.get(&format!("{path}/attachments/{filename}")).await;
            assert_eq!(file.body, bytes.as_bytes());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 32 * env_number("CHORUS_TEST_CASES", 1),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn every_answer_matches_the_model(steps in vec(any_step(), 1..60)) {
        Runtime::new().unwrap().block_on(compare(steps));
    }
}

/// A call and its answer, if it was not refused.
type Answered = (Call, Option<Value>);

/// Sends random calls about a few tasks. Every text is unique, so that it can be recognised.
async fn send_calls(
    app: Arc<TestApp>,
    mut random: Random,
    name: usize,
    tasks: Vec<String>,
) -> Vec<Answered> {
    let mut answered = Vec::new();
    for number in 0..25 {
        let text = format!("{name}.{number}");
        let verb = match random.below(12) {
            0..4 => Verb::Start {
                agent: random.one_of::<&str>(&["developer", "QA"]),
                prompt: text,
                reason: None,
                resume: false,
            },
            4..6 => Verb::Complete { output: text },
            6 => Verb::Cancel { reason: Some(text) },
            7 => Verb::SetStatus {
                status: json!({ "type": "failed", "message": text }),
            },
            8 => Verb::Queue { content: text },
            9 => Verb::Attach {
                filename: "a",
                bytes: text,
            },
            10 => Verb::Detach { filename: "a" },
            _ => Verb::Plan {
                change: json!({ "summary": text }),
            },
        };
        let mut call = Call {
            task: random.one_of(&tasks).clone(),
            verb,
            key: None,
        };
        // All callers share some calls: the same idempotency key for the same call.
        if random.once_in(4) {
            let shared = random.below(6);
            call.task.clone_from(&tasks[shared % tasks.len()]);
            call.key = Some(format!("shared-{shared}"));
            call.verb = Verb::Start {
                agent: "planner",
                prompt: format!("shared {shared}"),
                reason: None,
                resume: false,
            };
        }
        let reply = app.send(call.request()).await;
        let status = reply.status.as_u16();
        let is_refused =
            status == 409 || (status == 404 && matches!(call.verb, Verb::Detach { .. }));
        let done = (!is_refused).then(|| reply.data());
        answered.push((call, done));
    }
    answered
}

/// Checks that the answers explain a task's chain and history completely.
async fn assert_explained(app: &TestApp, task: &str, answered: &[Answered]) {
    let path = format!("/api/tasks/{task}");
    let chain = app.get(&path).await.data()["agentChain"].clone();
    let chain = chain.as_array().unwrap();
    let mut changes: BTreeMap<&str, usize> = BTreeMap::from([("task_created", 1)]);
    let mut started = BTreeSet::new();
    let mut keys: HashMap<&str, &Value> = HashMap::new();
    for (call, answer) in answered.iter().filter(|(call, _)| call.task == task) {
        let Some(answer) = answer else { continue };
        if let Some(key) = &call.key
            && let Some(first) = keys.insert(key, answer)
        {
            assert_eq!(first, answer, "the key {key} has two answers");
            continue;
        }
        let event = match &call.verb {
            Verb::Start { .. } => {
                let entry = answer["agentChain"].as_array().unwrap().last().unwrap();
                assert!(
                    started.insert(entry["id"].to_string()),
                    "{entry} was started twice"
                );
                "agent_handoff_started"
            }
            Verb::Complete { output: text } | Verb::Cancel { reason: Some(text) } => {
                let entry = answer["agentChain"].as_array().unwrap().last().unwrap();
                assert_eq!(entry["output"], *text);
                assert!(chain.contains(entry), "{entry} was overwritten");
                match call.verb {
                    Verb::Complete { .. } => {
                        if !text.trim().is_empty() {
                            *changes.entry("message_added").or_default() += 1;
                        }
                        "agent_handoff_completed"
                    }
                    _ => "agent_handoff_cancelled",
                }
            }
            Verb::SetStatus { .. } => "status_changed",
            Verb::Queue { .. } => "message_queued",
            Verb::Attach { .. } => "attachment_added",
            Verb::Detach { .. } => "attachment_removed",
            _ => "planning_updated",
        };
        *changes.entry(event).or_default() += 1;
    }
    let stored: BTreeSet<_> = chain.iter().map(|entry| entry["id"].to_string()).collect();
    assert_eq!(stored, started);
    let history = app.get(&format!("{path}/history")).await.data();
    let mut events: BTreeMap<&str, usize> = BTreeMap::new();
    let mut is_open = false;
    for event in history["events"].as_array().unwrap() {
        let event_type = event["eventType"].as_str().unwrap();
        *events.entry(event_type).or_default() += 1;
        if event_type.starts_with("agent_handoff_") {
            let starts = event_type == "agent_handoff_started";
            assert_ne!(
                starts, is_open,
                "starts and ends do not alternate: {history}"
            );
            is_open = starts;
        }
    }
    assert_eq!(events, changes);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_calls_have_a_sequential_explanation() {
    let mut random = Random::new();
    for _ in 0..4 * env_number("CHORUS_TEST_CASES", 1) {
        let app = Arc::new(TestApp::new().await);
        let mut tasks = Vec::new();
        for number in 0..3 {
            tasks.push(app.task(&format!("task {number}")).await);
        }
        let workers: Vec<_> = (0..12)
            .map(|name| tokio::spawn(send_calls(app.clone(), random.fork(), name, tasks.clone())))
            .collect();
        let mut answered = Vec::new();
        for worker in workers {
            answered.extend(worker.await.unwrap());
        }
        for task in &tasks {
            assert_explained(&app, task, &answered).await;
        }
        app.engine.close().await;
        app.assert_invariants();
    }
}
