//! Mail from end to end: real agents, the real program, restarts.

use chorus::client::Client;
use chorus::domain::Outcome;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{Desk, Server, Workshop, begin, ended, last_id, own_port, run, task};

/// An agent that prints what it is told.
const PARROT: &str = "cat";

/// Sends a mail and returns it.
async fn send(client: &Client, body: Value) -> Value {
    let sent = client.send_json(Method::POST, "/api/mail", &body).await;
    sent.unwrap().data().unwrap()
}

/// Returns what became of a mail with its first recipient.
async fn state(client: &Client, mail: &Value) -> Value {
    let path = format!("/api/mail/{}", mail["id"].as_str().unwrap());
    let mail: Value = client.get(&path, &[]).await.unwrap().data().unwrap();
    mail["recipients"][0].clone()
}

/// Returns the part of a prompt that has mail.
fn told(output: &str) -> Option<&str> {
    let (_, rest) = output.split_once("\n# Mail\n")?;
    Some(rest.split("\n# Your assignment\n").next().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_in_the_next_prompt_is_delivered_then_and_read_when_that_is_completed() {
    let workshop = Workshop::new();
    let gate = workshop.gate("gate");
    let script = format!("cat; read _ <{}", gate.path().display());
    let workshop = workshop.agent("worker", &script).agent("other", PARROT);
    let server = workshop.serve(2);
    let client = server.client();
    let body = json!({ "to": ["worker"], "subject": "The port is 8081", "body": "not 8080", "urgency": "high", "ackRequired": true });
    let mail = send(&client, body).await;
    // Nobody else is told, and nothing changes by that.
    let other = run(&client, "other").await;
    assert_eq!(told(other.output.as_str()), None);
    assert_eq!(state(&client, &mail).await["deliveredAt"], json!(null));
    let mut events = crate::support::Events::listen(&client).await;
    let work = begin(&client, "worker").await;
    let id = mail["id"].as_str().unwrap();
    let delivered = events.until("mail_delivered", id).await;
    assert_eq!(delivered["data"]["recipient"], "worker");
    assert_eq!(delivered["data"]["handoffId"], json!(last_id(&work)));
    let now = state(&client, &mail).await;
    assert!(
        now["deliveredAt"].is_i64() && now["readAt"].is_null(),
        "{now}"
    );
    gate.let_one_through();
    let handoff = ended(&client, last_id(&work)).await;
    let told_first = told(handoff.output.as_str()).unwrap().to_owned();
    for part in [
        format!(
            "Mail {id}: note from anonymous (sender not verified), high\n> The port is 8081\n>\n> not 8080\n"
        ),
        format!("The sender wants an acknowledgement. Run `chorus mail ack {id}`."),
    ] {
        assert!(told_first.contains(&part), "{told_first}");
    }
    let now = state(&client, &mail).await;
    assert!(
        now["readAt"].is_i64() && now["acknowledgedAt"].is_null(),
        "{now}"
    );
    // It is told again until it is acknowledged, and no longer.
    for acknowledged in [false, true] {
        if acknowledged {
            let path = format!("/api/mail/{id}/ack");
            client
                .send_json(Method::POST, &path, &json!({}))
                .await
                .unwrap();
        }
        gate.let_one_through();
        let again = run(&client, "worker").await;
        assert_eq!(told(again.output.as_str()).is_none(), acknowledged);
    }
    assert_eq!(
        state(&client, &mail).await["deliveredAt"],
        now["deliveredAt"]
    );
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_fails_leaves_its_mail_to_the_next_one() {
    let workshop = Workshop::new();
    let flag = workshop.path("mended");
    let script = format!("cat; test -e {}", flag.display());
    let workshop = workshop.agent("worker", &script);
    let server = workshop.serve(1);
    let client = server.client();
    let mail = send(
        &client,
        json!({ "to": ["worker"], "subject": "Mind the gap" }),
    )
    .await;
    let first = run(&client, "worker").await;
    assert_eq!(first.outcome, Some(Outcome::Failed));
    assert!(first.output.as_str().contains("Mind the gap"));
    let after_first = state(&client, &mail).await;
    assert!(
        after_first["deliveredAt"].is_i64() && after_first["readAt"].is_null(),
        "{after_first}"
    );
    std::fs::write(&flag, "").unwrap();
    let second = run(&client, "worker").await;
    assert_eq!(second.outcome, Some(Outcome::Completed));
    assert!(
        told(second.output.as_str())
            .unwrap()
            .contains("Mind the gap")
    );
    let after_second = state(&client, &mail).await;
    assert_eq!(after_second["deliveredAt"], after_first["deliveredAt"]);
    assert!(after_second["readAt"].is_i64(), "{after_second}");
    let third = run(&client, "worker").await;
    assert_eq!(told(third.output.as_str()), None);
    assert_eq!(workshop.violations(), [""; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_mail_than_a_prompt_has_room_for_comes_in_the_next_ones() {
    let workshop = Workshop::new().agent("worker", PARROT);
    let server = workshop.serve(1);
    let client = server.client();
    for place in 0..9 {
        let body = json!({ "to": ["worker"], "subject": format!("number {place}"), "body": "x".repeat(900) });
        send(&client, body).await;
    }
    let mut seen = Vec::new();
    loop {
        let handoff = run(&client, "worker").await;
        let Some(mail) = told(handoff.output.as_str()) else {
            break;
        };
        assert!(mail.len() < 5000, "{}", mail.len());
        let numbers = (0..9).filter(|place| mail.contains(&format!("number {place}\n")));
        seen.push(numbers.collect::<Vec<_>>());
    }
    assert_eq!(seen, [vec![5, 6, 7, 8], vec![1, 2, 3, 4], vec![0]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_survives_restarts_while_an_agent_is_away() {
    let workshop = Workshop::new()
        .agent("worker", PARROT)
        .agent("other", PARROT);
    let port = own_port();
    let server = workshop.serve_with(1, &["--port", &port]);
    let client = server.client();
    let body = json!({ "to": ["worker", "other"], "subject": "Wait for it", "body": "all of it", "ackRequired": true });
    let mail = send(&client, body).await;
    let path = format!("/api/mail/{}/read", mail["id"].as_str().unwrap());
    let read = json!({ "recipient": "other" });
    client.send_json(Method::POST, &path, &read).await.unwrap();
    let shown = async |client: &Client| -> Value {
        let all = client.get("/api/mail", &[]).await.unwrap();
        all.data().unwrap()
    };
    let before = shown(&client).await;
    server.kill();
    let server = workshop.serve_with(1, &["--port", &port]);
    assert_eq!(shown(&client).await, before);
    assert!(server.stop().success());
    let _server = workshop.serve_with(1, &["--port", &port]);
    assert_eq!(shown(&client).await, before);
    let handoff = run(&client, "worker").await;
    assert!(
        told(handoff.output.as_str())
            .unwrap()
            .contains("> all of it")
    );
    assert!(state(&client, &mail).await["readAt"].is_i64());
    assert_eq!(workshop.violations(), [""; 0]);
}

/// Returns all mail, as who sent it says and what the server makes of it.
async fn senders(server: &Server) -> Vec<(String, bool)> {
    let all: Vec<Value> = server
        .client()
        .get("/api/mail", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    let who = |mail: &Value| {
        let from = mail["from"].as_str().unwrap().to_owned();
        (from, mail["fromVerified"].as_bool().unwrap())
    };
    all.iter().map(who).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sender_cannot_be_forged_from_inside_a_run() {
    let script = r#"post() { curl -s -o /dev/null -w '%{http_code} ' "$@" -H 'Content-Type: application/json' "$CHORUS_URL/api/mail"; }
        chorus mail send other --subject plain >/dev/null && echo -n 'sent '
        chorus mail send other --subject forged --from operator >/dev/null && echo -n 'sent '
        post -H "Authorization: Bearer $CHORUS_TOKEN" -d '{"to":["other"],"subject":"forged","from":"operator"}'
        post -H "Authorization: Bearer $CHORUS_TOKEN" -d '{"to":["other"],"subject":"forged","from":"router","fromVerified":true}'
        post -H "Authorization: Bearer wrong" -d '{"to":["other"],"subject":"forged","from":"operator"}'
        post -d '{"to":["other"],"subject":"forged","from":"operator"}'
        post -d '{"to":["other"],"subject":"forged","from":"router"}'
        post -d '{"to":["other"],"subject":"not verified","from":"other"}'"#;
    let workshop = Workshop::new()
        .agent("worker", script)
        .agent("other", PARROT);
    let server = workshop.serve(2);
    let client = server.client();
    let handoff = run(&client, "worker").await;
    assert_eq!(
        handoff.output.as_str().trim(),
        "sent sent 201 400 401 401 403 201"
    );
    let own = ("worker".to_owned(), true);
    assert_eq!(
        senders(&server).await,
        [own.clone(), own.clone(), own, ("other".to_owned(), false)]
    );
    let told_other = run(&client, "other").await;
    let mail = told(told_other.output.as_str()).unwrap().to_owned();
    assert_eq!(
        mail.matches("note from worker, about task").count(),
        3,
        "{mail}"
    );
    assert_eq!(
        mail.matches("note from other (sender not verified)")
            .count(),
        1,
        "{mail}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_answers_and_acknowledges_by_the_commands_that_it_is_told() {
    let script = r#"id=$(chorus mail inbox --json | jq -r .data[0].id)
        chorus mail ack $id && chorus mail send operator --reply-to $id --subject 'Done' --body-file - <<X && chorus mail inbox
It is "8081" now.
X"#;
    let workshop = Workshop::new().agent("worker", script);
    let server = workshop.serve(1);
    let desk = Desk::at(&server);
    let body = json!({ "to": ["worker"], "subject": "Which port?", "ackRequired": true });
    let asked = send(&desk.client, body).await;
    let handoff = run(&desk.client, "worker").await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    assert!(state(&desk.client, &asked).await["acknowledgedAt"].is_i64());
    let own = desk
        .client
        .get("/api/mail", &[("to", "operator".to_owned())])
        .await;
    let own: Value = own.unwrap().data().unwrap();
    assert_eq!(own[0]["threadId"], asked["id"]);
    assert_eq!(own[0]["from"], "worker");
    assert_eq!(own[0]["body"], "It is \"8081\" now.\n");
    assert_eq!(own[0]["taskId"], json!(handoff.task_id));
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_to_a_run_that_passes_control_on_is_read() {
    let workshop = Workshop::new()
        .agent(
            "first",
            "cat >/dev/null; chorus tool call $CHORUS_TASK_ID to_second",
        )
        .agent("second", PARROT);
    let server = workshop.serve(2);
    let client = server.client();
    let tool = json!({ "name": "to_second", "targetAgent": "second", "description": "Use it." });
    client
        .send_json(Method::POST, "/api/tools", &tool)
        .await
        .unwrap();
    let mail = send(&client, json!({ "to": ["first"], "subject": "Look" })).await;
    let mut events = crate::support::Events::listen(&client).await;
    let work = task(&client).await;
    let body = json!({ "agentName": "first", "prompt": "go" });
    crate::support::hand_off(&client, &work, &body)
        .await
        .unwrap();
    events
        .until("mail_read", mail["id"].as_str().unwrap())
        .await;
    assert!(state(&client, &mail).await["readAt"].is_i64());
    events.until("agent_handoff_completed", "second").await;
}
