//! Times, runs and events that contradict each other, or that would harm the ledger later.

use std::path::Path;

use chorus::engine::archive::ArchiveError;
use serde_json::{Value, json};

use super::tables::filled;
use super::{export, import};
use crate::support::TestApp;

type Damage = fn(&mut Value, i64);

const DAY: i64 = 24 * 60 * 60 * 1000;

fn damage(archive: &Path, file: &str, damage: impl FnOnce(&mut Value)) {
    let path = archive.join(file);
    let mut value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    damage(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

/// Imports each damaged archive into an empty ledger, which must stay empty and name the file and the reason.
async fn assert_refused(cases: &[(&str, Damage, &str)]) {
    let app = filled().await;
    for (file, change, reason) in cases {
        let (_folder, archive) = export(&app).await;
        let other = TestApp::unseeded().await;
        let now = other.engine.clock().now().as_millis();
        damage(&archive, file, |value| change(value, now));
        let bad = match import(&other, &archive, false).await {
            Err(ArchiveError::Bad(bad)) => bad,
            imported => panic!("{file}: {reason}: {imported:?}"),
        };
        let named: Vec<_> = bad.iter().map(ToString::to_string).collect();
        assert!(
            named
                .iter()
                .any(|bad| bad.starts_with(file) && bad.contains(reason)),
            "{file}: {reason}: {named:?}"
        );
        assert_eq!(other.get("/api/tasks").await.data(), json!([]));
    }
}

#[tokio::test]
async fn times_that_no_clock_has_are_refused() {
    assert_refused(&[
        (
            "registry/task-2/task.json",
            |task, _| task["agentChain"][0]["startedAt"] = json!(i64::MIN),
            "`startedAt` is -9223372036854775808, which is not a time between 1970 and 9999",
        ),
        (
            "registry/task-2/task.json",
            |task, _| task["agentChain"][0]["completedAt"] = json!(1),
            "hand-off h-2 completed before it started",
        ),
        (
            "registry/task-2/runs.json",
            |file, _| file["runs"][0]["startedAt"] = json!(-1),
            "`startedAt` is -1, which",
        ),
        (
            "registry/task-2/runs.json",
            |file, _| file["runs"][0]["endedAt"] = json!(1),
            "run r-2: `endedAt` must not be before `startedAt`",
        ),
        (
            "mail/m-1.json",
            |mail, _| mail["ackDueAt"] = json!(i64::MAX),
            "`ackDueAt` is 9223372036854775807, which is not a time",
        ),
    ])
    .await;
}

#[tokio::test]
async fn usage_that_cannot_be_summed_is_refused() {
    assert_refused(&[(
        "registry/task-2/runs.json",
        |file, _| {
            file["runs"][1]["usage"] = json!({ "input_tokens": -5, "output_tokens": "x", "inputTokens": 1e300, "turns": [1] });
        },
        "run r-3: `usage` must have numbers only",
    )])
    .await;
}

#[tokio::test]
async fn times_in_the_future_are_refused_because_they_would_set_the_clock() {
    let reason = "which is 2 × 24 hours after this machine's time";
    assert_refused(&[
        (
            "events.json",
            |file, now| file["events"][0]["timestamp"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "registry/task-1/history.json",
            |file, now| file["events"][0]["timestamp"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "registry/task-1/task.json",
            |task, now| task["createdAt"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "registry/task-1/queue.json",
            |file, now| file["messages"][0]["receivedAt"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "registry/task-1/messages.json",
            |file, now| file["messages"][0]["timestamp"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "registry/task-2/links.json",
            |file, now| {
                file["handoffs"][0]["delegation"]["deliveredAt"] = json!(now + 2 * DAY + 1000);
            },
            reason,
        ),
        (
            "requests/req-1.json",
            |request, now| request["transitions"][0]["at"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "alerts/al-1.json",
            |alert, now| alert["raisedAt"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "increments/inc-1.json",
            |increment, now| increment["updatedAt"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "mail/m-1.json",
            |mail, now| mail["sentAt"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
        (
            "ledger.json",
            |ledger, now| ledger["agents"][0]["createdAt"] = json!(now + 2 * DAY + 1000),
            reason,
        ),
    ])
    .await;
}

#[tokio::test]
async fn deadlines_may_be_in_the_future_and_clocks_may_differ_by_a_day() {
    let app = filled().await;
    let (_folder, archive) = export(&app).await;
    let other = TestApp::unseeded().await;
    let now = other.engine.clock().now().as_millis();
    damage(&archive, "mail/m-1.json", |mail| {
        mail["ackDueAt"] = json!(now + 90 * DAY);
    });
    damage(&archive, "requests/req-1.json", |request| {
        request["lease"]["expiresAt"] = json!(now + 2 * DAY);
    });
    damage(&archive, "alerts/al-2.json", |alert| {
        alert["raisedAt"] = json!(now + DAY / 2);
    });
    import(&other, &archive, false).await.unwrap();
}

#[tokio::test]
async fn a_handoff_that_ends_twice_or_while_it_is_open_is_refused() {
    assert_refused(&[
        (
            "registry/task-2/history.json",
            |file, _| {
                let events = file["events"].as_array_mut().unwrap();
                let mut second = events.last().unwrap().clone();
                (second["eventType"], second["number"]) =
                    (json!("agent_handoff_failed"), json!(99));
                events.push(second);
            },
            "a second event ends hand-off h-2",
        ),
        (
            "registry/task-1/history.json",
            |file, _| {
                let event = file["events"].as_array_mut().unwrap().last_mut().unwrap();
                event["eventType"] = json!("agent_handoff_completed");
            },
            "an event ends hand-off h-1, which is open",
        ),
        (
            "registry/task-2/runs.json",
            |file, _| file["runs"][0]["outcome"] = json!("completed"),
            "run r-3 is the second one that completed hand-off h-2",
        ),
    ])
    .await;
}
