//! Checks Host, Origin and token, and identifies the caller.
//!
//! A server that starts processes must not obey web pages. A page can make a browser send requests to this machine in two
//! ways: directly, which the browser marks with the page's `Origin`, or by DNS rebinding, which shows in `Host`. Both are
//! refused. A call without a token must come from a process of the server's own user, which [`Peers`] finds out; a process of a
//! run counts as that run.
//!
//! [`guard`] puts the [`Caller`] into the request extensions. `ledger::rights` decides what a caller may do.

use std::net::IpAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Uri};
use axum::middleware::Next;
use axum::response::Response;

use super::App;
use super::extract::IDEMPOTENCY_KEY;
use crate::Error;
use crate::domain::{Caller, Refusal, Stranger};
use crate::ledger::rights;
use crate::ledger::run::TokenHolder;
use crate::peer::{Origin, Peer, Peers};
use crate::secret::Token;
use crate::web;

/// Whether a path needs no token beyond this machine: the liveness check, the page and its files. A browser that follows a link cannot
/// send a token. The page holds no data and no secret and is the same for everybody; it gets its data from the API, with the
/// token that the operator enters.
fn is_open(path: &str) -> bool {
    path == "/healthz" || web::is_open(path)
}

type Refuse = fn(String) -> Error;

/// The headers that decide who asks and for what, with the error for a second one: another program may read the other one.
const SINGLE: [(&str, Refuse); 3] = [
    ("Host", Error::Forbidden),
    ("Authorization", Error::Unauthorized),
    ("Idempotency-Key", Error::InvalidQuery),
];

/// The allowed hosts, origins and tokens.
#[derive(Debug, Clone, Default)]
pub struct Guard {
    /// Host names of this server, in addition to those of the local machine.
    pub hosts: Vec<String>,
    /// Origins of pages that may call, in addition to the server's own.
    pub origins: Vec<String>,
    pub operator: Option<Token>,
    /// Whether the server listens beyond this machine, which makes a token mandatory for every TCP connection.
    pub is_public: bool,
    /// Whether everybody needs a token.
    pub requires_token: bool,
    /// The way to identify callers without a token; without it, everybody needs one.
    pub peers: Option<Arc<Peers>>,
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
        for (name, refuse) in SINGLE {
            if headers.get_all(name).iter().count() > 1 {
                return Err(refuse(format!(
                    "The request has several {name} headers; send one"
                )));
            }
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

    fn is_operator(&self, word: &str) -> bool {
        let operator = self.operator.as_ref();
        operator.is_some_and(|operator| operator.is(word))
    }

    /// Returns the way to identify a caller without a token, unless it needs one anyway.
    fn peers_for(&self, peer: &Peer) -> Option<&Peers> {
        let peers = self.peers.as_deref();
        let peers = peers.filter(|peers| !self.requires_token && peers.can_tell_runs())?;
        (peer.is_local() || (peers.can_ask() && !self.is_public)).then_some(peers)
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
    let is_open = is_open(request.uri().path());
    let caller = match token(request.headers()) {
        Some(word) if app.guard.is_operator(word) => Caller::Operator,
        Some(word) => {
            let token = word.to_owned();
            find_run(&app, &token, &mut request).await?
        }
        None if is_open => Caller::Unknown(Stranger::Anybody),
        None => identify(&app, &mut request).await?,
    };
    if !is_open {
        rights::may_use_api(&caller)?;
    }
    request.extensions_mut().insert(caller);
    Ok(next.run(request).await)
}

/// Finds the run with this token.
async fn find_run(app: &App, token: &str, request: &mut Request) -> Result<Caller, Error> {
    match app.engine.token_holder(token).await? {
        Some(holder) => Ok(run_of(holder, request)),
        None => Err(Error::Unauthorized(
            "The token is unknown, or its run has ended; send the operator's token or the token of a current run".to_owned(),
        )),
    }
}

/// Identifies a caller without a token by its process.
async fn identify(app: &App, request: &mut Request) -> Result<Caller, Error> {
    let peer = request.extensions().get::<Peer>().cloned();
    let Some((peers, peer)) = peer
        .as_ref()
        .and_then(|peer| Some((app.guard.peers_for(peer)?, peer)))
    else {
        return Ok(Caller::Unknown(Stranger::Anybody));
    };
    let origin = peers.origin(peer, app.engine.has_live_runs()).await;
    let stranger = match origin.map_err(Error::io)? {
        Origin::OwnUser => return Ok(Caller::Person),
        Origin::Run(id) => match app.engine.find_holder(id).await? {
            Some(holder) => return Ok(run_of(holder, request)),
            None => Stranger::LostRun,
        },
        Origin::LostRun => Stranger::LostRun,
        Origin::OtherUser => Stranger::OtherUser,
        Origin::OtherMachine => Stranger::OtherMachine,
        Origin::Unknown => Stranger::UnknownProcess,
    };
    Ok(Caller::Unknown(stranger))
}

/// Returns the run as a caller. If it has passed control on, marks the request with the refusal.
fn run_of(holder: TokenHolder, request: &mut Request) -> Caller {
    match holder {
        TokenHolder::Working(run) => Caller::Run(run),
        TokenHolder::MovedOn { run, agent_name } => {
            let refusal = Refusal::AlreadyMoved {
                task_id: run.task_id.clone(),
                agent_name,
            };
            request.extensions_mut().insert(PassedOn(refusal));
            Caller::Run(run)
        }
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
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name: axum::http::HeaderName = name.parse().unwrap();
            map.append(name, value.parse().unwrap());
        }
        let headers = map;
        guard
            .check(&Uri::from_static("/api/tasks"), &headers)
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
    fn a_second_header_that_decides_is_refused() {
        let host = ("host", "localhost");
        for (name, code) in [
            ("host", "FORBIDDEN"),
            ("authorization", "UNAUTHORIZED"),
            ("idempotency-key", "INVALID_QUERY"),
        ] {
            let twice = [host, (name, "localhost"), (name, "localhost")];
            assert_eq!(check(&Guard::default(), &twice), Err(code), "{name}");
        }
    }
}
