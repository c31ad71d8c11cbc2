//! Checks Host, Origin and token, and identifies the caller.
//!
//! A server that starts processes must not obey web pages. A page can make a browser send requests to this machine in two
//! ways: directly, which the browser marks with the page's `Origin`, or by DNS rebinding, which shows in `Host`. Both are
//! refused. A server that listens beyond this machine also needs a token.
//!
//! [`guard`] puts the [`Caller`] into the request extensions. `ledger::rights` decides what a caller may do.

use std::net::IpAddr;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::Response;

use super::App;
use super::extract::IDEMPOTENCY_KEY;
use crate::Error;
use crate::domain::{Caller, Refusal};
use crate::ledger::rights;
use crate::ledger::run::TokenHolder;
use crate::secret::Token;
use crate::web;

/// Paths that need no token beyond this machine: the liveness check, the page and the way to it. A browser that follows a link cannot send a
/// token. The page holds no data and no secret and is the same for everybody; it gets its data from the API, with the token
/// that the person enters.
const OPEN: [&str; 3] = ["/healthz", web::ROOT, web::PATH];

/// The allowed hosts, origins and tokens.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// Host names of this server, in addition to those of the local machine.
    pub hosts: Vec<String>,
    /// Origins of pages that may call, in addition to the server's own.
    pub origins: Vec<String>,
    pub operator: Option<Token>,
    /// Whether the server listens beyond this machine, which makes a token mandatory.
    pub is_public: bool,
}

impl Guard {
    /// Refuses requests from foreign pages and to foreign host names.
    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), Error> {
        let host = headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .or(uri.authority().map(Authority::as_str));
        let Some(host) = host else {
            return Err(Error::Forbidden(
                "The request has no Host header; send one with the name of this server".to_owned(),
            ));
        };
        let names_differ = uri
            .authority()
            .is_some_and(|authority| authority.as_str() != host);
        if names_differ || !self.allows_host(host) {
            return Err(Error::Forbidden(format!(
                "Host {host:?} is not allowed; to allow it, start the server with --allow-host"
            )));
        }
        if headers.get_all(HOST).iter().count() > 1 {
            return Err(Error::Forbidden(
                "The request has several Host headers; send one".to_owned(),
            ));
        }
        for origin in headers.get_all(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !self.allows_origin(origin, host) {
                return Err(Error::Forbidden(format!(
                    "Origin {origin:?} is not allowed; to allow it, start the server with --allow-origin"
                )));
            }
        }
        Ok(())
    }

    fn allows_host(&self, host: &str) -> bool {
        let Some(name) = host_name(host) else {
            return false;
        };
        // DNS rebinding needs a name; an IP address is where the browser really connected to.
        let is_address = name.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        ["localhost", "127.0.0.1", "[::1]"]
            .iter()
            .any(|local| name.eq_ignore_ascii_case(local))
            || (self.is_public && is_address)
            || self
                .hosts
                .iter()
                .any(|allowed| name.eq_ignore_ascii_case(allowed))
    }

    fn allows_origin(&self, origin: &str, host: &str) -> bool {
        let own = origin
            .strip_prefix("http://")
            .or_else(|| origin.strip_prefix("https://"));
        own.is_some_and(|authority| authority.eq_ignore_ascii_case(host))
            || self
                .origins
                .iter()
                .any(|allowed| allowed.eq_ignore_ascii_case(origin))
    }

    /// Returns the caller, or `None` if the token is not the operator's: then only the ledger knows it.
    fn known_caller(&self, token: Option<&str>) -> Option<Caller> {
        match token {
            None if self.is_public => Some(Caller::Anonymous),
            None => Some(Caller::Person),
            Some(word) => {
                let operator = self.operator.as_ref();
                let is_operator = operator.is_some_and(|operator| operator.is(word));
                is_operator.then_some(Caller::Operator)
            }
        }
    }
}

/// Returns the bearer token of a request, or an empty one if the header has another form.
fn token(headers: &HeaderMap) -> Option<&str> {
    let header = headers.get(AUTHORIZATION)?;
    let parts = header.to_str().ok().and_then(|text| text.split_once(' '));
    let bearer = parts.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    Some(bearer.map_or("", |(_, word)| word.trim()))
}

/// Removes the port. Returns `None` if the text is neither a name nor a name with a port.
fn host_name(host: &str) -> Option<&str> {
    let end = match host.rfind(']') {
        Some(end) => end + 1,
        None => host.find(':').unwrap_or(host.len()),
    };
    let (name, port) = host.split_at(end);
    let is_port = |port: &str| {
        port.is_empty()
            || port
                .strip_prefix(':')
                .is_some_and(|port| port.bytes().all(|byte| byte.is_ascii_digit()))
    };
    is_port(port).then(|| name.trim_end_matches('.'))
}

/// Checks Host, Origin and token of a request, and puts its [`Caller`] into the extensions.
pub(super) async fn guard(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Error> {
    app.guard.check(request.uri(), request.headers())?;
    let token = token(request.headers());
    let caller = match (app.guard.known_caller(token), token) {
        (Some(caller), _) => caller,
        (None, token) => {
            let token = token.unwrap_or_default().to_owned();
            find_run(&app, &token, &mut request).await?
        }
    };
    if !OPEN.contains(&request.uri().path()) {
        rights::may_use_api(&caller)?;
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Finds the run with this token. If it has passed control on, marks the request with the refusal.
async fn find_run(app: &App, token: &str, request: &mut Request) -> Result<Caller, Error> {
    match app.engine.token_holder(token).await? {
        Some(TokenHolder::Working(run)) => Ok(Caller::Run(run)),
        Some(TokenHolder::MovedOn { run, agent_name }) => {
            let refusal = Refusal::AlreadyMoved {
                task_id: run.task_id.clone(),
                agent_name,
            };
            request.extensions_mut().insert(PassedOn(refusal));
            Ok(Caller::Run(run))
        }
        None => Err(Error::Unauthorized(
            "The token is unknown, or its run has ended; send the operator's token or the token of a current run".to_owned(),
        )),
    }
}

/// Marks a request from a run that has passed control on.
#[derive(Debug, Clone)]
struct PassedOn(Refusal);

/// Refuses a run that has passed control on.
pub(super) async fn refuse_passed_on(request: Request, next: Next) -> Result<Response, Error> {
    match request.extensions().get() {
        Some(PassedOn(refusal)) => Err(refusal.clone().into()),
        None => Ok(next.run(request).await),
    }
}

/// Admits a repeated call of a run that has passed control on, because the first answer may have been lost. The operation finds
/// that answer by the idempotency key, and refuses the run if there is none.
pub(super) async fn allow_repetition(request: Request, next: Next) -> Result<Response, Error> {
    if request.headers().contains_key(IDEMPOTENCY_KEY) {
        return Ok(next.run(request).await);
    }
    refuse_passed_on(request, next).await
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &Guard, headers: &[(&str, &str)]) -> Result<(), &'static str> {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (
                    name.parse::<axum::http::HeaderName>().unwrap(),
                    value.parse().unwrap(),
                )
            })
            .collect();
        guard
            .check(&Uri::from_static("/api/tasks"), &headers)
            .and_then(|()| {
                let caller = guard.known_caller(token(&headers));
                Ok(rights::may_use_api(&caller.unwrap_or(Caller::Anonymous))?)
            })
            .map_err(|error| error.code())
    }

    #[test]
    fn only_the_servers_own_host_names_are_allowed() {
        let guard = Guard {
            hosts: vec!["board.example".into()],
            ..Guard::default()
        };
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:1",
            "[::1]:8080",
            "localhost.",
            "board.example:80",
        ] {
            assert_eq!(check(&guard, &[("host", host)]), Ok(()), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "192.168.1.2",
            "",
            "[::2]",
        ] {
            assert_eq!(check(&guard, &[("host", host)]), Err("FORBIDDEN"), "{host}");
        }
        assert_eq!(check(&guard, &[]), Err("FORBIDDEN"));
    }

    #[test]
    fn only_the_servers_own_origins_are_allowed() {
        let guard = Guard {
            origins: vec!["http://localhost:3000".into()],
            ..Guard::default()
        };
        let from = |origin| check(&guard, &[("host", "localhost:8080"), ("origin", origin)]);
        for origin in [
            "http://localhost:8080",
            "https://localhost:8080",
            "http://localhost:3000",
        ] {
            assert_eq!(from(origin), Ok(()), "{origin}");
        }
        for origin in [
            "null",
            "http://localhost:9",
            "http://evil.example",
            "localhost:8080",
            "",
            "file://",
        ] {
            assert_eq!(from(origin), Err("FORBIDDEN"), "{origin}");
        }
    }

    #[test]
    fn a_public_server_needs_a_token() {
        let operator = Some(Token::given("sesame".into()));
        let public = Guard {
            operator: operator.clone(),
            is_public: true,
            ..Guard::default()
        };
        let local = Guard {
            operator,
            ..Guard::default()
        };
        let host = ("host", "127.0.0.1");
        assert_eq!(
            check(
                &public,
                &[
                    ("host", "192.168.1.2:8080"),
                    ("authorization", "Bearer sesame")
                ]
            ),
            Ok(())
        );
        assert_eq!(check(&public, &[host]), Err("UNAUTHORIZED"));
        assert_eq!(check(&local, &[host]), Ok(()));
        for guard in [public, local] {
            for wrong in ["Bearer nope", "Bearer ", "sesame", "Basic sesame"] {
                assert_eq!(
                    check(&guard, &[host, ("authorization", wrong)]),
                    Err("UNAUTHORIZED"),
                    "{wrong}"
                );
            }
        }
    }
}
