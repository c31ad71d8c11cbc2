//! Reads what callers send: paths, query parameters, bodies and idempotency keys.

use std::convert::Infallible;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, Method, header};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

use super::guard::{self, Caller};
use super::{App, surrogates};
use crate::Error;
use crate::domain::{
    AgentName, HandoffId, Idempotency, IdempotencyKey, IncrementId, TaskId, TraceParent,
};
use crate::engine::Asker;

/// A JSON body, and the key under which it must not be carried out twice.
pub(super) struct Body<T> {
    pub value: T,
    pub once: Option<Idempotency>,
}

impl<T: DeserializeOwned> FromRequest<App> for Body<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(request, "body", app.engine.limits().body).await?;
        if bytes.is_empty() {
            return Err(Error::InvalidBody(
                "the body is empty; send a JSON object".to_owned(),
            ));
        }
        Ok(Self {
            value: parse(&bytes)?,
            once,
        })
    }
}

/// A JSON body with text from elsewhere, in which half characters are mended.
pub(super) struct MendedBody<T> {
    pub value: T,
    pub once: Option<Idempotency>,
}

impl<T: DeserializeOwned> FromRequest<App> for MendedBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(request, "body", app.engine.limits().body).await?;
        Ok(Self {
            value: parse(&surrogates::mend(&bytes))?,
            once,
        })
    }
}

/// A JSON body that may be left out, or be `null`.
pub(super) struct OptionalBody<T> {
    pub value: T,
    pub once: Option<Idempotency>,
}

impl<T: DeserializeOwned + Default> FromRequest<App> for OptionalBody<T> {
    type Rejection = Error;

    async fn from_request(request: Request, app: &App) -> Result<Self, Error> {
        let RawBody { bytes, once, .. } =
            RawBody::read(request, "body", app.engine.limits().body).await?;
        let value = match bytes.trim_ascii() {
            b"" | b"null" => T::default(),
            _ => parse(&bytes)?,
        };
        Ok(Self { value, once })
    }
}

/// A body of any bytes.
pub(super) struct RawBody {
    pub bytes: Bytes,
    pub headers: HeaderMap,
    pub once: Option<Idempotency>,
}

impl RawBody {
    /// Reads a body up to a limit.
    pub async fn read(request: Request, what: &'static str, limit: usize) -> Result<Self, Error> {
        let (parts, body) = request.into_parts();
        let too_large = || Error::TooLarge { what, limit };
        let announced = parts
            .headers
            .get(header::CONTENT_LENGTH)
            .and_then(|length| length.to_str().ok());
        if announced
            .and_then(|length| length.parse().ok())
            .is_some_and(|length: usize| length > limit)
        {
            return Err(too_large());
        }
        let bytes = match Limited::new(body, limit).collect().await {
            Ok(collected) => collected.to_bytes(),
            Err(error) if error.is::<LengthLimitError>() => return Err(too_large()),
            Err(error) => return Err(Error::InvalidBody(format!("the body ended early: {error}"))),
        };
        let once = idempotency(&parts, &bytes)?;
        Ok(Self {
            bytes,
            headers: parts.headers,
            once,
        })
    }
}

/// Parses a JSON object; the error names the field.
pub(super) fn parse<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Error> {
    // A list of the fields' values would do for serde.
    if !bytes.trim_ascii_start().starts_with(b"{") {
        return Err(Error::InvalidBody(
            "the body is not a JSON object".to_owned(),
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
    // A whole body that is wrong has no field to name; a field that has not been read yet is called `?`.
    Error::InvalidBody(match path.trim_end_matches(['?', '.']) {
        "" => message,
        field => format!("{field}: {message}"),
    })
}

/// Reads a value that was parsed; the error names the field.
pub(super) fn read<T: DeserializeOwned>(value: serde_json::Value) -> Result<T, Error> {
    serde_path_to_error::deserialize(value).map_err(|error| field_error(&error))
}

/// Writes what is wrong; where, only if no field can say it.
fn message(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let place = format!(" at line {} column {}", error.line(), error.column());
    match text.strip_suffix(&place) {
        Some(what) if error.is_data() => what.to_owned(),
        _ => text,
    }
}

/// The key of a request without a body.
pub(super) struct Once(pub Option<Idempotency>);

impl FromRequestParts<App> for Once {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        idempotency(parts, &[]).map(Self)
    }
}

/// Reads the key of a request, and takes the fingerprint of all that it asks, and of who asks: another's answer is not theirs.
fn idempotency(parts: &Parts, body: &[u8]) -> Result<Option<Idempotency>, Error> {
    let Some(value) = parts.headers.get("idempotency-key") else {
        return Ok(None);
    };
    let key = IdempotencyKey::parse(value.to_str().unwrap_or_default())
        .map_err(|error| Error::InvalidQuery(error.to_string()))?;
    let mut hash = Sha256::new();
    hash.update(parts.method.as_str());
    hash.update([0]);
    let path = parts.uri.path_and_query();
    hash.update(path.map_or("", |path| path.as_str()));
    hash.update([0]);
    hash.update(guard::who_asks(&parts.extensions));
    hash.update([0]);
    hash.update(body);
    Ok(Some(Idempotency {
        key,
        fingerprint: hash.finalize().into(),
    }))
}

/// Whether what is to be made must not be there yet: `If-None-Match: *`.
pub(super) struct OnlyNew(pub bool);

impl FromRequestParts<App> for OnlyNew {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        match parts.headers.get(header::IF_NONE_MATCH) {
            None => Ok(Self(false)),
            Some(value) if value.as_bytes().trim_ascii() == b"*" => Ok(Self(true)),
            Some(_) => Err(Error::InvalidQuery(
                "If-None-Match: must be *, which says that it must not be there yet".to_owned(),
            )),
        }
    }
}

/// Query parameters; unknown and mistyped ones are errors that name them.
pub(super) struct Query<T>(pub T);

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

/// The one variable part of a path, whatever it names.
pub(super) struct Segment(pub String);

impl FromRequestParts<App> for Segment {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        text(parts, app).await.map(Self)
    }
}

/// The name of an agent in a path. What cannot be a name is not there.
pub(super) struct AgentPath(pub AgentName);

impl FromRequestParts<App> for AgentPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let name = text(parts, app).await?;
        AgentName::parse(name.as_str())
            .map(Self)
            .map_err(|_| Error::not_found("Agent", name))
    }
}

/// The id of a task in a path. What cannot be an id is not there.
pub(super) struct TaskPath(pub TaskId);

impl FromRequestParts<App> for TaskPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let id = text(parts, app).await?;
        TaskId::parse(id.as_str())
            .map(Self)
            .map_err(|_| Error::not_found("Task", id))
    }
}

/// The id of an increment in a path. What cannot be an id is not there.
pub(super) struct IncrementPath(pub IncrementId);

impl FromRequestParts<App> for IncrementPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let id = text(parts, app).await?;
        IncrementId::parse(id.as_str())
            .map(Self)
            .map_err(|_| Error::not_found("Increment", id))
    }
}

/// The id of a task in a path that is to be changed. A run may change its own and those below it.
pub(super) struct ChangedTask(pub TaskId);

impl FromRequestParts<App> for ChangedTask {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let TaskPath(id) = TaskPath::from_request_parts(parts, app).await?;
        check_reach(parts, app, &id).await?;
        Ok(Self(id))
    }
}

/// Checks that whoever asks may change a task.
async fn check_reach(parts: &Parts, app: &App, id: &TaskId) -> Result<(), Error> {
    match parts.extensions.get() {
        Some(Caller(Some(caller))) => app.engine.check_reach(caller, id).await,
        _ => Ok(()),
    }
}

/// Who asks, and in which trace.
pub(super) struct AskedBy(pub Asker);

impl FromRequestParts<App> for AskedBy {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Infallible> {
        let Caller(run) = Caller::from_request_parts(parts, app).await?;
        // A trace that cannot be read is as good as none: the standard says so.
        let trace = parts.headers.get("traceparent");
        let trace = trace.and_then(|trace| TraceParent::parse(trace.to_str().ok()?).ok());
        Ok(Self(Asker { run, trace }))
    }
}

/// The task and the tool in a path. Whose task a run may hand over is decided when it is.
pub(super) struct TaskToolPath {
    pub task_id: TaskId,
    pub tool: String,
}

impl FromRequestParts<App> for TaskToolPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let (task_id, tool) = task_and_name(parts, app).await?;
        Ok(Self { task_id, tool })
    }
}

/// The id of a hand-off in a path.
pub(super) struct HandoffPath(pub HandoffId);

impl FromRequestParts<App> for HandoffPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let id = text(parts, app).await?;
        HandoffId::parse(id.as_str())
            .map(Self)
            .map_err(|_| Error::not_found("Hand-off", id))
    }
}

/// A task and the name of one of its files in a path.
pub(super) struct AttachmentPath {
    pub task_id: TaskId,
    pub filename: String,
}

impl FromRequestParts<App> for AttachmentPath {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let (task_id, filename) = task_and_name(parts, app).await?;
        if parts.method != Method::GET && parts.method != Method::HEAD {
            check_reach(parts, app, &task_id).await?;
        }
        Ok(Self { task_id, filename })
    }
}

/// Reads a task's id and a name behind it.
async fn task_and_name(parts: &mut Parts, app: &App) -> Result<(TaskId, String), Error> {
    let Path((id, name)) = Path::<(String, String)>::from_request_parts(parts, app)
        .await
        .map_err(|rejection| Error::NotFound(rejection.body_text()))?;
    let task_id = TaskId::parse(id.as_str()).map_err(|_| Error::not_found("Task", id))?;
    Ok((task_id, name))
}

/// Reads the one variable part of a path.
async fn text(parts: &mut Parts, app: &App) -> Result<String, Error> {
    Path::<String>::from_request_parts(parts, app)
        .await
        .map(|Path(text)| text)
        .map_err(|rejection| Error::NotFound(rejection.body_text()))
}
