//! Every action in every state

use std::fmt::Write;

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{STATES, act_as_operator, in_state, refusal, show, withdrawn};
use crate::support::TestApp;

/// Every action with its body.
fn actions() -> [(&'static str, Value); 7] {
    [
        ("approve", json!({})),
        ("next", json!({})),
        ("withdraw", json!({ "reason": "Later" })),
        ("claim", json!({ "agent": "other" })),
        ("heartbeat", json!({})),
        ("done", json!({ "response": "Yes." })),
        ("requeue", json!({ "reason": "No time" })),
    ]
}

#[tokio::test]
async fn every_action_in_every_state_succeeds_or_names_the_state() {
    let app = TestApp::new().await;
    let mut table = String::new();
    for state in STATES {
        for (action, body) in actions() {
            let id = in_state(&app, state).await;
            let before = show(&app, &id).await;
            app.clock.advance(1_000);
            let reply = act_as_operator(&app, &id, action, body).await;
            let after = show(&app, &id).await;
            if reply.status == 200 {
                assert_eq!(after, reply.data(), "{state} {action}");
                let to = after["state"].as_str().unwrap();
                writeln!(table, "{state} {action}: {to}").unwrap();
            } else {
                assert_eq!(after, before, "{state} {action}");
                assert_eq!(reply.error(), (409, "CONFLICT".to_owned()));
                assert!(
                    refusal(&reply).contains(&format!(" is `{state}`")),
                    "{state} {action}"
                );
                writeln!(table, "{state} {action}: {}", refusal(&reply)).unwrap();
            }
        }
    }
    assert_snapshot!(table, @"
    needs approve: delegated
    needs next: next
    needs withdraw: 409 Request <id 1> cannot be withdrawn: its state is `needs`. It has no approval to take back
    needs claim: 409 Request <id 1> cannot be claimed: its state is `needs`. The operator must approve it first
    needs heartbeat: 409 Request <id 1> cannot be renewed: its state is `needs`. The operator must approve it first
    needs done: done
    needs requeue: 409 Request <id 1> cannot be re-queued: its state is `needs`. The operator must approve it first
    delegated approve: 409 Request <id 1> cannot be approved: its state is `delegated`. It is already approved
    delegated next: 409 Request <id 1> cannot be moved to `next`: its state is `delegated`. It is already approved
    delegated withdraw: needs
    delegated claim: claimed
    delegated heartbeat: 409 Request <id 1> cannot be renewed: its state is `delegated`. Claim it first
    delegated done: 409 Request <id 1> cannot be finished: its state is `delegated`. Claim it first, or withdraw its approval
    delegated requeue: 409 Request <id 1> cannot be re-queued: its state is `delegated`. Claim it first
    next approve: 409 Request <id 1> cannot be approved: its state is `next`. It is already approved
    next next: 409 Request <id 1> cannot be moved to `next`: its state is `next`. It is already approved
    next withdraw: needs
    next claim: claimed
    next heartbeat: 409 Request <id 1> cannot be renewed: its state is `next`. Claim it first
    next done: 409 Request <id 1> cannot be finished: its state is `next`. Claim it first, or withdraw its approval
    next requeue: 409 Request <id 1> cannot be re-queued: its state is `next`. Claim it first
    claimed approve: 409 Request <id 1> cannot be approved: its state is `claimed` by worker. Wait until its lease ends, or re-queue it
    claimed next: 409 Request <id 1> cannot be moved to `next`: its state is `claimed` by worker. Wait until its lease ends, or re-queue it
    claimed withdraw: 409 Request <id 1> cannot be withdrawn: its state is `claimed` by worker. Work on it has begun; re-queue it to decide again
    claimed claim: 409 Request <id 1> cannot be claimed: its state is `claimed` by worker. Wait until its lease ends, or re-queue it
    claimed heartbeat: claimed
    claimed done: done
    claimed requeue: needs
    done approve: 409 Request <id 1> cannot be approved: its state is `done`. Create a new request instead
    done next: 409 Request <id 1> cannot be moved to `next`: its state is `done`. Create a new request instead
    done withdraw: 409 Request <id 1> cannot be withdrawn: its state is `done`. The work has already ended
    done claim: 409 Request <id 1> cannot be claimed: its state is `done`. Create a new request instead
    done heartbeat: 409 Request <id 1> cannot be renewed: its state is `done`. Create a new request instead
    done done: 409 Request <id 1> cannot be finished: its state is `done`. Create a new request instead
    done requeue: 409 Request <id 1> cannot be re-queued: its state is `done`. Create a new request instead
    ");
}

#[tokio::test]
async fn a_wrong_fencing_token_is_refused_in_every_state() {
    let app = TestApp::new().await;
    let mut table = String::new();
    for state in STATES {
        for (action, mut body) in actions().into_iter().skip(4) {
            let id = in_state(&app, state).await;
            let before = show(&app, &id).await;
            for shown in [0, 2, u32::MAX] {
                body["fencing"] = json!(shown);
                let reply = act_as_operator(&app, &id, action, body.clone()).await;
                assert_eq!(
                    reply.error(),
                    (409, "CONFLICT".to_owned()),
                    "{state} {action} {shown}"
                );
                if shown == 2 {
                    writeln!(table, "{state} {action}: {}", refusal(&reply)).unwrap();
                }
            }
            assert_eq!(show(&app, &id).await, before, "{state} {action}");
        }
    }
    assert_snapshot!(table, @"
    needs heartbeat: 409 Request <id 1> is no longer yours: its state is `needs`. Stop working on it
    needs done: 409 Request <id 1> is no longer yours: its state is `needs`. Stop working on it
    needs requeue: 409 Request <id 1> is no longer yours: its state is `needs`. Stop working on it
    delegated heartbeat: 409 Request <id 1> is no longer yours: its state is `delegated`. Stop working on it
    delegated done: 409 Request <id 1> is no longer yours: its state is `delegated`. Stop working on it
    delegated requeue: 409 Request <id 1> is no longer yours: its state is `delegated`. Stop working on it
    next heartbeat: 409 Request <id 1> is no longer yours: its state is `next`. Stop working on it
    next done: 409 Request <id 1> is no longer yours: its state is `next`. Stop working on it
    next requeue: 409 Request <id 1> is no longer yours: its state is `next`. Stop working on it
    claimed heartbeat: 409 Request <id 1> is no longer yours: its fencing token is 1, not 2. Stop working on it
    claimed done: 409 Request <id 1> is no longer yours: its fencing token is 1, not 2. Stop working on it
    claimed requeue: 409 Request <id 1> is no longer yours: its fencing token is 1, not 2. Stop working on it
    done heartbeat: 409 Request <id 1> cannot be renewed: its state is `done`. Create a new request instead
    done done: 409 Request <id 1> cannot be finished: its state is `done`. Create a new request instead
    done requeue: 409 Request <id 1> cannot be re-queued: its state is `done`. Create a new request instead
    ");
}

#[tokio::test]
async fn a_request_whose_tag_is_gone_can_only_be_closed() {
    let app = TestApp::new().await;
    let mut table = String::new();
    for (action, body) in actions() {
        let id = withdrawn(&app, action).await;
        let before = show(&app, &id).await;
        assert_eq!(before["withdrawnAt"], 1_767_225_600_000_i64);
        let reply = act_as_operator(&app, &id, action, body).await;
        if action == "done" {
            assert_eq!(reply.data()["state"], "done");
            continue;
        }
        assert_eq!(reply.error(), (409, "CONFLICT".to_owned()));
        writeln!(table, "{action}: {}", refusal(&reply)).unwrap();
        assert_eq!(show(&app, &id).await, before);
    }
    assert_snapshot!(table, @"
    approve: 409 Request <id 1> was withdrawn, because its tag was removed from its file. Restore the tag to reopen it, or close it: withdraw its approval if it has one, then finish it
    next: 409 Request <id 1> was withdrawn, because its tag was removed from its file. Restore the tag to reopen it, or close it: withdraw its approval if it has one, then finish it
    withdraw: 409 Request <id 1> cannot be withdrawn: its state is `needs`. It has no approval to take back
    claim: 409 Request <id 1> was withdrawn, because its tag was removed from its file. Restore the tag to reopen it, or close it: withdraw its approval if it has one, then finish it
    heartbeat: 409 Request <id 1> cannot be renewed: its state is `needs`. The operator must approve it first
    requeue: 409 Request <id 1> was withdrawn, because its tag was removed from its file. Restore the tag to reopen it, or close it: withdraw its approval if it has one, then finish it
    ");
}

#[tokio::test]
async fn an_unknown_request_is_not_found() {
    let app = TestApp::new().await;
    for id in [
        "nope",
        "01980000-0000-7000-8000-000000000000",
        "..%2f..%2fetc%2fpasswd",
        "..",
        "%2e%2e",
        "%22",
        "a'%20OR%201=1--",
        "%00",
        "a%0ab",
        "%F0%9F%8E%B6",
    ] {
        for (action, body) in actions() {
            let reply = act_as_operator(&app, id, action, body).await;
            assert_eq!(
                reply.error(),
                (404, "NOT_FOUND".to_owned()),
                "{id} {action}"
            );
        }
        for path in ["", "/response", "?wait=600"] {
            let reply = app.get(&format!("/api/requests/{id}{path}")).await;
            assert_eq!(reply.error(), (404, "NOT_FOUND".to_owned()), "{id} {path}");
        }
    }
    assert_snapshot!(app.get("/api/requests/..%2fx").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Request not found: ../x"}}"#);
    assert_snapshot!(app.get("/api/requests/%22;--").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Request not found: \";--"}}"#);
    assert_snapshot!(app.get("/api/requests/%ff").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Invalid URL: Invalid UTF-8 in `id`"}}"#);
    let long = "x".repeat(10_000);
    assert_eq!(app.get(&format!("/api/requests/{long}")).await.status, 404);
}
