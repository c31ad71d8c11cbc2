//! `chorus stats`

use insta::assert_snapshot;
use serde_json::json;

use super::Desk;

/// Hands a task to an agent, which takes so long and ends so.
async fn hand_off(desk: &Desk, agent: &str, millis: i64, verb: &str) {
    let id = desk.app.task("d").await;
    let at = |path: &str| format!("/api/tasks/{id}/{path}");
    let body = json!({ "agentName": agent, "prompt": "p" });
    desk.app.post(&at("handoff"), body).await.data();
    desk.app.clock.advance(millis);
    if verb == "cancel" {
        desk.app.post(&at("handoff/cancel"), json!({})).await.data();
    } else {
        let body = json!({ "output": "done" });
        desk.app.put(&at("handoff/complete"), body).await.data();
    }
}

#[tokio::test]
async fn figures_of_nothing_are_shown() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["stats"]).await, @"
    exit 0
    --- stdout
    hand-offs  0 (0 open)
    success    - (0 of 0 ended)
    time       median -, p95 -
    cost       -
    bounces    0
    --- stderr
    ");
}

#[tokio::test]
async fn figures_are_shown_by_pair_and_path() {
    let desk = Desk::open().await;
    hand_off(&desk, "developer", 83_000, "complete").await;
    hand_off(&desk, "developer", 350, "complete").await;
    hand_off(&desk, "developer", 7_260_000, "cancel").await;
    let names = ["planner", "developer", "qa", "developer"];
    for pair in names.windows(2) {
        let body = json!({
            "fromAgent": pair[0], "toAgent": pair[1], "reason": "r", "userIntent": "i", "conversationHistory": [],
            "invoke": false,
        });
        desk.app.post("/api/sessions/s/handoffs", body).await.data();
    }
    assert_snapshot!(desk.run(["stats"]).await, @"
    exit 0
    --- stdout
    hand-offs  6 (0 open)
    success    83 % (5 of 6 ended)
    time       median 1 min 23 s, p95 2 h 1 min
    cost       -
    bounces    1

    By pair of agents
    -	developer	3	67 %	1 min 23 s	2 h 1 min	-	0
    developer	qa	1	100 %	-	-	-	0
    planner	developer	1	100 %	-	-	-	0
    qa	developer	1	100 %	-	-	-	1

    Quality by agent
    developer	80 %	-	-	-
    qa	100 %	-	-	-

    Common paths
    1	2	developer → qa → developer
    1	2	planner → developer → qa
    1	3	planner → developer → qa → developer
    --- stderr
    ");
    assert_snapshot!(desk.run(["stats", "--agent", "qa"]).await, @"
    exit 0
    --- stdout
    hand-offs  2 (0 open)
    success    100 % (2 of 2 ended)
    time       median -, p95 -
    cost       -
    bounces    1

    By pair of agents
    developer	qa	1	100 %	-	-	-	0
    qa	developer	1	100 %	-	-	-	1

    Quality by agent
    qa	100 %	-	-	-

    Common paths
    1	2	developer → qa → developer
    1	2	planner → developer → qa
    1	3	planner → developer → qa → developer
    --- stderr
    ");
    assert_snapshot!(desk.run(["stats", "--since", "1767225683001"]).await, @"
    exit 0
    --- stdout
    hand-offs  4 (0 open)
    success    75 % (3 of 4 ended)
    time       median 2 h 1 min, p95 2 h 1 min
    cost       -
    bounces    1

    By pair of agents
    -	developer	1	0 %	2 h 1 min	2 h 1 min	-	0
    developer	qa	1	100 %	-	-	-	0
    planner	developer	1	100 %	-	-	-	0
    qa	developer	1	100 %	-	-	-	1

    Quality by agent
    developer	67 %	-	-	-
    qa	100 %	-	-	-

    Common paths
    1	2	developer → qa → developer
    1	2	planner → developer → qa
    1	3	planner → developer → qa → developer
    --- stderr
    ");
    assert_snapshot!(desk.run(["stats", "--since", "2026-01-02"]).await, @"
    exit 0
    --- stdout
    hand-offs  0 (0 open)
    success    - (0 of 0 ended)
    time       median -, p95 -
    cost       -
    bounces    0
    --- stderr
    ");
    // The server's clock stands in the past; ours does not.
    let ago = desk.run(["stats", "--since", "60m"]).await;
    assert!(ago.contains("hand-offs  0 ("), "{ago}");
    let json = desk.run(["stats", "--agent", "qa", "--json"]).await;
    let answer = desk.app.get("/api/analytics/handoffs?agent=qa").await.body;
    let answer = String::from_utf8(answer).unwrap();
    assert_eq!(json, format!("exit 0\n--- stdout\n{answer}\n--- stderr\n"));
}

#[tokio::test]
async fn an_invalid_time_and_an_unknown_agent_are_refused() {
    let desk = Desk::open().await;
    assert_snapshot!(desk.run(["stats", "--since", "tomorrow"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: invalid value 'tomorrow' for '--since <TIME>': write 30m, 24h, 7d, 2w, 2026-01-31 or milliseconds

    For more information, try '--help'.
    ");
    assert_snapshot!(desk.run(["stats", "--agent", "a b"]).await, @"
    exit 2
    --- stdout
    --- stderr
    error: query: agent: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`
    ");
}
