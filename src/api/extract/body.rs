//! Bodies: JSON, with errors that name the field, and raw bytes up to a limit.

use axum::body::Bytes;
use axum::extract::{FromRequest, Request};
use axum::http::HeaderMap;
use serde::de::DeserializeOwned;

use super::headers::idempotency;
use crate::Error;
use crate::api::{App, intake, surrogates};
use crate::domain::Idempotency;

/// A JSON body, and the idempotency key of the request.
pub(in crate::api) struct Body<T> {
    pub value: T,
    pub once: Option<Idempotency>,
}

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(app, request, "body", app.engine.limits().body).await?;
        if bytes.is_empty() {
            return Err(Error::InvalidBody(
                "The body is empty; send a JSON object".to_owned(),
            ));
        }
        Ok(Self {
            value: parse(&bytes)?,
            once,
        })
    }
}

/// A JSON body with a foreign program's text, in which lone surrogates are replaced.
pub(in crate::api) struct LossyBody<T> {
    pub value: T,
    pub once: Option<Idempotency>,
}

impl<T: DeserializeOwned> FromRequest<App> for LossyBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(app, request, "body", app.engine.limits().body).await?;
        Ok(Self {
            value: parse(&surrogates::replace_lone(&bytes))?,
            once,
        })
    }
}

/// A JSON body that may be absent or `null`.
pub(in crate::api) struct OptionalBody<T> {
    pub value: T,
    pub once: Option<Idempotency>,
}

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(app, request, "body", app.engine.limits().body).await?;
        let value = match bytes.trim_ascii() {
            b"" | b"null" => T::default(),
            _ => parse(&bytes)?,
        };
        Ok(Self { value, once })
    }
}

/// A body of arbitrary bytes.
pub(in crate::api) struct RawBody {
    pub bytes: Bytes,
    pub headers: HeaderMap,
    pub once: Option<Idempotency>,
}

impl RawBody {
    pub async fn read(
        app: &App,
        request: Request,
        what: &'static str,
        limit: usize,
    ) -> Result<Self, Error> {
        let (parts, bytes) = intake::read(app, request, what, limit).await?;
        let once = idempotency(&parts, &bytes)?;
        Ok(Self {
            bytes: bytes.into(),
            headers: parts.headers,
            once,
        })
    }
}

/// Parses a JSON object; an error names the field.
pub(in crate::api) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    // serde would also accept an array of the field values.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Error::InvalidBody(
            "The body is not a JSON object; send an object with named fields".to_owned(),
        ));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let value = serde_path_to_error::deserialize(&mut json).map_err(|error| field_error(&error))?;
    json.end()
        .map_err(|error| Error::InvalidBody(error.to_string()))?;
    Ok(value)
}

fn field_error(error: &serde_path_to_error::Error<serde_json::Error>) -> Error {
    let path = error.path().to_string();
    let message = message(error.inner());
    // An error about the whole body has no path; serde_path_to_error calls an unread field `?`.
    Error::InvalidBody(match path.trim_end_matches(['?', '.']) {
        "" => message,
        field => format!("{field}: {message}"),
    })
}

/// Deserializes a parsed value; an error names the field.
pub(in crate::api) fn read<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(value).map_err(|error| field_error(&error))
}

/// Returns the message without line and column if the field already locates the error.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) if error.is_data() => what.to_owned(),
        _ => text,
    }
}
