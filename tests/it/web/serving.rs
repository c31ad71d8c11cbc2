//! How the web app is served, and what its files must not contain

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use chorus::web::Assets;
use serde_json::json;

use crate::support::{Reply, Server, TestApp};

/// Returns the texts of all assets, by path.
fn assets() -> BTreeMap<String, String> {
    fn collect(folder: &Path, root: &Path, found: &mut BTreeMap<String, String>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                collect(&path, root, found);
            } else {
                let name = path.strip_prefix(root).unwrap().to_str().unwrap();
                found.insert(name.to_owned(), std::fs::read_to_string(&path).unwrap());
            }
        }
    }
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src/web/assets");
    let mut found = BTreeMap::new();
    collect(&root, &root, &mut found);
    found
}

fn text(reply: Reply) -> String {
    String::from_utf8(reply.body).unwrap()
}

/// Returns the address of an asset as the page names it.
fn address(path: &str) -> String {
    format!("/assets/{}/{path}", Assets::Embedded.version())
}

#[tokio::test]
async fn the_page_has_a_strict_content_security_policy() {
    let app = TestApp::new().await;
    let reply = app.get("/").await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.headers["content-security-policy"],
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    );
    assert_eq!(reply.headers["content-type"], "text/html; charset=utf-8");
    assert_eq!(reply.headers["referrer-policy"], "no-referrer");
    assert_eq!(reply.headers["x-frame-options"], "DENY");
    assert_eq!(reply.headers["x-content-type-options"], "nosniff");
    assert_eq!(reply.headers["cache-control"], "no-cache");
}

#[tokio::test]
async fn the_address_of_every_view_answers_the_page() {
    let app = TestApp::new().await;
    let page = text(app.get("/").await);
    for path in [
        "/board",
        "/needs",
        "/tasks/0198",
        "/chat",
        "/chat/0198",
        "/tools/handoff_to_sales",
        "/agents",
        "/increments/0198",
        "/requests",
        "/mail",
        "/sessions/a%2Fb",
        "/figures?from=2026-01-01",
    ] {
        let reply = app.get(path).await;
        assert_eq!(reply.status, 200, "{path}");
        assert_eq!(text(reply), page, "{path}");
    }
    for path in ["/boards", "/assets", "/assets/app.js", "/index.html"] {
        assert_eq!(app.get(path).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn an_asset_is_kept_by_the_browser_and_gone_in_another_version() {
    let app = TestApp::new().await;
    let reply = app.get(&address("app.js")).await;
    assert_eq!(reply.status, 200);
    assert_eq!(
        reply.headers["content-type"],
        "text/javascript; charset=utf-8"
    );
    assert_eq!(
        reply.headers["cache-control"],
        "public, max-age=31536000, immutable"
    );
    assert_eq!(reply.headers["x-content-type-options"], "nosniff");
    for path in ["/assets/0/app.js", "/assets/folder/app.js"] {
        assert_eq!(app.get(path).await.status, 404, "{path}");
    }
    for path in ["index.html", "nothing.js", "../mod.rs", "lib"] {
        assert_eq!(app.get(&address(path)).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn an_unchanged_page_is_not_sent_again() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start(folder.path());
    for path in ["/board".to_owned(), address("style.css")] {
        let get = || server.client().request(reqwest::Method::GET, &path);
        let etag = get().send().await.unwrap().headers()["etag"].clone();
        let same = get().header("if-none-match", etag).send().await.unwrap();
        assert_eq!(same.status(), 304, "{path}");
        assert_eq!(same.bytes().await.unwrap().len(), 0, "{path}");
        let other = get().header("if-none-match", "\"0\"").send().await.unwrap();
        assert_eq!(other.status(), 200, "{path}");
    }
}

#[tokio::test]
async fn the_server_names_the_version_of_the_assets() {
    let app = TestApp::new().await;
    let version = Assets::Embedded.version();
    for path in ["/healthz", "/"] {
        let reply = app.get(path).await;
        assert_eq!(reply.headers["x-chorus-assets"], version, "{path}");
    }
    let page = text(app.get("/").await);
    assert!(page.contains(&address("app.js")), "{page}");
    assert!(!page.contains("{{"), "{page}");
}

#[tokio::test]
async fn a_folder_serves_its_files_as_they_are_now() {
    let folder = tempfile::tempdir().unwrap();
    let assets = folder.path().join("assets");
    std::fs::create_dir_all(assets.join("lib")).unwrap();
    std::fs::write(assets.join("index.html"), "version {{version}}").unwrap();
    std::fs::write(folder.path().join("secret.js"), "secret").unwrap();
    let server = Server::start_with(
        &folder.path().join("data"),
        &["--web-dir", assets.to_str().unwrap()],
    );
    let get = async |path: &str| {
        let request = server.client().request(reqwest::Method::GET, path);
        let response = request.send().await.unwrap();
        (response.status().as_u16(), response.text().await.unwrap())
    };
    assert_eq!(get("/board").await, (200, "version folder".to_owned()));
    for content in ["one", "two"] {
        std::fs::write(assets.join("lib/view.js"), content).unwrap();
        assert_eq!(
            get("/assets/folder/lib/view.js").await,
            (200, content.to_owned())
        );
    }
    for path in [
        "..%2Fsecret.js",
        "%2e%2e/secret.js",
        "lib/..%2F..%2Fsecret.js",
    ] {
        assert_eq!(
            get(&format!("/assets/folder/{path}")).await.0,
            404,
            "{path}"
        );
    }
}

#[test]
fn no_asset_reads_data_as_html_or_loads_from_other_servers() {
    for (path, text) in assets() {
        // The name of a kind of element, which no browser loads.
        let text = text.replace("http://www.w3.org/2000/svg", "");
        for forbidden in [
            "http://",
            "https://",
            "//cdn",
            "@import",
            "url(",
            " style=",
            " onclick=",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "setHTML",
            "createContextualFragment",
            "document.write",
            "DOMParser",
            "srcdoc",
            "eval(",
            "new Function",
        ] {
            // The view layer names what it refuses.
            let refuses = path == "lib/view.js" && forbidden == "srcdoc";
            assert!(refuses || !text.contains(forbidden), "{path}: {forbidden}");
        }
        // The browser never stores the token for good.
        assert!(
            path == "lib/page.js" || !text.contains("localStorage"),
            "{path}"
        );
    }
}

#[test]
fn every_view_fits_in_300_lines() {
    for (path, text) in assets() {
        let lines = text.lines().count();
        let is_script = Path::new(&path)
            .extension()
            .is_some_and(|kind| kind == "js");
        assert!(!is_script || lines <= 300, "{path}: {lines}");
    }
}

#[test]
fn every_path_that_the_page_calls_exists() {
    let document: serde_json::Value = serde_json::from_str(&chorus::api::openapi()).unwrap();
    let known: Vec<Vec<&str>> = document["paths"]
        .as_object()
        .unwrap()
        .keys()
        .map(|path| path.split('/').collect())
        .collect();
    let mut asked = 0;
    for (name, text) in assets() {
        for path in text.split(['\'', '`', '"']) {
            // Comments write the beginning of any path as `/api/…`.
            if !path.starts_with("/api/") || matches!(path, "/api/" | "/api/…") {
                continue;
            }
            let path = path.split('?').next().unwrap().replace("${", "{");
            let segments: Vec<_> = path.split('/').collect();
            let exists = known.iter().any(|known| {
                known.len() == segments.len()
                    && known.iter().zip(&segments).all(|(known, asked)| {
                        known == asked || (known.starts_with('{') && asked.starts_with('{'))
                    })
            });
            assert!(exists, "{name}: {path}");
            asked += 1;
        }
    }
    assert!(asked >= 9, "{asked}");
}

#[tokio::test]
async fn the_page_accepts_only_get() {
    let app = TestApp::new().await;
    assert_eq!(
        app.post("/requests", json!({})).await.error(),
        (405, "METHOD_NOT_ALLOWED".to_owned())
    );
}

#[tokio::test]
async fn a_public_server_shows_the_page_without_a_token_but_no_data() {
    let folder = tempfile::tempdir().unwrap();
    let server = Server::start_with(folder.path(), &["--bind", "0.0.0.0"]);
    let token = std::fs::read_to_string(folder.path().join("operator.token")).unwrap();
    let get = |path: &str| server.client().request(reqwest::Method::GET, path);
    for path in [
        "/",
        "/board",
        "/requests",
        "/requests/x",
        &address("app.js"),
    ] {
        let response = get(path).send().await.unwrap();
        assert_eq!(response.status(), 200, "{path}");
        assert!(!response.text().await.unwrap().contains(token.trim()));
    }
    for path in [
        "/api/requests",
        "/api/dispatch",
        "/api/events",
        "/metrics",
        "/readyz",
        "/boards",
        "//requests",
        "/requests//x",
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
