//! Export and import of mail.

use chorus::domain::MailQuery;
use chorus::engine::archive::ArchiveError;
use chorus::ledger::mail;
use serde_json::{Value, json};

use super::{assert_same_files, export, import};
use crate::support::{OPERATOR_TOKEN, TestApp};

/// Creates mail that is unread, read and acknowledged.
async fn app_with_mail() -> TestApp {
    let app = TestApp::new().await;
    let task = app.task("Write it").await;
    let send = async |body: Value| {
        app.clock.advance(7);
        let mail = app.post("/api/mail", body).await.data();
        format!("/api/mail/{}", mail["id"].as_str().unwrap())
    };
    send(json!({ "to": ["qa"], "subject": "unread" })).await;
    let odd = json!({ "z": [1, 2.5, null], "a": { "nul": "\u{0}" } });
    let body = json!({
        "type": "fix_complete", "from": "developer", "to": ["qa", "operator"], "cc": ["planner"], "subject": "odd \" ' \\ 🎶",
        "body": "a\r\nb\n", "taskId": task, "handoffType": "fix_to_test", "context": odd, "previousAttempts": 3,
        "urgency": "low", "ackRequired": true, "threadId": "named",
    });
    let path = send(body).await;
    app.clock.advance(7);
    app.post(&format!("{path}/read"), json!({ "recipient": "planner" }))
        .await
        .data();
    app.post(&format!("{path}/ack"), json!({ "recipient": "qa" }))
        .await
        .data();
    let by_operator = json!({ "to": ["planner"], "subject": "verified", "taskId": task });
    app.with_token(
        OPERATOR_TOKEN,
        axum::http::Method::POST,
        "/api/mail",
        by_operator,
    )
    .await
    .data();
    app
}

#[tokio::test]
async fn exported_mail_is_imported_and_found() {
    let app = app_with_mail().await;
    let (_first, first) = export(&app).await;
    let other = TestApp::unseeded().await;
    let report = import(&other, &first, false).await.unwrap();
    assert_eq!((report.imported.mail, report.left_out.len()), (3, 0));
    let (_second, second) = export(&other).await;
    assert_same_files(&first, &second);
    assert_eq!(
        app.get("/api/mail").await.data(),
        other.get("/api/mail").await.data()
    );
    for query in [
        "q=odd",
        "to=qa&unread=true",
        "thread=named",
        "pending=true",
        "unread=true",
    ] {
        let path = format!("/api/mail?{query}");
        let found = other.get(&path).await.data();
        assert_eq!(found, app.get(&path).await.data(), "{query}");
        assert_ne!(found, json!([]), "{query}");
    }
    assert!(other.db.problems().await.unwrap().is_empty());
    // The imported mail can be acknowledged.
    let query = MailQuery {
        limit: 1,
        ..MailQuery::default()
    };
    let mut page = other.read(move |view| mail::list(view, &query)).await;
    let id = page.items.remove(0).id;
    let marked = other
        .post(&format!("/api/mail/{id}/ack"), json!({}))
        .await
        .data();
    assert_ne!(marked["recipients"][0]["readAt"], json!(null));
    // A second import is refused.
    let Err(ArchiveError::Bad(bad)) = import(&other, &first, false).await else {
        panic!("the archive was imported twice")
    };
    let reports: Vec<_> = bad.iter().map(ToString::to_string).collect();
    let is_there =
        |line: &&String| line.starts_with("mail/") && line.ends_with("is already in the database");
    assert_eq!(reports.iter().filter(is_there).count(), 3, "{reports:?}");
}

#[tokio::test]
async fn mail_keeps_its_hand_off_and_dangling_references_become_null() {
    let app = app_with_mail().await;
    let task = app.get("/api/tasks").await.data()[0]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let handoff = json!({ "agentName": "qa", "prompt": "Test it" });
    let handed = app
        .post(&format!("/api/tasks/{task}/handoff"), handoff)
        .await
        .data();
    let handoff_id = handed["agentChain"][0]["id"].clone();
    let (_folder, archive) = export(&app).await;
    let file = |subject: &str| {
        let files = archive.join("mail").read_dir().unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        files
            .find(|file| std::fs::read_to_string(file).unwrap().contains(subject))
            .unwrap()
    };
    let change = |subject: &str, key: &str, value: Value| {
        let file = file(subject);
        let mut mail: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        mail[key] = value;
        std::fs::write(file, mail.to_string()).unwrap();
    };
    change("\"verified\"", "handoffId", handoff_id.clone());
    change("unread", "handoffId", json!("gone"));
    change("unread", "taskId", json!("gone"));
    let other = TestApp::unseeded().await;
    import(&other, &archive, false).await.unwrap();
    let all = other.get("/api/mail").await.data();
    assert_eq!(
        (&all[0]["handoffId"], &all[0]["taskId"]),
        (&json!(null), &json!(null))
    );
    assert_eq!(all[2]["handoffId"], handoff_id);
}

#[tokio::test]
async fn invalid_mail_is_reported() {
    let app = app_with_mail().await;
    let (_folder, archive) = export(&app).await;
    let file = archive
        .join("mail")
        .read_dir()
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let good: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
    for (key, value, expected) in [
        ("version", json!("2.0.0"), "unknown variant `2.0.0`"),
        ("type", json!("letter"), "unknown variant `letter`"),
        ("subject", json!(""), "subject: must not be empty"),
        ("subject", json!("a\nb"), "subject: must be one line"),
        ("to", json!([]), "`to` must not be empty"),
        ("to", json!(["a b"]), "must be the name of an agent"),
        ("recipients", json!([]), "at least one without `cc`"),
        (
            "ackDueAt",
            if good["ackRequired"] == json!(true) {
                json!(null)
            } else {
                json!(5)
            },
            "`ackDueAt` must be set",
        ),
        ("id", json!("other"), "rename it to other.json"),
    ] {
        let mut bad = good.clone();
        bad[key] = value;
        std::fs::write(&file, bad.to_string()).unwrap();
        let Err(ArchiveError::Bad(bad)) = import(&TestApp::unseeded().await, &archive, false).await
        else {
            panic!("{key} was imported")
        };
        let report = bad[0].to_string();
        assert!(
            bad.len() == 1 && report.starts_with("mail/") && report.contains(expected),
            "{report}"
        );
    }
}
