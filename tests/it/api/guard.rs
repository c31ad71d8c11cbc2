//! Host, Origin and token, over a real connection

use insta::assert_snapshot;
use reqwest::{Method, RequestBuilder};
use serde_json::json;
use tempfile::TempDir;

use crate::support::{Server, redact};

struct Guarded {
    server: Server,
    folder: TempDir,
}

impl Guarded {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let server = Server::start_with(folder.path(), arguments);
        Self { server, folder }
    }

    fn get(&self, path: &str) -> RequestBuilder {
        self.server.client().request(Method::GET, path)
    }
}

async fn answer(request: RequestBuilder) -> String {
    let response = request.send().await.unwrap();
    let status = response.status().as_u16();
    redact(&format!("{status} {}", response.text().await.unwrap()))
}

async fn status(request: RequestBuilder) -> u16 {
    request.send().await.unwrap().status().as_u16()
}

#[tokio::test]
async fn a_foreign_host_is_refused_everywhere() {
    let guarded = Guarded::start(&["--allow-host", "board.example"]);
    assert_snapshot!(answer(guarded.get("/api/tasks").header("host", "evil.example")).await, @r#"403 {"error":{"code":"FORBIDDEN","message":"Host \"evil.example\" is not allowed; to allow it, start the server with --allow-host"}}"#);
    for path in ["/healthz", "/api/docs", "/nope", "/api/events"] {
        assert_eq!(
            status(guarded.get(path).header("host", "evil.example")).await,
            403,
            "{path}"
        );
    }
    for host in ["localhost", "127.0.0.1:80", "[::1]", "board.example"] {
        assert_eq!(
            status(guarded.get("/api/tasks").header("host", host)).await,
            200,
            "{host}"
        );
    }
    for host in ["192.168.0.1", "localhost.evil.example", ""] {
        assert_eq!(
            status(guarded.get("/api/tasks").header("host", host)).await,
            403,
            "{host}"
        );
    }
}

#[tokio::test]
async fn a_foreign_origin_is_refused_and_changes_nothing() {
    let guarded = Guarded::start(&["--allow-origin", "http://localhost:3000"]);
    let own = guarded.server.url.clone();
    let post = |origin: &str| {
        let request = guarded.server.client().request(Method::POST, "/api/tasks");
        request
            .header("origin", origin)
            .json(&json!({ "description": "d" }))
    };
    assert_snapshot!(answer(post("https://evil.example")).await, @r#"403 {"error":{"code":"FORBIDDEN","message":"Origin \"https://evil.example\" is not allowed; to allow it, start the server with --allow-origin"}}"#);
    for origin in ["null", "http://localhost:1", "http://127.0.0.1"] {
        assert_eq!(status(post(origin)).await, 403, "{origin}");
    }
    assert!(
        answer(guarded.get("/api/tasks"))
            .await
            .contains(r#"{"data":[],"#)
    );
    assert_eq!(status(post(&own)).await, 201);
    assert_eq!(status(post("http://localhost:3000")).await, 201);
}

#[tokio::test]
async fn a_public_server_needs_the_token_except_for_health_and_the_page() {
    let guarded = Guarded::start(&["--bind", "0.0.0.0"]);
    let refused = guarded.get("/api/tasks").send().await.unwrap();
    assert_eq!(refused.headers()["www-authenticate"], "Bearer");
    assert_snapshot!(answer(guarded.get("/api/tasks")).await, @r#"401 {"error":{"code":"UNAUTHORIZED","message":"Token required. Send the header `Authorization: Bearer <token>`"}}"#);
    assert_snapshot!(answer(guarded.get("/api/tasks").bearer_auth("guess")).await, @r#"401 {"error":{"code":"UNAUTHORIZED","message":"The token is unknown, or its run has ended; send the operator's token or the token of a current run"}}"#);
    for path in ["/readyz", "/metrics", "/api/docs", "/nope"] {
        assert_eq!(status(guarded.get(path)).await, 401, "{path}");
    }
    for path in ["/healthz", "/requests"] {
        assert_eq!(status(guarded.get(path)).await, 200, "{path}");
    }
    let token = std::fs::read_to_string(guarded.folder.path().join("operator.token")).unwrap();
    assert_eq!(
        status(guarded.get("/api/tasks").bearer_auth(token.trim())).await,
        200
    );
}

#[tokio::test]
async fn a_local_server_needs_no_token_but_refuses_a_wrong_one() {
    let guarded = Guarded::start(&[]);
    assert_eq!(status(guarded.get("/api/tasks")).await, 200);
    assert_eq!(
        status(guarded.get("/api/tasks").bearer_auth("guess")).await,
        401
    );
}
