//! The operator, who leaves requests, approves them and waits for them.

use chorus::client::{Client, ClientError};
use chorus::domain::{Request, RequestState};
use chorus::secret::Token;
use reqwest::Method;
use serde_json::{Value, json};

use super::Server;

/// How long a test waits for a request, in seconds, before it fails instead of hanging.
const PATIENCE: &str = "60";

/// The operator of a server.
pub struct Desk {
    pub client: Client,
}

impl Desk {
    /// Takes the operator's token from the data directory of a server.
    pub fn at(server: &Server) -> Self {
        let token = std::fs::read_to_string(server.data_dir.join("operator.token")).unwrap();
        let token = Token::given(token.trim().to_owned());
        Self {
            client: Client::new(&server.url, Some(token)).unwrap(),
        }
    }

    /// Sets who gets requests of which kind.
    pub async fn route(&self, routes: &Value) {
        let set = self
            .client
            .send_json(Method::PUT, "/api/dispatch/routes", routes)
            .await;
        set.unwrap();
    }

    /// Leaves a request.
    pub async fn leave(&self, kind: &str, title: &str, priority: &str) -> Request {
        let body = json!({ "title": title, "body": "Please.", "kind": kind, "priority": priority });
        let made = self
            .client
            .send_json(Method::POST, "/api/requests", &body)
            .await;
        made.unwrap().data().unwrap()
    }

    /// Approves requests together.
    pub async fn approve(&self, requests: &[&Request]) {
        let ids: Vec<_> = requests.iter().map(|request| &request.id).collect();
        let approved = self
            .client
            .send_json(
                Method::POST,
                "/api/requests/approve",
                &json!({ "ids": ids }),
            )
            .await;
        approved.unwrap();
    }

    /// Leaves a request and approves it.
    pub async fn delegate(&self, kind: &str, title: &str) -> Request {
        let request = self.leave(kind, title, "P2").await;
        self.approve(&[&request]).await;
        request
    }

    /// Does something with a request.
    pub async fn post(
        &self,
        request: &Request,
        action: &str,
        body: &Value,
    ) -> Result<Request, ClientError> {
        let path = format!("/api/requests/{}/{action}", request.id);
        self.client
            .send_json(Method::POST, &path, body)
            .await?
            .data()
    }

    /// Reads a request.
    pub async fn look(&self, request: &Request) -> Request {
        let path = format!("/api/requests/{}", request.id);
        self.client.get(&path, &[]).await.unwrap().data().unwrap()
    }

    /// Waits until a request has come to a state.
    pub async fn until(&self, request: &Request, state: RequestState) -> Request {
        let path = format!("/api/requests/{}", request.id);
        let query = [
            ("wait", PATIENCE.to_owned()),
            ("state", state.as_str().to_owned()),
        ];
        let found = self.client.get(&path, &query).await.unwrap();
        let found: Request = found.data().unwrap();
        assert_eq!(found.state, state, "{found:?}");
        found
    }
}
