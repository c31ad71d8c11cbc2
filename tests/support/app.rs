//! The API without a network: the router on a database file, with a clock that the test advances.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode, header};
use axum::response::Response;
use chorus::api::{Guard, Places, router};
use chorus::clock::Clock;
use chorus::config::{DataDir, Limits};
use chorus::domain::{Event, Timestamp};
use chorus::engine::{Engine, EngineOptions};
use chorus::ledger::run::{self, ClaimRun, ClaimedRun};
use chorus::ledger::{Tx, View, agent, history};
use chorus::peer::{Origin, Peer, Peers};
use chorus::runner::token_hash;
use chorus::secret::Token;
use chorus::store::{Database, DatabaseOptions, DatabaseUrl};
use chorus::web::Assets;
use http_body_util::BodyExt;
use serde_json::Value;
use tempfile::TempDir;
use tower::ServiceExt;

use super::invariants;

/// The time at which the clock starts: 2026-01-01, midnight UTC.
pub const START_TIME: Timestamp = Timestamp::from_millis(1_767_225_600_000);

pub const OPERATOR_TOKEN: &str = "the-token-of-the-operator";

/// An installation in a temporary folder, with the five default agents.
pub struct TestApp {
    pub engine: Engine,
    pub db: Database,
    pub clock: Clock,
    pub router: Router,
    pub data_dir: DataDir,
    _folder: TempDir,
}

#[derive(Debug)]
pub struct Reply {
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

impl Reply {
    async fn read(response: Response) -> Self {
        let (parts, body) = response.into_parts();
        let body = body.collect().await.unwrap().to_bytes().to_vec();
        Self {
            status: parts.status,
            headers: parts.headers,
            body,
        }
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&self.body)))
    }

    /// Returns `data` of a successful answer.
    pub fn data(&self) -> Value {
        assert!(self.status.is_success(), "{}: {}", self.status, self.json());
        self.json()["data"].clone()
    }

    /// Returns the status and the code of an error.
    pub fn error(&self) -> (u16, String) {
        let json = self.json();
        (
            self.status.as_u16(),
            json["error"]["code"]
                .as_str()
                .expect("the error has no code")
                .to_owned(),
        )
    }
}

/// The one place that chooses the database engine of all tests.
fn database_url(data_dir: &DataDir) -> DatabaseUrl {
    let url = format!("sqlite:{}", data_dir.database().display());
    url.parse().unwrap()
}

/// Marks a request as a call of the server's own user, unless it names another peer.
fn from_own_user(mut request: Request<Body>) -> Request<Body> {
    let own_user = || Peer::known(Origin::OwnUser);
    request.extensions_mut().get_or_insert_with(own_user);
    request
}

impl TestApp {
    pub async fn new() -> Self {
        Self::with_limits(Limits::default()).await
    }

    pub async fn with_limits(limits: Limits) -> Self {
        Self::with_database(limits, |database| database).await
    }

    /// Without agents, as before the first start of a server.
    pub async fn unseeded() -> Self {
        Self::open(Limits::default(), |database| database).await
    }

    /// With a wrapper around the database.
    pub async fn with_database(limits: Limits, wrap: impl FnOnce(Database) -> Database) -> Self {
        let app = Self::open(limits, wrap).await;
        app.write(|tx| agent::seed(tx, &chorus::engine::default_agents()))
            .await
            .unwrap();
        app
    }

    async fn open(limits: Limits, wrap: impl FnOnce(Database) -> Database) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let clock = Clock::standing_at(START_TIME);
        let data_dir = DataDir::prepare(folder.path()).unwrap();
        let options = DatabaseOptions {
            url: database_url(&data_dir),
            clock: clock.clone(),
            max_batch: 64,
            rules: limits.rules(),
        };
        let db = wrap(Database::open(options).await.unwrap());
        let options = EngineOptions {
            data_dir: data_dir.clone(),
            clock: clock.clone(),
            limits,
            workspace_root: None,
        };
        let engine = Engine::new(db.clone(), options);
        let guard = Guard {
            operator: Some(Token::given(OPERATOR_TOKEN.to_owned())),
            peers: Some(Arc::new(Peers::new(data_dir.runs()))),
            ..Guard::default()
        };
        let router = router(engine.clone(), guard, &Assets::Embedded);
        Self {
            engine,
            db,
            clock,
            router,
            data_dir,
            _folder: folder,
        }
    }

    pub async fn read<T: Send + 'static>(
        &self,
        run: impl FnMut(&View<'_>) -> chorus::ledger::Result<T> + Send + 'static,
    ) -> T {
        self.engine.read(run).await.unwrap()
    }

    pub async fn write<T: Send + 'static>(
        &self,
        run: impl FnMut(&mut Tx<'_>) -> chorus::ledger::Result<T> + Send + 'static,
    ) -> chorus::ledger::Result<T> {
        self.db.write(run).await
    }

    pub fn assert_invariants(&self) {
        invariants::assert_hold(&self.data_dir.database());
    }

    pub async fn events(&self) -> Vec<Event> {
        self.events_after(0).await
    }

    /// Lists the events after a number.
    pub async fn events_after(&self, number: i64) -> Vec<Event> {
        self.read(move |view| history::after(view, number, 10_000, usize::MAX))
            .await
    }

    /// Returns the number of the newest event.
    pub async fn last_event(&self) -> i64 {
        self.read(history::last_number).await
    }

    /// Also listens on a port until the test ends. Returns the address.
    pub async fn listen(&self) -> String {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let stopping = self.engine.stopping().clone();
        let places = Places::new(1000);
        tokio::spawn(chorus::api::serve(
            listener,
            None,
            self.router.clone(),
            stopping,
            places,
        ));
        url
    }

    /// Sends a request from a process of the server's own user, unless the request names another peer.
    pub async fn respond(&self, request: Request<Body>) -> Response {
        self.router
            .clone()
            .oneshot(from_own_user(request))
            .await
            .unwrap()
    }

    pub async fn send(&self, request: Request<Body>) -> Reply {
        Reply::read(self.respond(request).await).await
    }

    pub async fn request(&self, method: Method, path: &str, body: impl Into<Body>) -> Reply {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost");
        self.send(request.body(body.into()).unwrap()).await
    }

    pub async fn get(&self, path: &str) -> Reply {
        self.request(Method::GET, path, Body::empty()).await
    }

    /// Sends a GET request while the test continues.
    pub fn get_in_background(&self, path: &str) -> tokio::task::JoinHandle<Reply> {
        let request = Request::builder()
            .uri(path)
            .header(header::HOST, "localhost")
            .body(Body::empty())
            .unwrap();
        self.send_in_background(request)
    }

    /// Sends a request while the test continues.
    pub fn send_in_background(&self, request: Request<Body>) -> tokio::task::JoinHandle<Reply> {
        let answer = self.router.clone().oneshot(from_own_user(request));
        tokio::spawn(async move { Reply::read(answer.await.unwrap()).await })
    }

    pub async fn post(&self, path: &str, body: Value) -> Reply {
        self.request(Method::POST, path, body.to_string()).await
    }

    pub async fn put(&self, path: &str, body: Value) -> Reply {
        self.request(Method::PUT, path, body.to_string()).await
    }

    pub async fn patch(&self, path: &str, body: Value) -> Reply {
        self.request(Method::PATCH, path, body.to_string()).await
    }

    /// Sends JSON with a bearer token.
    pub async fn with_token(&self, token: &str, method: Method, path: &str, body: Value) -> Reply {
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, "localhost")
            .header(header::AUTHORIZATION, format!("Bearer {token}"));
        self.send(request.body(body.to_string().into()).unwrap())
            .await
    }

    /// Sends the requests that only the operator may send.
    pub const fn operator(&self) -> OperatorApp<'_> {
        OperatorApp(self)
    }

    /// Hands a task to an agent and claims its run, which then has this token.
    pub async fn start_run(&self, task: &str, agent: &str, token: &str) {
        let body = serde_json::json!({ "agentName": agent, "prompt": "Do it" });
        self.post(&format!("/api/tasks/{task}/handoff"), body)
            .await
            .data();
        self.claim_run(token).await;
    }

    /// Claims the next run, as the scheduler does, and gives it a token.
    pub async fn claim_run(&self, token: &str) -> ClaimedRun {
        let claim = ClaimRun {
            max_runs: 100,
            installation: String::new(),
            live: Vec::new(),
            token_hash: token_hash(token),
            isolation: chorus::domain::Isolation::Unmasked,
            tag_wait: None,
        };
        let claimed = self.write(move |tx| run::claim(tx, &claim)).await;
        claimed.unwrap().expect("no run is queued")
    }

    /// Creates a task and returns its id.
    pub async fn task(&self, description: &str) -> String {
        let task = self
            .post(
                "/api/tasks",
                serde_json::json!({ "description": description }),
            )
            .await
            .data();
        task["id"].as_str().unwrap().to_owned()
    }
}

/// The API with the operator's token.
#[derive(Clone, Copy)]
pub struct OperatorApp<'a>(&'a TestApp);

impl OperatorApp<'_> {
    pub async fn send(self, method: Method, path: &str, body: Value) -> Reply {
        self.0.with_token(OPERATOR_TOKEN, method, path, body).await
    }

    pub async fn get(self, path: &str) -> Reply {
        self.send(Method::GET, path, Value::Null).await
    }

    pub async fn post(self, path: &str, body: Value) -> Reply {
        self.send(Method::POST, path, body).await
    }

    pub async fn put(self, path: &str, body: Value) -> Reply {
        self.send(Method::PUT, path, body).await
    }

    pub async fn patch(self, path: &str, body: Value) -> Reply {
        self.send(Method::PATCH, path, body).await
    }

    pub async fn delete(self, path: &str) -> Reply {
        self.send(Method::DELETE, path, Value::Null).await
    }
}
