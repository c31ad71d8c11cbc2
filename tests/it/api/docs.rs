//! `/api/openapi.json` and `/api/docs`

use serde_json::Value;

use crate::support::TestApp;

#[tokio::test]
async fn the_served_document_equals_the_one_of_the_library() {
    let app = TestApp::new().await;
    let reply = app.get("/api/openapi.json").await;
    assert_eq!(reply.headers["content-type"], "application/json");
    let document: Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    assert_eq!(reply.json(), document);
}

#[tokio::test]
async fn every_reference_in_the_document_resolves() {
    let text = chorus::api::openapi();
    let document: Value = serde_json::from_str(&text).unwrap();
    for reference in text.split("\"$ref\": \"#").skip(1) {
        let pointer = reference.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}

#[tokio::test]
async fn the_page_shows_every_method_and_marks_deprecated_operations() {
    let app = TestApp::new().await;
    let page = String::from_utf8(app.get("/api/docs").await.body).unwrap();
    let shown = page.split_once("const methods = [").unwrap().1;
    let shown = shown.split_once(']').unwrap().0;
    let document: Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    for item in document["paths"].as_object().unwrap().values() {
        for method in item.as_object().unwrap().keys() {
            assert!(shown.contains(&format!("'{method}'")), "{method}");
            assert!(page.contains(&format!(".{method} {{ color:")), "{method}");
        }
    }
    assert!(page.contains("operation.deprecated ?"));
    assert!(page.contains(".badge {"));
}

#[tokio::test]
async fn the_page_loads_nothing_from_other_servers() {
    let app = TestApp::new().await;
    let reply = app.get("/api/docs").await;
    assert_eq!(reply.headers["content-type"], "text/html; charset=utf-8");
    // The same policy as the page for requests, but for the hashes of the script and the style.
    let policy = reply.headers["content-security-policy"].to_str().unwrap();
    for part in [
        "default-src 'none'",
        "script-src 'sha256-",
        "style-src 'sha256-",
        "frame-ancestors 'none'",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(reply.headers["x-frame-options"], "DENY");
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
