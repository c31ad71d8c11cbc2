//! Lists of mail, sessions and increments, newest first

use serde_json::{Value, json};

use crate::support::TestApp;

/// Follows `meta.next` to the end and returns what `name` finds in each item.
async fn walk(app: &TestApp, path: &str, name: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut after = String::new();
    loop {
        let reply = app.get(&format!("{path}{after}")).await;
        let items: Vec<Value> = serde_json::from_value(reply.data()).unwrap();
        found.extend(
            items
                .iter()
                .map(|item| item[name].as_str().unwrap().to_owned()),
        );
        match reply.json()["meta"]["next"].as_str() {
            Some(next) => after = format!("&after={next}"),
            None => return found,
        }
    }
}

/// Checks that a list has the same items in both orders, on pages of every size.
async fn check(app: &TestApp, path: &str, name: &str, oldest_first: &[&str]) {
    let newest_first: Vec<_> = oldest_first.iter().rev().copied().collect();
    for limit in [1, 2, 100] {
        let query = format!("{path}limit={limit}");
        assert_eq!(walk(app, &query, name).await, oldest_first, "{query}");
        let query = format!("{query}&newest=true");
        assert_eq!(walk(app, &query, name).await, newest_first, "{query}");
    }
}

#[tokio::test]
async fn mail_is_listed_newest_first_whatever_the_filter() {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    for (subject, to, ack) in [
        ("parser a", "qa", true),
        ("b", "planner", false),
        ("parser c", "qa", false),
        ("parser d", "qa", true),
    ] {
        let mail = json!({ "to": [to], "from": "developer", "subject": subject, "ackRequired": ack, "urgency": "urgent",
            "threadId": format!("t-{to}"), "taskId": task });
        app.post("/api/mail", mail).await.data();
    }
    app.clock.advance(86_400_000);
    let of_qa = ["parser a", "parser c", "parser d"];
    check(
        &app,
        "/api/mail?",
        "subject",
        &["parser a", "b", "parser c", "parser d"],
    )
    .await;
    for filter in [
        "to=qa",
        "to=qa&unread=true",
        "to=qa&pending=true",
        "thread=t-qa",
        "q=parser",
    ] {
        check(&app, &format!("/api/mail?{filter}&"), "subject", &of_qa).await;
    }
    let path = format!("/api/mail?task={task}&to=qa&");
    check(&app, &path, "subject", &of_qa).await;
    check(
        &app,
        "/api/mail?overdue=true&",
        "subject",
        &["parser a", "parser d"],
    )
    .await;
}

#[tokio::test]
async fn sessions_are_listed_newest_first_on_request() {
    let app = TestApp::new().await;
    for session in ["a", "b", "c"] {
        let moved = json!({ "fromAgent": "planner", "toAgent": "qa", "reason": "r", "userIntent": "i",
            "conversationHistory": [{ "role": "user", "content": "Hi" }], "invoke": false });
        let path = format!("/api/sessions/{session}/handoffs");
        assert_eq!(app.post(&path, moved).await.status, 201);
    }
    check(&app, "/api/sessions?", "id", &["a", "b", "c"]).await;
}

#[tokio::test]
async fn increments_are_listed_newest_first_on_request() {
    let app = TestApp::new().await;
    for title in ["a", "b", "c"] {
        let increment = json!({ "title": title });
        app.post("/api/increments", increment).await.data();
    }
    check(&app, "/api/increments?", "title", &["a", "b", "c"]).await;
    check(
        &app,
        "/api/increments?state=active&",
        "title",
        &["a", "b", "c"],
    )
    .await;
    check(&app, "/api/increments?state=done&", "title", &[]).await;
}
