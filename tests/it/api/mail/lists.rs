//! Lists and search, which mark nothing as read

use insta::assert_snapshot;
use serde_json::json;

use super::{app_with_roles, id_of, mark_as_operator, send, send_note, subjects};
use crate::support::TestApp;

#[tokio::test]
async fn mail_is_filtered_by_recipient_sender_and_task() {
    let app = app_with_roles().await;
    let task = app.task("Write it").await;
    let all = [
        json!({ "to": ["qa"], "subject": "a", "from": "planner" }),
        json!({ "to": ["planner"], "cc": ["qa"], "subject": "b", "taskId": task }),
        json!({ "to": ["operator"], "subject": "c", "from": "qa", "threadId": "t" }),
        json!({ "to": ["testing"], "subject": "d", "taskId": task, "threadId": "t" }),
    ];
    for body in all {
        send(&app, body).await.data();
    }
    for (query, expected) in [
        ("", &["a", "b", "c", "d"][..]),
        ("to=qa", &["a", "b", "d"]),
        ("to=QA", &["a", "b", "d"]),
        ("to=operator", &["c"]),
        ("to=nobody", &[]),
        ("from=qa", &["c"]),
        ("from=anonymous", &["b", "d"]),
        ("thread=t", &["c", "d"]),
        ("thread=t&to=qa", &["d"]),
        (&format!("task={task}"), &["b", "d"]),
        (&format!("task={task}&to=developer-review"), &["d"]),
        ("task=nope", &[]),
        ("to=qa&from=planner", &["a"]),
    ] {
        assert_eq!(subjects(&app, query).await, expected, "{query}");
    }
}

#[tokio::test]
async fn listing_does_not_mark_mail_as_read() {
    let app = TestApp::new().await;
    let first = send_note(&app, "qa", "first").await;
    let both = json!({ "to": ["qa", "planner"], "subject": "both", "ackRequired": true });
    let both = id_of(&send(&app, both).await);
    let path = format!("/api/mail/{first}");
    let before = app.get("/api/mail").await.data();
    for query in [
        "",
        "?to=qa",
        "?to=qa&unread=true",
        "?unread=true",
        "?q=first",
    ] {
        app.get(&format!("/api/mail{query}")).await.data();
    }
    app.get(&path).await.data();
    assert_eq!(app.get("/api/mail").await.data(), before);
    assert_eq!(subjects(&app, "to=qa&unread=true").await, ["first", "both"]);
    app.post(&format!("{path}/read"), json!({})).await.data();
    let read = json!({ "recipient": "qa" });
    app.post(&format!("/api/mail/{both}/read"), read.clone())
        .await
        .data();
    assert_eq!(subjects(&app, "to=qa&unread=true").await, [""; 0]);
    assert_eq!(subjects(&app, "to=planner&unread=true").await, ["both"]);
    assert_eq!(subjects(&app, "unread=true").await, ["both"]);
    // Mail that is read but not acknowledged stays pending.
    assert_eq!(subjects(&app, "to=qa&pending=true").await, ["both"]);
    app.post(&format!("/api/mail/{both}/ack"), read)
        .await
        .data();
    assert_eq!(subjects(&app, "to=qa&pending=true").await, [""; 0]);
    assert_eq!(subjects(&app, "pending=true").await, ["both"]);
}

#[tokio::test]
async fn an_acknowledgement_is_overdue_after_its_deadline() {
    const HOUR: i64 = 60 * 60 * 1000;
    let app = TestApp::new().await;
    for (urgency, hours) in [("urgent", 1), ("high", 4), ("normal", 24), ("low", 7 * 24)] {
        let body = json!({ "to": ["qa"], "cc": ["planner"], "subject": urgency, "urgency": urgency, "ackRequired": true });
        let sent = send(&app, body).await.data();
        let due = sent["sentAt"].as_i64().unwrap() + hours * HOUR;
        assert_eq!(sent["ackDueAt"], json!(due));
    }
    send_note(&app, "qa", "needs none").await;
    let overdue = async || subjects(&app, "overdue=true").await;
    app.clock.advance(HOUR);
    assert_eq!(overdue().await, [""; 0]);
    app.clock.advance(1);
    assert_eq!(overdue().await, ["urgent"]);
    app.clock.advance(3 * HOUR);
    assert_eq!(overdue().await, ["urgent", "high"]);
    app.clock.advance(20 * HOUR);
    assert_eq!(overdue().await, ["urgent", "high", "normal"]);
    // A recipient in `cc` owes no acknowledgement.
    assert_eq!(subjects(&app, "overdue=true&to=planner").await, [""; 0]);
    assert_eq!(subjects(&app, "overdue=true&to=qa").await.len(), 3);
    let late = app.get("/api/mail?overdue=true").await.data();
    let id = late[0]["id"].as_str().unwrap().to_owned();
    // Reading does not acknowledge.
    let as_qa = json!({ "recipient": "qa" });
    mark_as_operator(&app, &id, "read", as_qa.clone())
        .await
        .data();
    assert_eq!(overdue().await.len(), 3);
    mark_as_operator(&app, &id, "ack", as_qa).await.data();
    assert_eq!(overdue().await, ["high", "normal"]);
    app.clock.advance(7 * 24 * HOUR);
    assert_eq!(overdue().await, ["high", "normal", "low"]);
}

#[tokio::test]
async fn mail_is_searched_by_words_without_query_syntax() {
    let app = TestApp::new().await;
    let all = [
        json!({ "to": ["qa"], "subject": "The parser fails", "body": "on empty input" }),
        json!({ "to": ["planner"], "subject": "Parser", "body": "Übergröße OR nothing", "context": { "test": "tests/parser.rs" } }),
        json!({ "to": ["qa"], "subject": "quotes", "body": "say \"hello\" * twice" }),
    ];
    for body in all {
        send(&app, body).await.data();
    }
    for (words, expected) in [
        ("parser", &["The parser fails", "Parser"][..]),
        ("PARSER+input", &["The parser fails"]),
        ("parser+nothing+input", &[]),
        ("%C3%BCbergr%C3%B6%C3%9Fe", &["Parser"]),
        ("tests/parser.rs", &["Parser"]),
        ("parser&to=qa", &["The parser fails"]),
        ("parser&unread=true&to=planner", &["Parser"]),
        // Operators of the search syntax are ordinary words.
        ("fails+OR+quotes", &[]),
        ("nothing+OR", &["Parser"]),
        ("NOT+parser", &[]),
        ("subject:parser", &[]),
        ("%22hello%22", &["quotes"]),
        ("%22+OR+*", &["Parser"]),
        ("hello*", &["quotes"]),
        ("pars*", &[]),
        ("NEAR(parser", &[]),
        ("(parser)", &["The parser fails", "Parser"]),
        ("^parser+-+%22%22", &["The parser fails", "Parser"]),
        ("';DROP+TABLE+mail;--", &[]),
        // Rust counts it as a letter, the full-text index does not.
        ("%E2%92%B6", &[]),
    ] {
        assert_eq!(
            subjects(&app, &format!("q={words}")).await,
            expected,
            "{words}"
        );
    }
    let refused = async |query: &str| app.get(&format!("/api/mail?{query}")).await.line();
    assert_snapshot!(refused("q=").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: q: must be 1 to 32 words with letters or digits"}}"#);
    assert_snapshot!(refused("q=%22+*").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: q: must be 1 to 32 words with letters or digits"}}"#);
    assert_snapshot!(refused("q=a%00b").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: q: has a NUL character (\\u0000) at byte 1, which cannot be stored; remove it"}}"#);
    let many = vec!["a"; 33].join("+");
    assert_snapshot!(refused(&format!("q={many}")).await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: q: must be 1 to 32 words with letters or digits"}}"#);
    let most = vec!["parser"; 32].join("+");
    assert_eq!(subjects(&app, &format!("q={most}")).await.len(), 2);
}

#[tokio::test]
async fn pages_hold_every_mail_once_and_oldest_first() {
    let app = TestApp::new().await;
    for place in 0..7 {
        let to = ["qa", "planner"][place % 2];
        let body =
            json!({ "to": [to], "subject": place.to_string(), "body": "words", "threadId": to });
        send(&app, body).await.data();
    }
    for (query, expected) in [
        ("", &["0", "1", "2", "3", "4", "5", "6"][..]),
        ("to=qa", &["0", "2", "4", "6"]),
        ("to=qa&unread=true", &["0", "2", "4", "6"]),
        ("thread=planner", &["1", "3", "5"]),
        ("q=words", &["0", "1", "2", "3", "4", "5", "6"]),
    ] {
        for limit in [1, 2, 3, 7, 1000] {
            let (mut found, mut after) = (Vec::new(), String::new());
            loop {
                let path = format!("/api/mail?{query}&limit={limit}{after}");
                let reply = app.get(&path).await;
                let page = reply.data();
                found.extend(
                    page.as_array()
                        .unwrap()
                        .iter()
                        .map(|mail| mail["subject"].clone()),
                );
                match reply.json()["meta"]["next"].as_str() {
                    Some(next) => after = format!("&after={next}"),
                    None => break,
                }
            }
            assert_eq!(found, expected, "{query} {limit}");
        }
    }
    let refused = async |query: &str| app.get(&format!("/api/mail?{query}")).await.line();
    assert_snapshot!(refused("limit=0").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: limit: must be 1 to 1000"}}"#);
    assert_snapshot!(refused("after=nope").await, @r#"404 {"error":{"code":"NOT_FOUND","message":"Mail not found: nope"}}"#);
    assert_snapshot!(refused("to=role:x").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: to: may only have letters, digits, `.`, `_` and `-`, and must not begin with `.`"}}"#);
    assert_snapshot!(refused("unread=yes").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: unread: provided string was not `true` or `false`"}}"#);
    assert_snapshot!(refused("state=new").await, @r#"400 {"error":{"code":"INVALID_QUERY","message":"query: state: unknown field `state`, expected one of `to`, `from`, `unread`, `pending`, `overdue`, `thread`, `task`, `q`, `newest`, `limit`, `after`"}}"#);
}
