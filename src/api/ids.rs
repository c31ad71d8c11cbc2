//! `/api/ids`

use axum::extract::State;
use axum::response::Response;
use serde::Deserialize;
use utoipa::IntoParams;

use super::extract::Query;
use super::{Answer, App, ErrorAnswer};
use crate::Error;
use crate::domain::{FoundId, IdPart, Noun};
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
    #[param(value_type = Option<String>, max_length = 100, pattern = "^([A-Za-z0-9_-][A-Za-z0-9._-]*)?$")]
    prefix: IdPart,
    /// The beginning of the ids; if no id begins with it, their end. Cannot be combined with `prefix`.
    #[param(value_type = Option<String>, max_length = 100, pattern = "^([A-Za-z0-9_-][A-Za-z0-9._-]*)?$")]
    part: Option<IdPart>,
    /// The maximum number of ids.
    #[param(minimum = 1, maximum = 1000, default = 10)]
    limit: Option<u32>,
}

/// List ids by their beginning or end, newest first
///
/// An id that is exactly the prefix or the part comes before all others.
#[utoipa::path(
    get, path = "/api/ids", operation_id = "list_ids", tag = "service", params(IdParameters),
    responses(
        (status = 200, description = "The ids with their titles", body = Answer<Vec<FoundId>>),
        (status = 400, description = "The noun is unknown, or no id can have the prefix or the part", body = ErrorAnswer),
    )
)]
pub(super) async fn list_ids(
    State(app): State<App>,
    Query(parameters): Query<IdParameters>,
) -> Result<Response, Error> {
    let limit = app.page_size(Some(parameters.limit.unwrap_or(LIMIT)))?;
    let IdParameters {
        noun, prefix, part, ..
    } = parameters;
    if part.is_some() && prefix != IdPart::default() {
        return Err(Error::InvalidQuery(
            "query: part: cannot be combined with prefix".to_owned(),
        ));
    }
    let found = app.engine.read(move |view| match &part {
        Some(part) => ids::beginning_or_ending(view, noun, part, limit),
        None => ids::beginning(view, noun, &prefix, limit),
    });
    Ok(app.ok(found.await?))
}
