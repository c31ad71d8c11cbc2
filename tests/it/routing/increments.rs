//! The stages of an increment: implementation, test, fix, verification.

use serde_json::json;

use super::{
    create_increment, get, print_report, stage_lines, wait_until_blocked, wait_until_done,
};
use crate::support::{Events, Sandbox};

/// Adds one agent for each role; `tester` is the script of the testing agent.
fn sandbox_with_tester(tester: &str) -> Sandbox {
    Sandbox::new()
        .with_specialist(
            "impl",
            "implementation",
            &[],
            &print_report("passed", "Wrote it"),
        )
        .with_specialist("tess", "testing", &["qa"], tester)
        .with_specialist("fixer", "fixing", &[], &print_report("passed", "Mended it"))
        .with_specialist(
            "vera",
            "verification",
            &[],
            &print_report("passed", "As asked"),
        )
}

#[tokio::test]
async fn a_good_increment_goes_through_its_stages() {
    let sandbox = sandbox_with_tester(&print_report("passed", "All nine pass"));
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(
        &client,
        &json!({ "title": "Read dates", "description": "ISO", "testCommand": "make test" }),
    )
    .await;
    let increment = wait_until_done(&client, &id).await;
    assert_eq!(
        stage_lines(&increment),
        [
            "implementation 1 completed impl",
            "test 1 completed tess",
            "verify 1 completed vera",
        ]
    );
    assert_eq!(
        (&increment["state"], &increment["round"]),
        (&json!("done"), &json!(1))
    );
    let test = &increment["tasks"][1];
    assert_eq!(test["agentRole"], "testing");
    assert_eq!(test["estimatedDuration"], 30);
    assert_eq!(
        test["specialistTags"],
        json!(["testing", "validation", "qa"])
    );
    assert_eq!(test["handoffInstructions"]["testCommand"], "make test");
    assert_eq!(test["agentContext"]["workCompleted"], "All nine pass");
    assert_eq!(test["agentContext"]["testStatus"], "passed");
    let estimates: Vec<_> = increment["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["estimatedDuration"].clone())
        .collect();
    assert_eq!(estimates, [json!(120), json!(30), json!(15)]);
    let workspaces = increment["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["agentWorkspace"]);
    assert_eq!(
        workspaces.collect::<std::collections::HashSet<_>>().len(),
        1
    );
    sandbox.assert_invariants();
}

#[tokio::test]
async fn a_failed_test_is_fixed_and_tested_again() {
    // The test fails until the fixer has changed the shared workspace.
    let tester = format!(
        "if [ -e fixed ]; then {}; else {}; fi",
        print_report("passed", "Good now"),
        print_report("failed", "Two of nine fail")
    );
    let sandbox = Sandbox::new()
        .with_specialist(
            "impl",
            "implementation",
            &[],
            &print_report("passed", "Wrote it"),
        )
        .with_specialist("tess", "testing", &[], &tester)
        .with_specialist(
            "fixer",
            "fixing",
            &[],
            &format!("touch fixed; {}", print_report("passed", "Mended it")),
        )
        .with_specialist(
            "vera",
            "verification",
            &[],
            &print_report("passed", "As asked"),
        );
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let increment = wait_until_done(&client, &id).await;
    assert_eq!(
        stage_lines(&increment),
        [
            "implementation 1 completed impl",
            "test 1 failed tess",
            "verify 2 completed vera",
            "fix 2 completed fixer",
            "test 2 completed tess",
        ]
    );
    assert_eq!(increment["round"], 2);
    let fix = &increment["tasks"][3];
    assert_eq!(
        fix["dependsOn"][0],
        json!({ "taskId": increment["tasks"][1]["id"], "outcome": "failed" })
    );
    assert_eq!(fix["agentContext"]["previousAgent"], "fixer");
    assert_eq!(fix["agentContext"]["attempts"], 1);
    assert_eq!(
        fix["agentContext"]["knownIssues"],
        json!(["Two of nine fail"])
    );
    let verify = &increment["tasks"][2];
    assert_eq!(
        verify["dependsOn"][0]["taskId"],
        increment["tasks"][4]["id"]
    );
    assert_eq!(verify["agentContext"]["testStatus"], "passed");
    sandbox.assert_invariants();
}

#[tokio::test]
async fn after_five_rounds_the_increment_is_blocked() {
    let sandbox = sandbox_with_tester(&print_report("failed", "Still red"));
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let increment = wait_until_blocked(&client, &id).await;
    assert_eq!(
        (&increment["state"], &increment["round"]),
        (&json!("blocked"), &json!(5))
    );
    let of = |stage: &str| {
        stage_lines(&increment)
            .iter()
            .filter(|line| line.starts_with(stage))
            .count()
    };
    assert_eq!((of("test"), of("fix"), of("verify")), (5, 4, 1));
    assert_eq!(
        increment["blockedBy"],
        "The increment failed in 5 rounds: Still red"
    );
    // A person reopens the last test, and nothing else starts again.
    let last = increment["tasks"].as_array().unwrap().last().unwrap()["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let mut events = Events::listen(&client).await;
    super::send(
        &client,
        reqwest::Method::PUT,
        &format!("/api/tasks/{last}/status"),
        &json!({ "status": "pending" }),
    )
    .await;
    events.wait_for("increment_resumed", &id).await;
    events.wait_for("increment_blocked", &id).await;
    let again = get(&client, &format!("/api/increments/{id}")).await;
    assert_eq!(again["tasks"].as_array().unwrap().len(), 11);
    assert_eq!(again["round"], 5);
}

#[tokio::test]
async fn a_failed_verification_starts_a_round() {
    let verifier = format!(
        "if [ -e fixed ]; then {}; else {}; fi",
        print_report("passed", "As asked"),
        print_report("failed", "Not as asked")
    );
    let sandbox = Sandbox::new()
        .with_specialist(
            "impl",
            "implementation",
            &[],
            &print_report("passed", "Wrote it"),
        )
        .with_specialist("tess", "testing", &[], &print_report("passed", "Green"))
        .with_specialist(
            "fixer",
            "fixing",
            &[],
            &format!("touch fixed; {}", print_report("passed", "Mended it")),
        )
        .with_specialist("vera", "verification", &[], &verifier);
    let server = sandbox.serve(4);
    let client = server.client();
    let first = create_increment(&client, &json!({ "title": "First" })).await;
    let second =
        create_increment(&client, &json!({ "title": "Second", "dependsOn": [first] })).await;
    let increment = wait_until_done(&client, &first).await;
    assert_eq!(
        stage_lines(&increment),
        [
            "implementation 1 completed impl",
            "test 1 completed tess",
            "verify 1 failed vera",
            "fix 2 completed fixer",
            "test 2 completed tess",
            "verify 2 completed vera",
        ]
    );
    // The waiter of the failed verification waited for its replacement.
    let after = wait_until_done(&client, &second).await;
    assert_eq!(
        after["tasks"][0]["dependsOn"][0]["taskId"],
        increment["tasks"][5]["id"]
    );
    assert_eq!(after["dependsOn"], json!([first]));
}

#[tokio::test]
async fn increments_run_in_the_order_of_their_dependencies() {
    let sandbox = sandbox_with_tester(&print_report("passed", "Green"));
    let server = sandbox.serve(4);
    let client = server.client();
    let first = create_increment(&client, &json!({ "title": "First" })).await;
    let second =
        create_increment(&client, &json!({ "title": "Second", "dependsOn": [first] })).await;
    let (one, two) = (
        wait_until_done(&client, &first).await,
        wait_until_done(&client, &second).await,
    );
    let ended = one["tasks"][2]["agentChain"][0]["completedAt"]
        .as_i64()
        .unwrap();
    let began = two["tasks"][0]["agentChain"][0]["startedAt"]
        .as_i64()
        .unwrap();
    assert!(began >= ended, "{began} < {ended}");
    assert_eq!(two["tasks"][0]["agentContext"]["previousAgent"], "impl");
}

#[tokio::test]
async fn an_agent_without_a_report_is_asked_once_more() {
    // The agent reports only when it is asked again.
    let forgetful = format!(
        "if grep -q 'did not end with a report' ; then {}; else echo 'It looks fine to me.'; fi",
        print_report("passed", "It is fine")
    );
    let sandbox = sandbox_with_tester(&forgetful);
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let increment = wait_until_done(&client, &id).await;
    assert_eq!(stage_lines(&increment)[1], "test 1 completed tess tess");
    assert_eq!(increment["tasks"][1]["routeAttempts"], 1);
    assert_eq!(
        increment["tasks"][1]["agentContext"]["workCompleted"],
        "It is fine"
    );
}

#[tokio::test]
async fn a_second_missing_report_blocks_the_increment_until_the_operator_retries() {
    let tester = format!(
        "if [ -e readable ]; then {}; else echo 'It looks fine to me.'; fi",
        print_report("passed", "Green")
    );
    let sandbox = sandbox_with_tester(&tester);
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let increment = wait_until_blocked(&client, &id).await;
    assert_eq!(
        stage_lines(&increment),
        [
            "implementation 1 completed impl",
            "test 1 waiting tess tess",
            "verify 1 pending ",
        ]
    );
    let reason = "Agent tess ended without a report, and again when it was asked for one. Its last message: It looks fine to me.";
    assert_eq!(increment["blockedBy"], reason);
    let test = &increment["tasks"][1];
    assert_eq!(
        (&test["blocked"], &test["waitingReason"]),
        (&json!(true), &json!(reason))
    );
    assert_eq!(test["agentContext"]["workCompleted"], "Wrote it");
    let task = test["id"].as_str().unwrap();
    let history = get(&client, &format!("/api/tasks/{task}/history")).await;
    let blocked = history["events"].as_array().unwrap().iter();
    let blocked: Vec<_> = blocked
        .filter(|event| event["eventType"] == "task_blocked")
        .map(|event| &event["data"]["reason"])
        .collect();
    assert_eq!(blocked, [reason]);
    let mail = get(&client, "/api/mail?to=operator").await;
    assert_eq!(mail.as_array().unwrap().len(), 1);
    let body = mail[0]["body"].as_str().unwrap();
    let retry = format!("chorus increment retry {id}");
    assert!(body.contains(reason) && body.contains(&retry), "{body}");
    // The agent reports now.
    let workspace = test["agentWorkspace"].as_str().unwrap();
    std::fs::write(format!("{workspace}/readable"), "").unwrap();
    super::send(
        &server.operator(),
        reqwest::Method::POST,
        &format!("/api/increments/{id}/retry"),
        &json!({}),
    )
    .await;
    let increment = wait_until_done(&client, &id).await;
    assert_eq!(
        stage_lines(&increment)[1..],
        ["test 1 completed tess tess tess", "verify 1 completed vera"]
    );
    sandbox.assert_invariants();
}

#[tokio::test]
async fn a_session_is_resumed_to_ask_for_the_report() {
    let claude = r#"echo "$@" >> asked
        case "$*" in
            *--resume*) text='{\"result\":\"passed\",\"summary\":\"Green\"}';;
            *) text='I looked.';;
        esac
        echo '{"type":"system","subtype":"init","session_id":"s-1"}'
        echo '{"type":"result","subtype":"success","is_error":false,"result":"'"$text"'","session_id":"s-1"}'"#;
    let sandbox = Sandbox::new()
        .with_specialist(
            "impl",
            "implementation",
            &[],
            &print_report("passed", "Wrote it"),
        )
        .with_specialist(
            "vera",
            "verification",
            &[],
            &print_report("passed", "As asked"),
        )
        .with_configured_agent(
            "tess",
            &json!({ "provider": "claude-code", "specPath": "agents/qa.md", "roles": ["testing"] }),
        )
        .with_program("claude", claude);
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let increment = wait_until_done(&client, &id).await;
    assert_eq!(stage_lines(&increment)[1], "test 1 completed tess tess");
    let workspace = increment["tasks"][1]["agentWorkspace"].as_str().unwrap();
    let asked = std::fs::read_to_string(format!("{workspace}/asked")).unwrap();
    let lines: Vec<_> = asked.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(!lines[0].contains("--resume"), "{asked}");
    assert!(lines[1].contains("--resume s-1"), "{asked}");
}

#[tokio::test]
async fn the_report_command_overrides_the_last_message() {
    let tester = format!(
        r#"chorus report failed --summary 'Really red' --details '{{"log":"boom"}}' >/dev/null; {}"#,
        print_report("passed", "Green")
    );
    let sandbox = sandbox_with_tester(&tester);
    let server = sandbox.serve_with(4, &["--port", "0", "--max-rounds", "1"]);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let increment = wait_until_blocked(&client, &id).await;
    let test = &increment["tasks"][1];
    assert_eq!(
        test["status"],
        json!({ "type": "failed", "message": "Really red" })
    );
    assert_eq!(
        test["agentContext"]["knownIssues"],
        json!(["Really red", r#"{"log":"boom"}"#])
    );
    let handoff = test["agentChain"][0]["id"].as_str().unwrap();
    let handoff = get(&client, &format!("/api/handoffs/{handoff}")).await;
    assert_eq!(
        handoff["report"],
        json!({ "result": "failed", "summary": "Really red", "details": { "log": "boom" } })
    );
}

#[tokio::test]
async fn a_blocked_report_waits_for_a_person() {
    let sandbox = sandbox_with_tester(&print_report("blocked", "No network here"));
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let increment = wait_until_blocked(&client, &id).await;
    let test = &increment["tasks"][1];
    assert_eq!(
        (&test["blocked"], &test["waitingReason"]),
        (&json!(true), &json!("No network here"))
    );
    assert_eq!(test["status"]["type"], "waiting");
    assert_eq!(increment["blockedBy"], "No network here");
    // The person completes the test.
    let path = format!("/api/tasks/{}/status", test["id"].as_str().unwrap());
    super::send(
        &client,
        reqwest::Method::PUT,
        &path,
        &json!({ "status": "completed" }),
    )
    .await;
    let increment = wait_until_done(&client, &id).await;
    assert_eq!(increment["blockedBy"], json!(null));
    assert_eq!(increment["tasks"][1]["blocked"], false);
}

#[tokio::test]
async fn an_agent_cannot_set_the_status_of_its_own_stage_or_of_others() {
    let implementer = r#"
        chorus task status "$CHORUS_TASK_ID" completed 2>own
        test_task=$(curl -s "$CHORUS_URL/api/tasks" | jq -r '.data[] | select(.stage == "test") | .id')
        chorus task status "$test_task" completed 2>others
        chorus report passed --summary x >/dev/null
        echo done"#;
    let sandbox = Sandbox::new().with_specialist("impl", "implementation", &[], implementer);
    let server = sandbox.serve(4);
    let client = server.client();
    let id = create_increment(&client, &json!({ "title": "Read dates" })).await;
    let mut events = Events::listen(&client).await;
    events.wait_for("no_suitable_agent", "testing").await;
    let increment = get(&client, &format!("/api/increments/{id}")).await;
    assert_eq!(
        stage_lines(&increment)[..2],
        ["implementation 1 completed impl", "test 1 pending "]
    );
    let workspace = increment["tasks"][0]["agentWorkspace"].as_str().unwrap();
    let error = |file: &str| std::fs::read_to_string(format!("{workspace}/{file}")).unwrap();
    assert!(
        error("own").contains("stage of an increment"),
        "{}",
        error("own")
    );
    assert!(
        error("others").contains("may change only its own task"),
        "{}",
        error("others")
    );
}
