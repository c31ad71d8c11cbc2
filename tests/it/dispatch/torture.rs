//! A server that is killed again and again while requests are created, approved and worked on.

use std::collections::HashMap;
use std::time::Duration;

use chorus::domain::{Request, RequestState};
use reqwest::Method;
use serde_json::json;

use super::{kind_rule, serve};
use crate::support::{Operator, Random, Sandbox, env_number};

/// The number of requests per round.
const REQUESTS: usize = 12;

/// Creates and approves requests until the server is gone. Returns those whose approval was acknowledged.
async fn create_until_gone(operator: Operator) -> Vec<Request> {
    let mut approved = Vec::new();
    for number in 0..REQUESTS {
        let priority = ["P0", "P1", "P2"][number % 3];
        let body = json!({ "title": format!("Number {number}"), "body": "", "kind": "fix", "priority": priority });
        let created = operator
            .client
            .send_json(Method::POST, "/api/requests", &body)
            .await;
        let Ok(created) = created else { break };
        let created: Request = created.data().unwrap();
        match operator.post(&created, "approve", &json!({})).await {
            Ok(_) => approved.push(created),
            Err(_) => break,
        }
    }
    approved
}

#[tokio::test(flavor = "multi_thread")]
async fn no_approved_request_is_lost_or_done_twice_by_kills_of_the_server() {
    let rounds = env_number("CHORUS_CRASH_ROUNDS", 3);
    let sandbox = Sandbox::new();
    let ran = sandbox.path("ran");
    let script = format!(
        "sed -n 's/^.Request \\([^ ]*\\) .*/\\1/p' >>{}; echo done",
        ran.display()
    );
    let sandbox = sandbox.with_agent("worker", &script);
    let mut random = Random::new();
    let mut approved = Vec::new();
    for _ in 0..rounds {
        let server = serve(&sandbox, 3);
        let operator = Operator::of(&server);
        operator
            .set_kind_rules(&json!([kind_rule("fix", "worker", 1.0)]))
            .await;
        let creating = tokio::spawn(create_until_gone(operator));
        // The kill comes at a random moment; the sleep waits for nothing.
        tokio::time::sleep(Duration::from_millis(random.number() % 150)).await;
        server.kill();
        approved.extend(creating.await.unwrap());
    }
    let server = serve(&sandbox, 3);
    let operator = Operator::of(&server);
    for request in &approved {
        let done = operator.wait_for_state(request, RequestState::Done).await;
        assert_eq!((done.attempts, done.recovery.len()), (1, 0), "{done:?}");
    }
    sandbox.wait_until_no_process();
    let mut times: HashMap<String, usize> = HashMap::new();
    for line in std::fs::read_to_string(&ran).unwrap_or_default().lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    for request in &approved {
        assert_eq!(times.get(request.id.as_str()), Some(&1), "{}", request.id);
    }
    sandbox.assert_invariants();
}
