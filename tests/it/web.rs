//! The page at `/requests`

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::support::{Server, TestApp};

async fn page() -> (axum::http::HeaderMap, String) {
    let app = TestApp::new().await;
    let reply = app.get("/requests").await;
    assert_eq!(reply.status, 200);
    (reply.headers, String::from_utf8(reply.body).unwrap())
}

/// Returns the content of each element with this name.
fn contents_of<'a>(page: &'a str, element: &str) -> Vec<&'a str> {
    let (begin, end) = (format!("<{element}"), format!("</{element}>"));
    page.split(&begin)
        .skip(1)
        .map(|rest| {
            let (_, rest) = rest.split_once('>').unwrap();
            rest.split_once(&end).unwrap().0
        })
        .collect()
}

#[tokio::test]
async fn the_content_security_policy_allows_only_the_page_itself() {
    let (headers, page) = page().await;
    let hash = |element| {
        let [one] = contents_of(&page, element)[..] else {
            panic!("the page must have exactly one {element}");
        };
        format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(one)))
    };
    assert_eq!(
        headers["content-security-policy"],
        format!(
            "default-src 'none'; script-src '{}'; style-src '{}'; img-src data:; connect-src 'self'; base-uri 'none'; \
             form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
            hash("script"),
            hash("style")
        )
    );
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(headers["referrer-policy"], "no-referrer");
    assert_eq!(headers["x-frame-options"], "DENY");
    assert_eq!(headers["x-content-type-options"], "nosniff");
    assert_eq!(headers["cache-control"], "no-store");
}

#[tokio::test]
async fn the_root_leads_to_the_page() {
    let app = TestApp::new().await;
    let reply = app.get("/").await;
    assert_eq!(reply.status, 307);
    assert_eq!(reply.headers["location"], "/requests");
}

#[tokio::test]
async fn the_page_loads_nothing_from_other_servers_and_renders_data_as_text() {
    let (_, page) = page().await;
    assert!(page.starts_with("<!doctype html>"));
    for forbidden in [
        "http://",
        "https://",
        "//cdn",
        "src=",
        "@import",
        "url(",
        " style=",
        " onclick=",
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "DOMParser",
        "eval(",
        "new Function",
        "localStorage",
    ] {
        assert!(!page.contains(forbidden), "{forbidden}");
    }
}

#[tokio::test]
async fn every_path_that_the_page_calls_exists() {
    let (_, page) = page().await;
    let document: serde_json::Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    let script = contents_of(&page, "script")[0];
    let mut asked = 0;
    for path in script.split(['\'', '`']) {
        if !path.starts_with("/api/") {
            continue;
        }
        let path = path.split('?').next().unwrap().replace("${", "{");
        let segments: Vec<_> = path.split('/').collect();
        let is_there = document["paths"].as_object().unwrap().keys().any(|known| {
            let known: Vec<_> = known.split('/').collect();
            known.len() == segments.len()
                && known.iter().zip(&segments).all(|(known, asked)| {
                    known == asked || (known.starts_with('{') && asked.starts_with('{'))
                })
        });
        assert!(is_there, "{path}");
        asked += 1;
    }
    assert!(asked >= 9, "{asked}");
}

#[tokio::test]
async fn the_page_accepts_only_get() {
    let app = TestApp::new().await;
    assert_eq!(
        app.post("/requests", serde_json::json!({})).await.error(),
        (405, "METHOD_NOT_ALLOWED".to_owned())
    );
}

#[tokio::test]
async fn a_public_server_shows_the_page_without_a_token_but_no_data() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &["--bind", "0.0.0.0"]);
    let token = std::fs::read_to_string(folder.path().join("operator.token")).unwrap();
    let get = |path: &str| server.client().request(reqwest::Method::GET, path);
    let response = get("/requests").send().await.unwrap();
    assert_eq!(response.status(), 200);
    assert!(!response.text().await.unwrap().contains(token.trim()));
    for path in [
        "/api/requests",
        "/api/dispatch",
        "/api/events",
        "/requests/",
        "/requests/x",
        "//requests",
    ] {
        assert_eq!(get(path).send().await.unwrap().status(), 401, "{path}");
    }
    for path in ["/api/requests", "/api/dispatch"] {
        let response = get(path).bearer_auth(token.trim()).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
    }
    let foreign = get("/requests").header("host", "evil.example");
    assert_eq!(foreign.send().await.unwrap().status(), 403);
}
