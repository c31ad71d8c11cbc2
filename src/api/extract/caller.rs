//! The caller that the guard identified, and the rights that are checked before the body is read.

use std::convert::Infallible;

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::Error;
use crate::api::App;
use crate::domain::{Caller, Stranger};
use crate::ledger::rights;

/// Returns the caller from the request extensions, where the guard has put it.
pub(super) fn of(parts: &Parts) -> &Caller {
    parts
        .extensions
        .get()
        .unwrap_or(&Caller::Unknown(Stranger::Anybody))
}

impl FromRequestParts<App> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(of(parts).clone())
    }
}

/// A caller that may change the configuration.
pub(in crate::api) struct MaySetUp(pub Caller);

impl FromRequestParts<App> for MaySetUp {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        let caller = of(parts);
        rights::may_set_up(caller)?;
        Ok(Self(caller.clone()))
    }
}

/// A caller that may decide for the operator.
pub(in crate::api) struct MayDecide(pub Caller);

impl FromRequestParts<App> for MayDecide {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        let caller = of(parts);
        rights::may_decide(caller)?;
        Ok(Self(caller.clone()))
    }
}

/// A caller that may speak as a person.
pub(in crate::api) struct MayChat;

impl FromRequestParts<App> for MayChat {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        rights::may_chat(of(parts))?;
        Ok(Self)
    }
}
