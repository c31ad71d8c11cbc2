//! `/api/dispatch`

use axum::extract::{FromRequest, Request, State};
use axum::response::Response;
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::guard::ByOperator;
use super::request::{Body, RawBody, parse};
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{DispatchOverview, Route};

/// Shows what the dispatcher does: what is worked on, what waits and in which order, and what nobody will start.
#[utoipa::path(
    get, path = "/api/dispatch", operation_id = "get_dispatch", tag = "requests",
    responses((status = 200, description = "What the dispatcher does", body = Answer<DispatchOverview>))
)]
pub(super) async fn get_dispatch(State(app): State<App>) -> Result<Response, Error> {
    Ok(app.ok(app.engine.dispatch_overview().await?))
}

/// Lists who gets requests of which kind: first those that are dispatched first.
#[utoipa::path(
    get, path = "/api/dispatch/routes", operation_id = "list_routes", tag = "requests",
    responses((status = 200, description = "The routes", body = Answer<Vec<Route>>))
)]
pub(super) async fn list_routes(State(app): State<App>) -> Result<Response, Error> {
    Ok(app.ok(app.engine.routes().await?))
}

/// Routes, as a list or as an object with a list.
#[derive(Debug, Serialize, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct RoutesInput {
    /// The routes.
    pub routes: Vec<Route>,
}

/// Reads routes. What `GET` answered as `data` can be sent back as it is.
pub(super) struct RoutesBody(Body<RoutesInput>);

impl FromRequest<App> for RoutesBody {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(request, "body", app.engine.limits().body).await?;
        let value = if bytes.trim_ascii_start().starts_with(b"[") {
            parse(&[b"{\"routes\":", &*bytes, b"}"].concat())?
        } else {
            parse(&bytes)?
        };
        Ok(Self(Body { value, once }))
    }
}

/// Sets who gets requests of which kind: these routes are all that there are. Only the operator's token does.
#[utoipa::path(
    put, path = "/api/dispatch/routes", operation_id = "set_routes", tag = "requests",
    request_body(content = RoutesInput, description = "The routes; also as a list without the object around it"),
    responses(
        (status = 200, description = "The routes", body = Answer<Vec<Route>>),
        (status = 400, description = "The body is wrong; `details.problems` names every field, an unknown agent too", body = ErrorAnswer),
        (status = 401, description = "The operator's token is needed", body = ErrorAnswer),
        (status = 403, description = "A run cannot set routes", body = ErrorAnswer),
    )
)]
pub(super) async fn set_routes(
    State(app): State<App>,
    _: ByOperator,
    RoutesBody(body): RoutesBody,
) -> Result<Response, Error> {
    Ok(app.ok(app.engine.set_routes(body.value.routes, body.once).await?))
}
