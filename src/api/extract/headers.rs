//! Headers: idempotency key, `If-None-Match` and trace.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::header;
use axum::http::request::Parts;
use sha2::{Digest, Sha256};

use super::caller;
use crate::Error;
use crate::api::App;
use crate::domain::{Idempotency, IdempotencyKey, TraceParent};

pub(in crate::api) const IDEMPOTENCY_KEY: &str = "idempotency-key";

/// The idempotency key of a request without a body.
pub(in crate::api) struct Once(pub Option<Idempotency>);

impl FromRequestParts<App> for Once {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        idempotency(parts, &[]).map(Self)
    }
}

/// Parses the idempotency key. The fingerprint covers the caller, so that no caller gets the answer of another.
pub(super) fn idempotency(parts: &Parts, body: &[u8]) -> Result<Option<Idempotency>, Error> {
    let Some(value) = parts.headers.get(IDEMPOTENCY_KEY) else {
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
    hash.update(caller::of(parts).fingerprint());
    hash.update([0]);
    hash.update(body);
    Ok(Some(Idempotency {
        key,
        fingerprint: hash.finalize().into(),
    }))
}

/// Whether the resource must not exist yet: `If-None-Match: *`.
pub(in crate::api) struct OnlyNew(pub bool);

impl FromRequestParts<App> for OnlyNew {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        match parts.headers.get(header::IF_NONE_MATCH) {
            None => Ok(Self(false)),
            Some(value) if value.as_bytes().trim_ascii() == b"*" => Ok(Self(true)),
            Some(_) => Err(Error::InvalidQuery(
                "If-None-Match: must be *, which means: create, but do not replace".to_owned(),
            )),
        }
    }
}

/// The trace of a request.
pub(in crate::api) struct Trace(pub Option<TraceParent>);

impl FromRequestParts<App> for Trace {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        // The standard (W3C Trace Context) treats a header that cannot be parsed as absent.
        let header = parts.headers.get("traceparent");
        let trace = header.and_then(|trace| TraceParent::parse(trace.to_str().ok()?).ok());
        Ok(Self(trace))
    }
}
