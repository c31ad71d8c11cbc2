//! Marks paths that have a successor.
//!
//! A deprecated path behaves as before. The OpenAPI document marks its operations, and its answers carry `Deprecation`
//! (RFC 9745) and a `Link` to the successor (RFC 5829).

use axum::extract::{Request, State};
use axum::http::{HeaderName, HeaderValue, header};
use axum::middleware::{self, Next};
use axum::response::Response;
use utoipa::openapi::Deprecated;
use utoipa::openapi::path::{Operation, PathItem};
use utoipa_axum::router::{UtoipaMethodRouter, UtoipaMethodRouterExt};

use super::App;

const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");

/// 2026-11-18, midnight UTC: the day on which all deprecated paths got their successors.
const SINCE: HeaderValue = HeaderValue::from_static("@1794960000");

/// Marks routes as deprecated in favour of `successor`, in which `{id}` is the id in the path.
pub(super) fn deprecate(
    mut routes: UtoipaMethodRouter<App>,
    successor: &'static str,
) -> UtoipaMethodRouter<App> {
    for item in routes.1.paths.values_mut() {
        for operation in operations(item) {
            operation.deprecated = Some(Deprecated::True);
            operation.description = Some(format!("Deprecated: use `{successor}`."));
        }
    }
    routes.layer(middleware::from_fn_with_state(successor, announce))
}

/// Moves routes to another path, under operation ids of their own: the document allows each id only once.
pub(super) fn at_legacy_path(
    mut routes: UtoipaMethodRouter<App>,
    path: &str,
) -> UtoipaMethodRouter<App> {
    let items = std::mem::take(&mut routes.1.paths);
    for (_, mut item) in items {
        for operation in operations(&mut item) {
            operation.operation_id = operation.operation_id.take().map(|id| id + "_legacy");
        }
        routes.1.paths.insert(path.to_owned(), item);
    }
    routes
}

/// Lists the operations of a path.
fn operations(item: &mut PathItem) -> impl Iterator<Item = &mut Operation> {
    [
        &mut item.get,
        &mut item.post,
        &mut item.put,
        &mut item.patch,
        &mut item.delete,
    ]
    .into_iter()
    .flatten()
}

/// Adds the headers to an answer.
async fn announce(State(successor): State<&'static str>, request: Request, next: Next) -> Response {
    let id = request.uri().path().rsplit('/').next().unwrap_or_default();
    let successor = successor.replace("{id}", id);
    let mut response = next.run(request).await;
    let headers = response.headers_mut();
    headers.insert(DEPRECATION, SINCE);
    // An id with bytes that a header cannot carry names no task, so there is no successor to link to.
    if let Ok(link) = HeaderValue::try_from(format!("<{successor}>; rel=\"successor-version\"")) {
        headers.append(header::LINK, link);
    }
    response
}
