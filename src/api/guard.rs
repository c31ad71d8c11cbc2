//! Decides who may ask at all.
//!
//! A server that starts processes must not obey web pages. A page can make a browser send requests to this machine:
//! directly, which the browser marks with the page's `Origin`, or by letting its own name point here, which shows in
//! `Host`. Both are refused. Beyond this machine a token is needed too.

use std::convert::Infallible;
use std::net::IpAddr;

use axum::extract::{FromRequestParts, MatchedPath, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{Extensions, HeaderMap, Method, Uri};
use axum::middleware::Next;
use axum::response::Response;

use super::App;
use crate::Error;
use crate::domain::{Actor, Refusal, RunIdentity};
use crate::ledger::run::TokenHolder;
use crate::secret::Token;
use crate::web;

/// What is answered beyond this machine without a token: that the server lives, and the page. A browser that follows a link
/// cannot send a token. The page has no data and no secret in it, it is the same for everybody; all that it shows and does
/// it asks of the API, with the token that the person gives it.
const OPEN: [&str; 2] = ["/healthz", web::PATH];

/// Who may ask.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// Names that this server is called by, beside those of the local machine.
    pub hosts: Vec<String>,
    /// Origins of pages that may ask, beside the server's own.
    pub origins: Vec<String>,
    /// The token of the operator.
    pub operator: Option<Token>,
    /// Whether the server listens beyond this machine, so that a token is needed.
    pub is_public: bool,
}

impl Guard {
    fn check(&self, uri: &Uri, headers: &HeaderMap) -> Result<Shown, Error> {
        let host = headers
            .get(HOST)
            .and_then(|host| host.to_str().ok())
            .or(uri.authority().map(Authority::as_str));
        let Some(host) = host else {
            return Err(Error::Forbidden(
                "The request has no Host header".to_owned(),
            ));
        };
        let names_differ = uri
            .authority()
            .is_some_and(|authority| authority.as_str() != host);
        if names_differ || !self.allows_host(host) {
            return Err(Error::Forbidden(format!(
                "Host {host:?} is not one of this server's names; start it with --allow-host to add one"
            )));
        }
        if headers.get_all(HOST).iter().count() > 1 {
            return Err(Error::Forbidden(
                "The request has more than one Host header".to_owned(),
            ));
        }
        for origin in headers.get_all(ORIGIN) {
            let origin = origin.to_str().unwrap_or_default();
            if !self.allows_origin(origin, host) {
                return Err(Error::Forbidden(format!(
                    "Origin {origin:?} may not use this server; start it with --allow-origin to allow it"
                )));
            }
        }
        self.check_token(uri, headers)
    }

    fn allows_host(&self, host: &str) -> bool {
        let Some(name) = host_name(host) else {
            return false;
        };
        // Letting a name point here needs a name: an address is what the browser really went to.
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

    fn check_token(&self, uri: &Uri, headers: &HeaderMap) -> Result<Shown, Error> {
        match headers.get(AUTHORIZATION) {
            None if self.is_public && !OPEN.contains(&uri.path()) => Err(Error::Unauthorized(
                "A token is needed: Authorization: Bearer <token>".to_owned(),
            )),
            None => Ok(Shown::Nothing),
            Some(given) => {
                let word = given
                    .to_str()
                    .ok()
                    .and_then(|given| given.split_once(' '))
                    .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
                    .map(|(_, word)| word)
                    .unwrap_or_default()
                    .trim();
                let is_operator = self
                    .operator
                    .as_ref()
                    .is_some_and(|operator| operator.is(word));
                Ok(if is_operator {
                    Shown::Operator
                } else {
                    Shown::Other(word.to_owned())
                })
            }
        }
    }
}

/// Which token a request shows.
#[derive(Debug, PartialEq, Eq)]
enum Shown {
    Nothing,
    Operator,
    /// Not the operator's: a run's, or nobody's.
    Other(String),
}

/// The run in whose name a request is made, if it shows a run's token.
#[derive(Debug, Clone)]
pub(super) struct Caller(pub Option<RunIdentity>);

impl FromRequestParts<App> for Caller {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(parts.extensions.get().cloned().unwrap_or(Self(None)))
    }
}

/// Marks a request that shows the operator's token.
#[derive(Debug, Clone, Copy)]
struct IsOperator;

/// Who asks, as it is written down.
pub(super) struct AskedAs(pub Actor);

impl FromRequestParts<App> for AskedAs {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Infallible> {
        Ok(Self(match parts.extensions.get() {
            Some(Caller(Some(run))) => Actor::Run(run.clone()),
            _ if parts.extensions.get::<IsOperator>().is_some() => Actor::Operator,
            _ => Actor::Person("anonymous".to_owned()),
        }))
    }
}

/// Names who asks, so that no two who show different tokens have the same name.
pub(super) fn who_asks(extensions: &Extensions) -> &str {
    match extensions.get() {
        Some(Caller(Some(run))) => run.run_id.as_str(),
        _ if extensions.get::<IsOperator>().is_some() => "operator",
        _ => "",
    }
}

/// The operator, by their token, also on this machine: what this door does is decided by a person.
pub(super) struct ByOperator(pub Actor);

impl FromRequestParts<App> for ByOperator {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Error> {
        let Ok(AskedAs(by)) = AskedAs::from_request_parts(parts, app).await;
        match by {
            Actor::Operator => Ok(Self(by)),
            Actor::Run(run) => Err(Error::Forbidden(format!(
                "This run of {} may not do what only the operator does",
                run.agent_name
            ))),
            _ => Err(Error::Unauthorized(
                "The operator's token is needed: Authorization: Bearer <the word in operator.token>"
                    .to_owned(),
            )),
        }
    }
}

/// Somebody who is not a run: what this door does is for people.
pub(super) struct ByPerson;

impl FromRequestParts<App> for ByPerson {
    type Rejection = Error;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Error> {
        match parts.extensions.get() {
            Some(Caller(Some(run))) => Err(Error::Forbidden(format!(
                "This run of {} may not change how Chorus is set up",
                run.agent_name
            ))),
            _ => Ok(Self),
        }
    }
}

/// Leaves out the port. What is neither a name nor a name with a port is no host.
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

/// Tells whether a run that has passed control on may only have missed the answer. The operation finds the answer by its
/// key, and refuses the run if there is none.
fn is_repetition(request: &Request) -> bool {
    let hands_over = [
        "/api/tasks/{id}/tools/{tool}",
        "/api/sessions/{id}/handoffs",
    ];
    let path = request.extensions().get::<MatchedPath>();
    request.method() == Method::POST
        && request.headers().contains_key("idempotency-key")
        && path.is_some_and(|path| hands_over.contains(&path.as_str()))
}

/// Lets a request through, or not, and says in whose name it is made.
pub(super) async fn guard(
    State(app): State<App>,
    mut request: Request,
    next: Next,
) -> Result<Response, Error> {
    let shown = app.guard.check(request.uri(), request.headers())?;
    if shown == Shown::Operator {
        request.extensions_mut().insert(IsOperator);
    }
    if let Shown::Other(token) = shown {
        let run = match app.engine.token_holder(&token).await? {
            Some(TokenHolder::Working(run)) => run,
            Some(TokenHolder::MovedOn { run, .. }) if is_repetition(&request) => run,
            Some(TokenHolder::MovedOn { run, agent_name }) => {
                let task_id = run.task_id;
                return Err(Refusal::AlreadyMoved {
                    task_id,
                    agent_name,
                }
                .into());
            }
            None => {
                return Err(Error::Unauthorized(
                    "The token is not known, or its run has ended".to_owned(),
                ));
            }
        };
        request.extensions_mut().insert(Caller(Some(run)));
    }
    Ok(next.run(request).await)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(guard: &Guard, headers: &[(&str, &str)]) -> Result<(), &'static str> {
        let headers = headers
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
            .map_err(|error| error.code())
            .and_then(|shown| {
                if matches!(shown, Shown::Other(_)) {
                    Err("UNAUTHORIZED")
                } else {
                    Ok(())
                }
            })
    }

    #[test]
    fn only_the_servers_own_names_are_answered() {
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
    fn only_the_servers_own_pages_are_answered() {
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
    fn beyond_this_machine_a_token_is_needed() {
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
