//! `/api/dispatch`

mod overview;
mod routes;

use axum::http::Method;
use chorus::engine::default_kind_rules;
use serde_json::Value;

use crate::support::{OPERATOR_TOKEN, Reply, TestApp};

const ROUTES: &str = "/api/dispatch/routes";

/// Creates an installation as it is after the first start.
async fn seeded() -> TestApp {
    let app = TestApp::new().await;
    app.engine
        .seed_kind_rules(default_kind_rules())
        .await
        .unwrap();
    app
}

async fn put_routes(app: &TestApp, routes: Value) -> Reply {
    app.with_token(OPERATOR_TOKEN, Method::PUT, ROUTES, routes)
        .await
}
