//! Query parameters.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::Error;
use crate::api::App;

/// Query parameters; the error names an unknown or mistyped parameter.
pub(in crate::api) struct Query<T>(pub T);

impl<T: DeserializeOwned> FromRequestParts<App> for Query<T> {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        axum::extract::Query::try_from_uri(&parts.uri)
            .map(|axum::extract::Query(value)| Self(value))
            .map_err(|rejection| {
                let text = rejection.body_text();
                let message = text
                    .strip_prefix("Failed to deserialize query string: ")
                    .unwrap_or(&text);
                Error::InvalidQuery(format!("query: {message}"))
            })
    }
}
