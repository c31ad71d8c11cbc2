//! Mail from end to end: agents as processes, the program, restarts.

use chorus::client::Client;
use chorus::domain::Outcome;
use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{
    Operator, Sandbox, Server, create_task, last_handoff_id, reserve_port, run_agent,
    start_handoff, wait_for_end,
};

/// The script of an agent that prints its prompt.
const PRINT_PROMPT: &str = "cat";

async fn send_mail(client: &Client, body: Value) -> Value {
    let sent = client.send_json(Method::POST, "/api/mail", &body).await;
    sent.unwrap().data().unwrap()
}

/// Reads the first recipient of a mail.
async fn first_recipient(client: &Client, mail: &Value) -> Value {
    let path = format!("/api/mail/{}", mail["id"].as_str().unwrap());
    let mail: Value = client.get(&path, &[]).await.unwrap().data().unwrap();
    mail["recipients"][0].clone()
}

/// Returns the mail section of a prompt.
fn mail_section(output: &str) -> Option<&str> {
    let (_, rest) = output.split_once("\n# Mail\n")?;
    Some(rest.split("\n# Your assignment\n").next().unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_is_delivered_with_the_next_prompt_and_read_when_that_hand_off_completes() {
    let sandbox = Sandbox::new();
    let gate = sandbox.gate("gate");
    let script = format!("cat; read _ <{}", gate.path().display());
    let sandbox = sandbox
        .with_agent("worker", &script)
        .with_agent("other", PRINT_PROMPT);
    let server = sandbox.serve(2);
    let client = server.client();
    let body = json!({ "to": ["worker"], "subject": "The port is 8081", "body": "not 8080", "urgency": "high", "ackRequired": true });
    let mail = send_mail(&client, body).await;
    // Another agent does not get the mail, and the mail does not change.
    let other = run_agent(&client, "other").await;
    assert_eq!(mail_section(other.output.as_str()), None);
    assert_eq!(
        first_recipient(&client, &mail).await["deliveredAt"],
        json!(null)
    );
    let mut events = crate::support::Events::listen(&client).await;
    let work = start_handoff(&client, "worker").await;
    let id = mail["id"].as_str().unwrap();
    let delivered = events.wait_for("mail_delivered", id).await;
    assert_eq!(delivered["data"]["recipient"], "worker");
    assert_eq!(
        delivered["data"]["handoffId"],
        json!(last_handoff_id(&work))
    );
    let now = first_recipient(&client, &mail).await;
    assert!(
        now["deliveredAt"].is_i64() && now["readAt"].is_null(),
        "{now}"
    );
    gate.let_one_through();
    let handoff = wait_for_end(&client, last_handoff_id(&work)).await;
    let section = mail_section(handoff.output.as_str()).unwrap().to_owned();
    for part in [
        format!(
            "Mail {id}: note from anonymous (sender not verified), high\n> The port is 8081\n>\n> not 8080\n"
        ),
        format!("The sender wants an acknowledgement. Run `chorus mail ack {id}`."),
    ] {
        assert!(section.contains(&part), "{section}");
    }
    let now = first_recipient(&client, &mail).await;
    assert!(
        now["readAt"].is_i64() && now["acknowledgedAt"].is_null(),
        "{now}"
    );
    // The mail is repeated in prompts until it is acknowledged.
    for acknowledged in [false, true] {
        if acknowledged {
            let path = format!("/api/mail/{id}/ack");
            client
                .send_json(Method::POST, &path, &json!({}))
                .await
                .unwrap();
        }
        gate.let_one_through();
        let again = run_agent(&client, "worker").await;
        assert_eq!(mail_section(again.output.as_str()).is_none(), acknowledged);
    }
    assert_eq!(
        first_recipient(&client, &mail).await["deliveredAt"],
        now["deliveredAt"]
    );
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_run_leaves_its_mail_to_the_next_run() {
    let sandbox = Sandbox::new();
    let flag = sandbox.path("repaired");
    let script = format!("cat; test -e {}", flag.display());
    let sandbox = sandbox.with_agent("worker", &script);
    let server = sandbox.serve(1);
    let client = server.client();
    let mail = send_mail(
        &client,
        json!({ "to": ["worker"], "subject": "Mind the gap" }),
    )
    .await;
    let first = run_agent(&client, "worker").await;
    assert_eq!(first.outcome, Some(Outcome::Failed));
    assert!(first.output.as_str().contains("Mind the gap"));
    let after_first = first_recipient(&client, &mail).await;
    assert!(
        after_first["deliveredAt"].is_i64() && after_first["readAt"].is_null(),
        "{after_first}"
    );
    std::fs::write(&flag, "").unwrap();
    let second = run_agent(&client, "worker").await;
    assert_eq!(second.outcome, Some(Outcome::Completed));
    assert!(
        mail_section(second.output.as_str())
            .unwrap()
            .contains("Mind the gap")
    );
    let after_second = first_recipient(&client, &mail).await;
    assert_eq!(after_second["deliveredAt"], after_first["deliveredAt"]);
    assert!(after_second["readAt"].is_i64(), "{after_second}");
    let third = run_agent(&client, "worker").await;
    assert_eq!(mail_section(third.output.as_str()), None);
    sandbox.assert_invariants();
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_that_does_not_fit_into_a_prompt_comes_in_the_next_ones() {
    let sandbox = Sandbox::new().with_agent("worker", PRINT_PROMPT);
    let server = sandbox.serve(1);
    let client = server.client();
    for place in 0..9 {
        let body = json!({ "to": ["worker"], "subject": format!("number {place}"), "body": "x".repeat(900) });
        send_mail(&client, body).await;
    }
    let mut seen = Vec::new();
    loop {
        let handoff = run_agent(&client, "worker").await;
        let Some(mail) = mail_section(handoff.output.as_str()) else {
            break;
        };
        assert!(mail.len() < 5000, "{}", mail.len());
        let numbers = (0..9).filter(|place| mail.contains(&format!("number {place}\n")));
        seen.push(numbers.collect::<Vec<_>>());
    }
    assert_eq!(seen, [vec![5, 6, 7, 8], vec![1, 2, 3, 4], vec![0]]);
}

#[tokio::test(flavor = "multi_thread")]
async fn mail_to_an_absent_agent_survives_restarts() {
    let sandbox = Sandbox::new()
        .with_agent("worker", PRINT_PROMPT)
        .with_agent("other", PRINT_PROMPT);
    let port = reserve_port();
    let server = sandbox.serve_with(1, &["--port", &port]);
    let client = server.client();
    let body = json!({ "to": ["worker", "other"], "subject": "Wait for it", "body": "all of it", "ackRequired": true });
    let mail = send_mail(&client, body).await;
    let path = format!("/api/mail/{}/read", mail["id"].as_str().unwrap());
    let read = json!({ "recipient": "other" });
    client.send_json(Method::POST, &path, &read).await.unwrap();
    let all_mail = async |client: &Client| -> Value {
        let all = client.get("/api/mail", &[]).await.unwrap();
        all.data().unwrap()
    };
    let before = all_mail(&client).await;
    server.kill();
    let server = sandbox.serve_with(1, &["--port", &port]);
    assert_eq!(all_mail(&client).await, before);
    assert!(server.stop().success());
    let _server = sandbox.serve_with(1, &["--port", &port]);
    assert_eq!(all_mail(&client).await, before);
    let handoff = run_agent(&client, "worker").await;
    assert!(
        mail_section(handoff.output.as_str())
            .unwrap()
            .contains("> all of it")
    );
    assert!(first_recipient(&client, &mail).await["readAt"].is_i64());
    sandbox.assert_invariants();
}

/// Returns the sender of every mail, and whether the sender is verified.
async fn senders(server: &Server) -> Vec<(String, bool)> {
    let all: Vec<Value> = server
        .client()
        .get("/api/mail", &[])
        .await
        .unwrap()
        .data()
        .unwrap();
    let sender = |mail: &Value| {
        let from = mail["from"].as_str().unwrap().to_owned();
        (from, mail["fromVerified"].as_bool().unwrap())
    };
    all.iter().map(sender).collect()
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
        post -d '{"to":["other"],"subject":"forged","from":"other"}'"#;
    let sandbox = Sandbox::new()
        .with_agent("worker", script)
        .with_agent("other", PRINT_PROMPT);
    let server = sandbox.serve(2);
    let client = server.client();
    let handoff = run_agent(&client, "worker").await;
    assert_eq!(
        handoff.output.as_str().trim(),
        "sent sent 201 400 401 201 201 201"
    );
    // Without its token, the run is still the run.
    assert_eq!(senders(&server).await, vec![("worker".to_owned(), true); 6]);
    let other = run_agent(&client, "other").await;
    let mail = mail_section(other.output.as_str()).unwrap().to_owned();
    assert_eq!(
        mail.matches("note from worker, about task").count(),
        6,
        "{mail}"
    );
    assert!(!mail.contains("not verified"), "{mail}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_answers_and_acknowledges_mail_with_commands() {
    let script = r#"id=$(chorus mail inbox --json | jq -r .data[0].id)
        chorus mail ack $id && chorus mail send operator --reply-to $id --subject 'Done' --body-file - <<X && chorus mail inbox
It is "8081" now.
X"#;
    let sandbox = Sandbox::new().with_agent("worker", script);
    let server = sandbox.serve(1);
    let operator = Operator::of(&server);
    let body = json!({ "to": ["worker"], "subject": "Which port?", "ackRequired": true });
    let asked = send_mail(&operator.client, body).await;
    let handoff = run_agent(&operator.client, "worker").await;
    assert_eq!(
        handoff.outcome,
        Some(Outcome::Completed),
        "{}",
        handoff.output
    );
    assert!(first_recipient(&operator.client, &asked).await["acknowledgedAt"].is_i64());
    let own = operator
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
async fn mail_to_a_run_that_transfers_its_task_is_read() {
    let sandbox = Sandbox::new()
        .with_agent(
            "first",
            "cat >/dev/null; chorus tool call $CHORUS_TASK_ID to_second",
        )
        .with_agent("second", PRINT_PROMPT);
    let server = sandbox.serve(2);
    let client = server.client();
    let tool = json!({ "name": "to_second", "targetAgent": "second", "description": "Use it." });
    server
        .operator()
        .send_json(Method::POST, "/api/tools", &tool)
        .await
        .unwrap();
    let mail = send_mail(&client, json!({ "to": ["first"], "subject": "Look" })).await;
    let mut events = crate::support::Events::listen(&client).await;
    let work = create_task(&client).await;
    let body = json!({ "agentName": "first", "prompt": "go" });
    crate::support::hand_off(&client, &work, &body)
        .await
        .unwrap();
    events
        .wait_for("mail_read", mail["id"].as_str().unwrap())
        .await;
    assert!(first_recipient(&client, &mail).await["readAt"].is_i64());
    events.wait_for("agent_handoff_completed", "second").await;
}
