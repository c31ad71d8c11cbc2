//! Implemented, tested, fixed, verified.

use serde_json::json;

use super::{blocked, done, get, increment, report, stages};
use crate::support::{Events, Workshop};

/// A workshop with one agent for each part; the tester does what a script says.
fn workshop(tester: &str) -> Workshop {
    Workshop::new()
        .specialist("impl", "implementation", &[], &report("passed", "Wrote it"))
        .specialist("tess", "testing", &["qa"], tester)
        .specialist("fixer", "fixing", &[], &report("passed", "Mended it"))
        .specialist("vera", "verification", &[], &report("passed", "As asked"))
}

#[tokio::test]
async fn a_good_increment_goes_from_hand_to_hand() {
    let workshop = workshop(&report("passed", "All nine pass"));
    let server = workshop.serve(4);
    let client = server.client();
    let id = increment(
        &client,
        &json!({ "title": "Read dates", "description": "ISO", "testCommand": "make test" }),
    )
    .await;
    let shown = done(&client, &id).await;
    assert_eq!(
        stages(&shown),
        [
            "implementation 1 completed impl",
            "test 1 completed tess",
            "verify 1 completed vera",
        ]
    );
    assert_eq!(
        (&shown["state"], &shown["round"]),
        (&json!("done"), &json!(1))
    );
    let test = &shown["tasks"][1];
    assert_eq!(test["agentRole"], "testing");
    assert_eq!(test["estimatedDuration"], 30);
    assert_eq!(
        test["specialistTags"],
        json!(["testing", "validation", "qa"])
    );
    assert_eq!(test["handoffInstructions"]["testCommand"], "make test");
    assert_eq!(test["agentContext"]["workCompleted"], "All nine pass");
    assert_eq!(test["agentContext"]["testStatus"], "passed");
    let estimates: Vec<_> = shown["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| task["estimatedDuration"].clone())
        .collect();
    assert_eq!(estimates, [json!(120), json!(30), json!(15)]);
    let workspaces = shown["tasks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|task| &task["agentWorkspace"]);
    assert_eq!(
        workspaces.collect::<std::collections::HashSet<_>>().len(),
        1
    );
    workshop.assert_invariants();
}

#[tokio::test]
async fn what_fails_is_mended_and_tested_again() {
    // It fails until the fixer has worked in the directory that they share.
    let tester = format!(
        "if [ -e fixed ]; then {}; else {}; fi",
        report("passed", "Good now"),
        report("failed", "Two of nine fail")
    );
    let workshop = Workshop::new()
        .specialist("impl", "implementation", &[], &report("passed", "Wrote it"))
        .specialist("tess", "testing", &[], &tester)
        .specialist(
            "fixer",
            "fixing",
            &[],
            &format!("touch fixed; {}", report("passed", "Mended it")),
        )
        .specialist("vera", "verification", &[], &report("passed", "As asked"));
    let server = workshop.serve(4);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let shown = done(&client, &id).await;
    assert_eq!(
        stages(&shown),
        [
            "implementation 1 completed impl",
            "test 1 failed tess",
            "verify 2 completed vera",
            "fix 2 completed fixer",
            "test 2 completed tess",
        ]
    );
    assert_eq!(shown["round"], 2);
    let fix = &shown["tasks"][3];
    assert_eq!(
        fix["dependsOn"][0],
        json!({ "taskId": shown["tasks"][1]["id"], "outcome": "failed" })
    );
    assert_eq!(fix["agentContext"]["previousAgent"], "fixer");
    assert_eq!(fix["agentContext"]["attempts"], 1);
    assert_eq!(
        fix["agentContext"]["knownIssues"],
        json!(["Two of nine fail"])
    );
    let verify = &shown["tasks"][2];
    assert_eq!(verify["dependsOn"][0]["taskId"], shown["tasks"][4]["id"]);
    assert_eq!(verify["agentContext"]["testStatus"], "passed");
    workshop.assert_invariants();
}

#[tokio::test]
async fn after_five_rounds_a_person_must_look() {
    let workshop = workshop(&report("failed", "Still red"));
    let server = workshop.serve(4);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let shown = blocked(&client, &id).await;
    assert_eq!(
        (&shown["state"], &shown["round"]),
        (&json!("blocked"), &json!(5))
    );
    let of = |stage: &str| {
        stages(&shown)
            .iter()
            .filter(|line| line.starts_with(stage))
            .count()
    };
    assert_eq!((of("test"), of("fix"), of("verify")), (5, 4, 1));
    assert_eq!(
        shown["blockedBy"],
        "It has failed in 5 rounds, the last one: Still red"
    );
    // A person may open the last test again: nothing else begins anew.
    let last = shown["tasks"].as_array().unwrap().last().unwrap()["id"]
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
    events.until("increment_resumed", &id).await;
    events.until("increment_blocked", &id).await;
    let again = get(&client, &format!("/api/increments/{id}")).await;
    assert_eq!(again["tasks"].as_array().unwrap().len(), 11);
    assert_eq!(again["round"], 5);
}

#[tokio::test]
async fn a_verification_that_fails_begins_a_round_too() {
    let verifier = format!(
        "if [ -e fixed ]; then {}; else {}; fi",
        report("passed", "As asked"),
        report("failed", "Not as asked")
    );
    let workshop = Workshop::new()
        .specialist("impl", "implementation", &[], &report("passed", "Wrote it"))
        .specialist("tess", "testing", &[], &report("passed", "Green"))
        .specialist(
            "fixer",
            "fixing",
            &[],
            &format!("touch fixed; {}", report("passed", "Mended it")),
        )
        .specialist("vera", "verification", &[], &verifier);
    let server = workshop.serve(4);
    let client = server.client();
    let first = increment(&client, &json!({ "title": "First" })).await;
    let second = increment(&client, &json!({ "title": "Second", "dependsOn": [first] })).await;
    let shown = done(&client, &first).await;
    assert_eq!(
        stages(&shown),
        [
            "implementation 1 completed impl",
            "test 1 completed tess",
            "verify 1 failed vera",
            "fix 2 completed fixer",
            "test 2 completed tess",
            "verify 2 completed vera",
        ]
    );
    // What waited for the verification that failed waited for the one that took its place.
    let after = done(&client, &second).await;
    assert_eq!(
        after["tasks"][0]["dependsOn"][0]["taskId"],
        shown["tasks"][5]["id"]
    );
    assert_eq!(after["dependsOn"], json!([first]));
}

#[tokio::test]
async fn increments_go_in_the_order_of_their_dependencies() {
    let workshop = workshop(&report("passed", "Green"));
    let server = workshop.serve(4);
    let client = server.client();
    // The gate holds the first one back, so that the second one could go ahead if it might.
    let first = increment(&client, &json!({ "title": "First" })).await;
    let second = increment(&client, &json!({ "title": "Second", "dependsOn": [first] })).await;
    let (one, two) = (done(&client, &first).await, done(&client, &second).await);
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
async fn an_agent_that_owes_a_report_is_asked_once_more() {
    // It says nothing at first; asked again, it does.
    let forgetful = format!(
        "if grep -q 'did not end with a report' ; then {}; else echo 'It looks fine to me.'; fi",
        report("passed", "It is fine")
    );
    let workshop = workshop(&forgetful);
    let server = workshop.serve(4);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let shown = done(&client, &id).await;
    assert_eq!(stages(&shown)[1], "test 1 completed tess tess");
    assert_eq!(shown["tasks"][1]["routeAttempts"], 1);
    assert_eq!(
        shown["tasks"][1]["agentContext"]["workCompleted"],
        "It is fine"
    );
}

#[tokio::test]
async fn who_never_reports_has_failed() {
    let workshop = workshop("echo 'It looks fine to me.'");
    let server = workshop.serve_with(4, &["--port", "0", "--max-rounds", "1"]);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let shown = blocked(&client, &id).await;
    assert_eq!(stages(&shown)[1], "test 1 failed tess tess");
    assert_eq!(
        shown["tasks"][1]["status"]["message"],
        "tess gave no report, although it was asked again"
    );
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
    let workshop = Workshop::new()
        .specialist("impl", "implementation", &[], &report("passed", "Wrote it"))
        .specialist("vera", "verification", &[], &report("passed", "As asked"))
        .configured(
            "tess",
            &json!({ "provider": "claude-code", "specPath": "agents/qa.md", "roles": ["testing"] }),
        )
        .program("claude", claude);
    let server = workshop.serve(4);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let shown = done(&client, &id).await;
    assert_eq!(stages(&shown)[1], "test 1 completed tess tess");
    let workspace = shown["tasks"][1]["agentWorkspace"].as_str().unwrap();
    let asked = std::fs::read_to_string(format!("{workspace}/asked")).unwrap();
    let lines: Vec<_> = asked.lines().collect();
    assert_eq!(lines.len(), 2);
    assert!(!lines[0].contains("--resume"), "{asked}");
    assert!(lines[1].contains("--resume s-1"), "{asked}");
}

#[tokio::test]
async fn what_is_said_by_the_command_counts_more_than_the_last_message() {
    let tester = format!(
        r#"chorus report failed --summary 'Really red' --details '{{"log":"boom"}}' >/dev/null; {}"#,
        report("passed", "Green")
    );
    let workshop = workshop(&tester);
    let server = workshop.serve_with(4, &["--port", "0", "--max-rounds", "1"]);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let shown = blocked(&client, &id).await;
    let test = &shown["tasks"][1];
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
async fn a_blocked_report_leaves_it_to_a_person_who_can_let_it_go_on() {
    let workshop = workshop(&report("blocked", "No network here"));
    let server = workshop.serve(4);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let shown = blocked(&client, &id).await;
    let test = &shown["tasks"][1];
    assert_eq!(
        (&test["blocked"], &test["waitingReason"]),
        (&json!(true), &json!("No network here"))
    );
    assert_eq!(test["status"]["type"], "waiting");
    assert_eq!(shown["blockedBy"], "No network here");
    // The person has looked, and says that it is good.
    let path = format!("/api/tasks/{}/status", test["id"].as_str().unwrap());
    super::send(
        &client,
        reqwest::Method::PUT,
        &path,
        &json!({ "status": "completed" }),
    )
    .await;
    let shown = done(&client, &id).await;
    assert_eq!(shown["blockedBy"], json!(null));
    assert_eq!(shown["tasks"][1]["blocked"], false);
}

#[tokio::test]
async fn an_agent_cannot_end_its_own_stage_or_that_of_others() {
    let implementer = r#"
        chorus task status "$CHORUS_TASK_ID" completed 2>own
        test_task=$(curl -s "$CHORUS_URL/api/tasks" | jq -r '.data[] | select(.stage == "test") | .id')
        chorus task status "$test_task" completed 2>others
        chorus report passed --summary x >/dev/null
        echo done"#;
    let workshop = Workshop::new().specialist("impl", "implementation", &[], implementer);
    let server = workshop.serve(4);
    let client = server.client();
    let id = increment(&client, &json!({ "title": "Read dates" })).await;
    let mut events = Events::listen(&client).await;
    events.until("no_suitable_agent", "testing").await;
    let shown = get(&client, &format!("/api/increments/{id}")).await;
    assert_eq!(
        stages(&shown)[..2],
        ["implementation 1 completed impl", "test 1 pending "]
    );
    let workspace = shown["tasks"][0]["agentWorkspace"].as_str().unwrap();
    let said = |file: &str| std::fs::read_to_string(format!("{workspace}/{file}")).unwrap();
    assert!(
        said("own").contains("part of an increment"),
        "{}",
        said("own")
    );
    assert!(
        said("others").contains("may only change its own task"),
        "{}",
        said("others")
    );
}
