//! `/api/openapi.json` and `/api/docs`

use serde_json::Value;

use crate::support::TestApp;

#[tokio::test]
async fn the_document_is_the_one_of_the_library() {
    let app = TestApp::new().await;
    let reply = app.get("/api/openapi.json").await;
    assert_eq!(reply.headers["content-type"], "application/json");
    let document: Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    assert_eq!(reply.json(), document);
}

#[tokio::test]
async fn every_reference_in_the_document_leads_somewhere() {
    let text = chorus::api::openapi();
    let document: Value = serde_json::from_str(&text).unwrap();
    for reference in text.split("\"$ref\": \"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

#[tokio::test]
async fn every_change_takes_a_key_and_every_operation_says_how_it_is_refused() {
    let document: Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let name = format!("{method} {path}");
            let takes_a_key = operation["parameters"]
                .as_array()
                .is_some_and(|all| all.iter().any(|one| one["name"] == "Idempotency-Key"));
            assert_eq!(takes_a_key, method != "get", "{name}");
            assert!(operation["operationId"].is_string(), "{name}");
            for status in ["401", "403", "500"] {
                assert!(
                    operation["responses"][status].is_object(),
                    "{name} {status}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let app = TestApp::new().await;
    let reply = app.get("/api/docs").await;
    assert_eq!(reply.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(
        reply.headers["content-security-policy"],
        "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'"
    );
    let page = String::from_utf8(reply.body).unwrap();
    assert!(page.starts_with("<!doctype html>"));
    for forbidden in [
        "http://",
        "https://",
        "src=",
        "innerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}
