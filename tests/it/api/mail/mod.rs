//! `/api/mail`

mod input;
mod lists;
mod marks;
mod runs;
mod sending;

use axum::http::Method;
use serde_json::{Value, json};

use crate::support::{OPERATOR_TOKEN, Reply, TestApp, invariants};

/// Creates an installation with two testers and one implementer, who is not available.
async fn app_with_roles() -> TestApp {
    let app = TestApp::new().await;
    let roles = r#"UPDATE agents SET roles = '["testing"]' WHERE name IN ('qa', 'developer-review');
                   UPDATE agents SET roles = '["implementation"]', available = 0 WHERE name = 'developer';"#;
    let connection = invariants::open(&app.data_dir.database());
    connection.execute_batch(roles).unwrap();
    app
}

async fn send(app: &TestApp, body: Value) -> Reply {
    app.post("/api/mail", body).await
}

/// Sends a minimal mail, and returns its id.
async fn send_note(app: &TestApp, to: &str, subject: &str) -> String {
    let body = json!({ "to": [to], "subject": subject });
    id_of(&send(app, body).await)
}

fn id_of(reply: &Reply) -> String {
    reply.data()["id"].as_str().unwrap().to_owned()
}

/// Marks a mail as the operator.
async fn mark_as_operator(app: &TestApp, id: &str, action: &str, body: Value) -> Reply {
    let path = format!("/api/mail/{id}/{action}");
    app.with_token(OPERATOR_TOKEN, Method::POST, &path, body)
        .await
}

/// Returns the subjects of a list.
async fn subjects(app: &TestApp, query: &str) -> Vec<String> {
    let mail = app.get(&format!("/api/mail?{query}")).await.data();
    let mail = mail.as_array().unwrap().iter();
    mail.map(|mail| mail["subject"].as_str().unwrap().to_owned())
        .collect()
}
