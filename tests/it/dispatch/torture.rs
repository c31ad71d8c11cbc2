//! A server that is killed again and again while requests are left, approved and worked on.

use std::collections::HashMap;
use std::time::Duration;

use chorus::domain::{Request, RequestState};
use reqwest::Method;
use serde_json::json;

use super::route;
use crate::support::{Operator, Random, Workshop, env_number};

/// How many requests are left in one round.
const REQUESTS: usize = 12;

/// Leaves and approves requests until the server is gone. Returns those whose approval was answered.
async fn leave_until_gone(operator: Operator) -> Vec<Request> {
    let mut approved = Vec::new();
    for number in 0..REQUESTS {
        let priority = ["P0", "P1", "P2"][number % 3];
        let body = json!({ "title": format!("Number {number}"), "body": "", "kind": "fix", "priority": priority });
        let left = operator
            .client
            .send_json(Method::POST, "/api/requests", &body)
            .await;
        let Ok(left) = left else { break };
        let left: Request = left.data().unwrap();
        match operator.post(&left, "approve", &json!({})).await {
            Ok(_) => approved.push(left),
            Err(_) => break,
        }
    }
    approved
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_was_approved_is_lost_or_done_twice_however_often_the_server_is_killed() {
    let rounds = env_number("CHORUS_CRASH_ROUNDS", 3);
    let workshop = Workshop::new();
    let ran = workshop.path("ran");
    let script = format!(
        "sed -n 's/^.Request \\([^ ]*\\) .*/\\1/p' >>{}; echo done",
        ran.display()
    );
    let workshop = workshop.agent("worker", &script);
    let mut random = Random::new();
    let mut approved = Vec::new();
    for _ in 0..rounds {
        let server = workshop.serve_with(3, &["--port", "0", "--debounce-seconds", "0"]);
        let operator = Operator::of(&server);
        operator
            .set_kind_rules(&json!([route("fix", "worker", 1.0)]))
            .await;
        let leaving = tokio::spawn(leave_until_gone(operator));
        // Any moment will do; which one is the point.
        tokio::time::sleep(Duration::from_millis(random.number() % 150)).await;
        server.kill();
        approved.extend(leaving.await.unwrap());
    }
    let server = workshop.serve_with(3, &["--port", "0", "--debounce-seconds", "0"]);
    let operator = Operator::of(&server);
    for request in &approved {
        let done = operator.wait_for_state(request, RequestState::Done).await;
        assert_eq!((done.attempts, done.recovery.len()), (1, 0), "{done:?}");
    }
    workshop.until_quiet();
    let mut times: HashMap<String, usize> = HashMap::new();
    for line in std::fs::read_to_string(&ran).unwrap_or_default().lines() {
        *times.entry(line.to_owned()).or_default() += 1;
    }
    for request in &approved {
        assert_eq!(times.get(request.id.as_str()), Some(&1), "{}", request.id);
    }
    workshop.assert_invariants();
}
