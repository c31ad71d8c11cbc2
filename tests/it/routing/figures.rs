//! The figures of routed work: whose work a hand-off continues, and the quality of each agent's work.

use chorus::client::Client;
use reqwest::Method;
use serde_json::{Value, json};

use super::{create_increment, create_task, get, print_report, send, wait_until_done};
use crate::support::{Events, Sandbox};

/// Adds one agent for each role. The test and the verification are scripts.
fn sandbox(tester: &str, verifier: &str) -> Sandbox {
    let passes = print_report("passed", "Done");
    Sandbox::new()
        .with_specialist("impl", "implementation", &[], &passes)
        .with_specialist("tess", "testing", &[], tester)
        .with_specialist("fixer", "fixing", &[], &format!("touch fixed; {passes}"))
        .with_specialist("vera", "verification", &[], verifier)
}

/// A script that fails until a fix was made.
fn fails_first() -> String {
    format!(
        "if [ -e fixed ]; then {}; else {}; fi",
        print_report("passed", "Good"),
        print_report("failed", "Bad")
    )
}

async fn analytics(client: &Client) -> Value {
    get(client, "/api/analytics/handoffs").await
}

/// Lists the pairs of agents in alphabetical order, with the number of hand-offs.
fn pairs(analytics: &Value) -> Vec<String> {
    let pairs = analytics["pairs"].as_array().unwrap().iter();
    let mut pairs: Vec<_> = pairs
        .map(|pair| {
            let from = pair["fromAgent"].as_str().unwrap_or("-");
            let to = pair["toAgent"].as_str().unwrap();
            format!("{from} > {to} {}", pair["handoffs"])
        })
        .collect();
    pairs.sort();
    pairs
}

fn quality<'a>(analytics: &'a Value, agent: &str) -> &'a Value {
    let agents = analytics["agents"].as_array().unwrap();
    let found = agents.iter().find(|each| each["agentName"] == agent);
    &found.unwrap()["quality"]
}

#[tokio::test]
async fn a_stage_continues_the_work_of_the_stage_before_it() {
    let sandbox = sandbox(&fails_first(), &print_report("passed", "As asked"));
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    wait_until_done(&client, &id).await;
    let analytics = analytics(&client).await;
    assert_eq!(
        pairs(&analytics),
        [
            "- > impl 1",
            "fixer > tess 1",
            "impl > tess 1",
            "tess > fixer 1",
            "tess > vera 1",
        ]
    );
    // The test of the first work failed; the verification was about the fix.
    let unknown = json!({ "reviewed": 0, "returned": 0, "rate": null });
    assert_eq!(
        quality(&analytics, "impl")["rework"],
        json!({ "judged": 1, "reworked": 1, "rate": 1.0 })
    );
    assert_eq!(quality(&analytics, "impl")["review"], unknown);
    assert_eq!(
        quality(&analytics, "fixer")["rework"],
        json!({ "judged": 1, "reworked": 0, "rate": 0.0 })
    );
    assert_eq!(
        quality(&analytics, "fixer")["review"],
        json!({ "reviewed": 1, "returned": 0, "rate": 0.0 })
    );
    // Tests and verifications judge the work of others. Each agent has said something.
    for (agent, handoffs) in [("tess", 2), ("vera", 1)] {
        let quality = quality(&analytics, agent);
        assert_eq!(quality["rework"]["rate"], json!(null));
        assert_eq!(quality["review"], unknown);
        assert_eq!(quality["firstMessage"]["handoffs"], handoffs);
        assert!(quality["firstMessage"]["medianMs"].is_u64(), "{quality}");
    }
    // The prompt names the agent before.
    let prompts = sandbox.data_dir.join("runs");
    let tests = sandbox.query(
        "SELECT r.id FROM runs r JOIN handoffs h ON h.number = r.handoff_number WHERE h.agent_name = 'tess' LIMIT 1",
    );
    let prompt = std::fs::read_to_string(prompts.join(tests).join("prompt.txt")).unwrap();
    assert!(
        prompt.contains("The agent impl did the work before yours.\n"),
        "{prompt}"
    );
    sandbox.assert_invariants();
}

#[tokio::test]
async fn work_that_a_verification_returns_is_counted() {
    let sandbox = sandbox(&print_report("passed", "Good"), &fails_first());
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    wait_until_done(&client, &id).await;
    let analytics = analytics(&client).await;
    for (agent, returned, rate) in [("impl", 1, 1.0), ("fixer", 0, 0.0)] {
        let quality = quality(&analytics, agent);
        assert_eq!(
            quality["rework"],
            json!({ "judged": 1, "reworked": returned, "rate": rate })
        );
        assert_eq!(
            quality["review"],
            json!({ "reviewed": 1, "returned": returned, "rate": rate })
        );
    }
    assert!(pairs(&analytics).contains(&"vera > fixer 1".to_owned()));
    let one = get(&client, "/api/analytics/handoffs?agent=IMPL").await;
    let agents = one["agents"].as_array().unwrap();
    assert_eq!(agents.len(), 1, "{one}");
    assert_eq!(quality(&one, "impl")["review"]["returned"], 1);
    let later = get(&client, "/api/analytics/handoffs?since=9999999999999").await;
    assert_eq!(later["agents"], json!([]));
}

#[tokio::test]
async fn of_several_dependencies_the_last_one_counts_and_a_persons_work_does_not() {
    let sandbox = Sandbox::new()
        .with_specialist("impl", "implementation", &[], &print_report("passed", "x"))
        .with_specialist("doc", "documentation", &[], &print_report("passed", "x"))
        .with_specialist("tess", "testing", &[], &print_report("failed", "Bad"));
    let server = sandbox.serve(1);
    let client = server.client();
    let mut events = Events::listen(&client).await;
    let mut dependencies = Vec::new();
    for role in ["implementation", "documentation"] {
        let body = json!({ "description": role, "agentRole": role });
        let task = create_task(&client, &body).await;
        events
            .wait_for_on(&task, "status_changed", "completed")
            .await;
        dependencies.push(task);
    }
    // A person completes the third one without an agent.
    let by_hand = create_task(&client, &json!({ "description": "by hand" })).await;
    dependencies.push(by_hand.clone());
    let body = json!({ "description": "test", "agentRole": "testing", "dependsOn": dependencies });
    let test = create_task(&client, &body).await;
    let path = format!("/api/tasks/{by_hand}/status");
    send(
        &client,
        Method::PUT,
        &path,
        &json!({ "status": "completed" }),
    )
    .await;
    events.wait_for_on(&test, "status_changed", "failed").await;
    let tested = get(&client, &format!("/api/tasks/{test}")).await;
    assert_eq!(tested["agentChain"][0]["fromAgent"], "doc");
    // The failed test is about the work of both.
    let analytics = analytics(&client).await;
    for agent in ["impl", "doc"] {
        assert_eq!(quality(&analytics, agent)["rework"]["rate"], 1.0);
    }
    let shown = server.chorus(["stats", "--agent", "impl"]).output();
    let shown = String::from_utf8(shown.stdout).unwrap();
    let row = shown.lines().find(|line| line.starts_with("impl\t"));
    let row: Vec<_> = row.unwrap().split('\t').take(4).collect();
    assert_eq!(row, ["impl", "100 %", "100 % (1 of 1)", "-"]);
}
