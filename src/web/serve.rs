//! Serves the page at the address of every view, and its files below `/assets/`.
//!
//! # How it works
//!
//! The address of an asset contains the version of all assets, so a browser may keep it forever, and a page never mixes the files of two
//! versions: after an upgrade, an open page finds its old addresses gone and offers to reload.

use axum::Router;
use axum::extract::Path;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH, REFERRER_POLICY,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use bytes::Bytes;
use sha2::{Digest, Sha256};

use super::assets::{Asset, Assets, INDEX, VERSION};

/// The address of the page.
pub const PAGE: &str = "/";

/// Names the version of the assets.
pub const ASSETS_HEADER: HeaderName = HeaderName::from_static("x-chorus-assets");

/// The first words of the addresses of views.
const VIEWS: [&str; 11] = [
    "needs",
    "board",
    "tasks",
    "chat",
    "tools",
    "agents",
    "increments",
    "requests",
    "mail",
    "sessions",
    "figures",
];

const FILES: &str = "/assets/";

/// The page may run the scripts of this server, use its styles, and call it. Foreign data can never become a script, a form, a frame or a
/// remote image.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
);

/// Whether a path leads to the page or to one of its files, which hold no data and are the same for everybody.
pub fn is_open(path: &str) -> bool {
    let first = path.trim_start_matches('/').split('/').next();
    let is_view = first.is_some_and(|first| VIEWS.contains(&first));
    let is_single = path.starts_with('/') && !path.contains("//");
    is_single && (path == "/" || path.starts_with(FILES) || is_view)
}

pub fn routes<S: Clone + Send + Sync + 'static>(assets: &Assets) -> Router<S> {
    let page = || {
        let assets = assets.clone();
        get(async move |headers: HeaderMap| show_page(&assets, &headers).await)
    };
    let files = assets.clone();
    let file = async move |Path((version, path)): Path<(String, String)>, headers: HeaderMap| {
        send_file(&files, &version, &path, &headers).await
    };
    let mut router = Router::new()
        .route("/", page())
        .route("/assets/{version}/{*path}", get(file));
    for view in VIEWS {
        router = router
            .route(&format!("/{view}"), page())
            .route(&format!("/{view}/{{*rest}}"), page());
    }
    router
}

async fn show_page(assets: &Assets, headers: &HeaderMap) -> Response {
    let Some(page) = assets.read(INDEX).await else {
        return (StatusCode::NOT_FOUND, "The folder has no index.html").into_response();
    };
    let text = String::from_utf8_lossy(&page.bytes).replace(VERSION, assets.version());
    let page = Asset::new(Bytes::from(text));
    let mut response = send(page, "text/html; charset=utf-8", "no-cache", headers);
    response
        .headers_mut()
        .insert(CONTENT_SECURITY_POLICY, POLICY);
    if let Ok(version) = HeaderValue::try_from(assets.version()) {
        response.headers_mut().insert(ASSETS_HEADER, version);
    }
    response
}

async fn send_file(assets: &Assets, version: &str, path: &str, headers: &HeaderMap) -> Response {
    let file = if version == assets.version() && path != INDEX {
        assets.read(path).await
    } else {
        None
    };
    let Some((file, kind)) = file.zip(content_type(path)) else {
        let message = "No such file in this version of the page; reload the page";
        return (StatusCode::NOT_FOUND, message).into_response();
    };
    let cache = if assets.are_fixed() {
        "public, max-age=31536000, immutable"
    } else {
        "no-cache"
    };
    send(file, kind, cache, headers)
}

/// Sends a file, or only its headers if the browser has it.
fn send(
    asset: Asset,
    content_type: &'static str,
    cache: &'static str,
    headers: &HeaderMap,
) -> Response {
    let is_known = headers
        .get(IF_NONE_MATCH)
        .and_then(|tags| tags.to_str().ok())
        .is_some_and(|tags| tags.split(',').any(|tag| tag.trim() == asset.etag));
    let mut response = if is_known {
        StatusCode::NOT_MODIFIED.into_response()
    } else {
        ([(CONTENT_TYPE, content_type)], asset.bytes).into_response()
    };
    protect(response.headers_mut());
    response
        .headers_mut()
        .insert(CACHE_CONTROL, HeaderValue::from_static(cache));
    if let Ok(etag) = HeaderValue::try_from(asset.etag) {
        response.headers_mut().insert(ETAG, etag);
    }
    response
}

fn content_type(path: &str) -> Option<&'static str> {
    Some(match path.rsplit_once('.')?.1 {
        "js" => "text/javascript; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "svg" => "image/svg+xml",
        _ => return None,
    })
}

/// Forbids frames, guesses of the content type, and the address of the page in requests to others.
fn protect(headers: &mut HeaderMap) {
    for (name, value) in [
        (REFERRER_POLICY, "no-referrer"),
        (X_FRAME_OPTIONS, "DENY"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// Returns the content security policy of a page that consists of one file, with one script and one style.
pub fn policy(page: &str) -> HeaderValue {
    let (script, style) = (hash_of(page, "script"), hash_of(page, "style"));
    let policy = format!(
        "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    );
    HeaderValue::try_from(policy).expect("the policy is ASCII")
}

/// Sends a page that consists of one file, with its policy.
pub fn respond(page: &'static str, policy: &HeaderValue) -> Response {
    let mut response = Html(page).into_response();
    let headers = response.headers_mut();
    protect(headers);
    headers.insert(CONTENT_SECURITY_POLICY, policy.clone());
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Returns the hash of the page's only element with this name, as the policy needs it.
fn hash_of(page: &str, element: &str) -> String {
    let inside = page
        .split_once(&format!("<{element}>"))
        .and_then(|(_, rest)| rest.split_once(&format!("</{element}>")))
        .map(|(inside, _)| inside)
        .expect("the page has a script and a style");
    format!("sha256-{}", BASE64_STANDARD.encode(Sha256::digest(inside)))
}

#[cfg(test)]
mod tests {
    use super::is_open;

    #[test]
    fn only_views_and_assets_are_open() {
        for open in [
            "/",
            "/board",
            "/requests",
            "/tasks/0198",
            "/chat/0198",
            "/assets/0/app.js",
        ] {
            assert!(is_open(open), "{open}");
        }
        for closed in [
            "",
            "//",
            "//requests",
            "/api/tasks",
            "/api/requests",
            "/boards",
            "/assets",
            "/metrics",
            "/readyz",
            "/requests//x",
            "board",
        ] {
            assert!(!is_open(closed), "{closed}");
        }
    }
}
