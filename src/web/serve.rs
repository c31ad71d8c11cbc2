//! `/requests`: one file that loads nothing from other servers.

use std::sync::LazyLock;

use axum::Router;
use axum::http::HeaderValue;
use axum::http::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, REFERRER_POLICY, X_CONTENT_TYPE_OPTIONS,
    X_FRAME_OPTIONS,
};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::get;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

/// The path of the page.
pub const PATH: &str = "/requests";

/// The path that people type; it leads to the page.
pub const ROOT: &str = "/";

const PAGE: &str = include_str!("assets/requests.html");

/// Returns the content security policy of a page: the page may run its own script, use its own style, and call this server. Foreign data can
/// never become a script, a form, a frame or a remote image.
pub fn policy(page: &str) -> HeaderValue {
    let (script, style) = (hash_of(page, "script"), hash_of(page, "style"));
    let policy = format!(
        "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; \
         require-trusted-types-for 'script'; trusted-types 'none'"
    );
    HeaderValue::try_from(policy).expect("the policy is ASCII")
}

pub fn routes<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new()
        .route(PATH, get(show_page))
        .route(ROOT, get(async || Redirect::temporary(PATH)))
}

async fn show_page() -> Response {
    static POLICY: LazyLock<HeaderValue> = LazyLock::new(|| policy(PAGE));
    respond(PAGE, &POLICY)
}

/// Sends a page with its policy. No other page may frame it.
pub fn respond(page: &'static str, policy: &HeaderValue) -> Response {
    let plain = HeaderValue::from_static;
    (
        [
            (CONTENT_SECURITY_POLICY, policy.clone()),
            (REFERRER_POLICY, plain("no-referrer")),
            (X_FRAME_OPTIONS, plain("DENY")),
            (X_CONTENT_TYPE_OPTIONS, plain("nosniff")),
            (CACHE_CONTROL, plain("no-store")),
        ],
        Html(page),
    )
        .into_response()
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
