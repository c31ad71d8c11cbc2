//! `/api/ids`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{FoundId, IdPrefix, Noun};
use crate::ledger::ids;

/// The number of ids in an answer where the caller does not say.
const LIMIT: u32 = 10;

#[derive(Debug, Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(super) struct IdParameters {
    /// The noun that the ids belong to.
    #[param(inline)]
    noun: Noun,
    /// The beginning of the ids. Hexadecimal digits may be upper or lower case. Without it, all ids match.
    #[serde(default)]
    #[param(value_type = Option<String>)]
    prefix: IdPrefix,
    /// The maximum number of ids.
    #[param(minimum = 1, maximum = 1000, default = 10)]
    limit: Option<u32>,
}

/// List ids that begin with a prefix, newest first
///
/// An id that is exactly the prefix comes before all others.
#[utoipa::path(
    get, path = "/api/ids", operation_id = "list_ids", tag = "service", params(IdParameters),
    responses(
        (status = 200, description = "The ids with their titles", body = Answer<Vec<FoundId>>),
        (status = 400, description = "The noun is unknown, or no id can begin with the prefix", body = ErrorAnswer),
    )
)]
pub(super) async fn list_ids(
    State(app): State<App>,
    Query(parameters): Query<IdParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(Some(parameters.limit.unwrap_or(LIMIT)))?;
    let found = app
        .engine
        .read(move |view| ids::list(view, parameters.noun, &parameters.prefix, limit));
    Ok(app.ok(found.await?))
}
