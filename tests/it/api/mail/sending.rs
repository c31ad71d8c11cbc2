//! Sending, senders and recipients

use insta::assert_snapshot;
use serde_json::{Value, json};

use super::{app_with_roles, id_of, send, send_note, subjects};
use crate::api::pick;
use crate::support::{OPERATOR_TOKEN, TestApp};

fn recipients(mail: &Value) -> Vec<(&str, bool)> {
    let all = mail["recipients"].as_array().unwrap().iter();
    all.map(|each| {
        (
            each["recipient"].as_str().unwrap(),
            each["cc"].as_bool().unwrap(),
        )
    })
    .collect()
}

#[tokio::test]
async fn a_mail_is_read_back_as_it_was_sent() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let body = json!({
        "from": "developer", "to": ["qa"], "cc": ["operator"], "subject": "Ready", "body": "make test", "taskId": task,
        "context": { "files": ["a.rs"], "attempts": 1.5 },
    });
    let sent = send(&app, body.clone()).await;
    assert_eq!(sent.status, 201);
    let keys: Vec<_> = body
        .as_object()
        .unwrap()
        .keys()
        .map(String::as_str)
        .collect();
    assert_eq!(pick(&sent.data(), &keys), body);
    assert_eq!(sent.data()["fromVerified"], false);
    assert_eq!(
        recipients(&sent.data()),
        [("qa", false), ("operator", true)]
    );
    let path = format!("/api/mail/{}", id_of(&sent));
    assert_eq!(app.get(&path).await.data(), sent.data());
    assert_eq!(app.get("/api/mail").await.data(), json!([sent.data()]));
}

#[tokio::test]
async fn a_minimal_mail_is_a_note_in_its_own_thread() {
    let app = TestApp::new().await;
    let sent = send(&app, json!({ "to": ["qa"], "subject": "Look" })).await;
    assert_eq!(
        pick(
            &sent.data(),
            &[
                "type",
                "from",
                "body",
                "urgency",
                "ackRequired",
                "ackDueAt",
                "context"
            ]
        ),
        json!({
            "type": "note", "from": "anonymous", "body": "", "urgency": "normal", "ackRequired": false, "ackDueAt": null,
            "context": {},
        })
    );
    assert_eq!(sent.data()["threadId"], sent.data()["id"]);
}

#[tokio::test]
async fn a_role_is_resolved_to_its_agents_when_the_mail_is_sent() {
    let app = app_with_roles().await;
    let send = async |to: Value, cc: Value| {
        let body = json!({ "to": to, "cc": cc, "subject": "Look" });
        super::send(&app, body).await.data()
    };
    let to_role = send(json!(["role:testing"]), json!([])).await;
    assert_eq!(to_role["to"], json!(["role:testing"]));
    let testers = [("developer-review", false), ("qa", false)];
    assert_eq!(recipients(&to_role), testers);
    // A name that is no agent may be a role, and an unavailable agent still gets mail.
    let bare = send(json!(["testing"]), json!(["implementation"])).await;
    assert_eq!(bare["to"], json!(["role:testing"]));
    assert_eq!(recipients(&bare)[2], ("developer", true));
    // Each recipient gets it once, and `to` wins over `cc`.
    let twice = send(
        json!(["qa", "role:testing", " `QA` "]),
        json!(["testing", "Developer_Review", "operator", "OPERATOR"]),
    )
    .await;
    assert_eq!(
        recipients(&twice),
        [
            ("qa", false),
            ("developer-review", false),
            ("operator", true)
        ]
    );
    let connection = crate::support::invariants::open(&app.data_dir.database());
    connection
        .execute("UPDATE agents SET roles = '[]'", [])
        .unwrap();
    let path = format!("/api/mail/{}", to_role["id"].as_str().unwrap());
    assert_eq!(recipients(&app.get(&path).await.data()), testers);
}

#[tokio::test]
async fn mail_without_a_valid_recipient_is_refused() {
    let app = app_with_roles().await;
    let refused = async |to: Value| {
        send(&app, json!({ "to": to, "subject": "Look" }))
            .await
            .line()
    };
    assert_snapshot!(refused(json!(["role:verification"])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"No agent has the role verification. Give the role to an agent, or address an agent by name"}}"#);
    assert_snapshot!(refused(json!(["qa", "nobody"])).await, @r#"400 {"error":{"code":"UNKNOWN_AGENT","message":"Unknown agent: nobody","details":{"agents":["developer","developer-review","orchestrator","planner","qa"]}}}"#);
    assert_snapshot!(refused(json!(["role:"])).await, @r#"400 {"error":{"code":"UNKNOWN_AGENT","message":"Unknown agent: role:","details":{"agents":["developer","developer-review","orchestrator","planner","qa"]}}}"#);
    assert_snapshot!(refused(json!(["router"])).await, @r#"400 {"error":{"code":"UNKNOWN_AGENT","message":"Unknown agent: router","details":{"agents":["developer","developer-review","orchestrator","planner","qa"]}}}"#);
    assert_snapshot!(refused(json!([])).await, @r#"400 {"error":{"code":"INVALID_BODY","message":"to: must name at least one recipient"}}"#);
    assert_eq!(subjects(&app, "").await, [""; 0]);
    assert!(app.events().await.is_empty());
}

#[tokio::test]
async fn an_answer_joins_the_thread() {
    let app = TestApp::new().await;
    let first = send_note(&app, "qa", "first").await;
    let answer = async |id: &str, subject: &str| {
        let body = json!({ "to": ["developer"], "subject": subject, "inReplyTo": id });
        send(&app, body).await
    };
    let second = answer(&first, "second").await;
    assert_eq!(second.data()["threadId"], json!(first));
    assert_eq!(
        answer(&id_of(&second), "third").await.data()["threadId"],
        json!(first)
    );
    send_note(&app, "qa", "other").await;
    let named = json!({ "to": ["qa"], "subject": "named", "threadId": "release-1" });
    send(&app, named.clone()).await.data();
    assert_eq!(
        subjects(&app, &format!("thread={first}")).await,
        ["first", "second", "third"]
    );
    assert_eq!(subjects(&app, "thread=release-1").await, ["named"]);
    assert_eq!(subjects(&app, "thread=nope").await, [""; 0]);
    assert_snapshot!(answer("nope", "lost").await.line(), @r#"404 {"error":{"code":"NOT_FOUND","message":"Mail not found: nope"}}"#);
    let both = json!({ "to": ["qa"], "subject": "x", "threadId": "a", "inReplyTo": first });
    assert_snapshot!(send(&app, both).await.line(), @r#"400 {"error":{"code":"INVALID_BODY","message":"threadId: a reply joins the thread of `inReplyTo`; give only one of the two"}}"#);
}

#[tokio::test]
async fn the_sender_follows_from_the_token() {
    let app = TestApp::new().await;
    let sent = async |token: Option<&str>, from: Value| {
        let body = json!({ "to": ["qa"], "subject": "Look", "from": from });
        match token {
            None => send(&app, body).await,
            Some(token) => {
                app.with_token(token, axum::http::Method::POST, "/api/mail", body)
                    .await
            }
        }
    };
    let by = async |token, from| {
        let mail = sent(token, from).await.data();
        (mail["from"].clone(), mail["fromVerified"].clone())
    };
    let operator = Some(OPERATOR_TOKEN);
    assert_eq!(
        by(operator, Value::Null).await,
        (json!("operator"), json!(true))
    );
    assert_eq!(
        by(operator, json!("Operator")).await,
        (json!("operator"), json!(true))
    );
    assert_eq!(
        by(operator, json!("planner")).await,
        (json!("planner"), json!(true))
    );
    assert_eq!(
        by(None, Value::Null).await,
        (json!("anonymous"), json!(false))
    );
    assert_eq!(
        by(None, json!("anonymous")).await,
        (json!("anonymous"), json!(false))
    );
    assert_eq!(
        by(None, json!("PLANNER")).await,
        (json!("planner"), json!(false))
    );
    let before = app.get("/api/mail").await.data();
    assert_eq!(sent(None, json!(" OPERATOR ")).await.status, 401);
    assert_snapshot!(sent(None, json!("operator")).await.line(), @r#"401 {"error":{"code":"UNAUTHORIZED","message":"Operator token required to send mail as `operator`. Send the header `Authorization: Bearer <contents of operator.token>`, or name another `from`"}}"#);
    assert_eq!(sent(operator, json!("router")).await.status, 403);
    assert_snapshot!(sent(None, json!("Router")).await.line(), @r#"403 {"error":{"code":"FORBIDDEN","message":"from: the name `router` is reserved for the router. Name another sender"}}"#);
    assert_eq!(sent(operator, json!("nobody")).await.status, 400);
    assert_snapshot!(sent(None, json!("nobody")).await.line(), @r#"400 {"error":{"code":"UNKNOWN_AGENT","message":"Unknown agent: nobody","details":{"agents":["developer","developer-review","orchestrator","planner","qa"]}}}"#);
    assert_eq!(app.get("/api/mail").await.data(), before);
}

#[tokio::test]
async fn a_repeated_request_sends_one_mail() {
    let app = TestApp::new().await;
    let post = async |key: &str, path: &str, body: Value| {
        let request = axum::http::Request::post(path)
            .header("host", "localhost")
            .header("idempotency-key", key);
        app.send(request.body(body.to_string().into()).unwrap())
            .await
    };
    let body = json!({ "to": ["qa"], "subject": "Look" });
    let first = post("k", "/api/mail", body.clone()).await;
    app.clock.advance(1000);
    let second = post("k", "/api/mail", body).await;
    assert_eq!(first.data(), second.data());
    let other = json!({ "to": ["qa"], "subject": "Look away" });
    assert_eq!(post("k", "/api/mail", other).await.status, 409);
    assert_eq!(subjects(&app, "").await, ["Look"]);
    let path = format!("/api/mail/{}/ack", id_of(&first));
    let acknowledged = post("a", &path, json!({})).await.data();
    assert_eq!(post("a", &path, json!({})).await.data(), acknowledged);
    assert_eq!(app.events().await.len(), 2);
}

#[tokio::test]
async fn mail_events_appear_in_the_history_of_the_task_and_in_the_event_stream() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let about = json!({ "to": ["qa", "planner"], "cc": ["operator"], "subject": "Of \"it\"", "taskId": task });
    let about = id_of(&send(&app, about).await);
    let alone = send_note(&app, "qa", "Of nothing").await;
    for (id, action) in [(&about, "read"), (&about, "ack"), (&alone, "ack")] {
        let body = json!({ "recipient": "qa" });
        app.post(&format!("/api/mail/{id}/{action}"), body)
            .await
            .data();
    }
    let history = app.get(&format!("/api/tasks/{task}/history")).await.data();
    let told: Vec<_> = history["events"]
        .as_array()
        .unwrap()
        .iter()
        .skip(1)
        .collect();
    assert_snapshot!(crate::support::redact(&serde_json::to_string_pretty(&told).unwrap()), @r#"
    [
      {
        "timestamp": 1767225600000,
        "eventType": "mail_sent",
        "data": {
          "from": "anonymous",
          "mailId": "<id 1>",
          "subject": "Of \"it\"",
          "to": "qa, planner, operator",
          "type": "note"
        },
        "number": 2
      },
      {
        "timestamp": 1767225600000,
        "eventType": "mail_read",
        "data": {
          "mailId": "<id 1>",
          "recipient": "qa"
        },
        "number": 4
      },
      {
        "timestamp": 1767225600000,
        "eventType": "mail_acknowledged",
        "data": {
          "mailId": "<id 1>",
          "recipient": "qa"
        },
        "number": 5
      }
    ]
    "#);
    let all = app.events().await;
    let types: Vec<_> = all.iter().map(|event| event.event_type.as_str()).collect();
    assert_eq!(
        types,
        [
            "task_created",
            "mail_sent",
            "mail_sent",
            "mail_read",
            "mail_acknowledged",
            "mail_acknowledged"
        ]
    );
    assert_eq!((&all[2].task_id, &all[5].task_id), (&None, &None));
}
