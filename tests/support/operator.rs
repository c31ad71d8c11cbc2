//! The operator: creates requests, approves them and waits for them.

use chorus::client::{Client, ClientError};
use chorus::domain::{Request, RequestState};
use reqwest::Method;
use serde_json::{Value, json};

use super::Server;

/// How long a test waits for a request, in seconds, before it fails instead of hanging.
const TIMEOUT: &str = "60";

/// A client with the operator's token.
pub struct Operator {
    pub client: Client,
}

impl Operator {
    pub fn of(server: &Server) -> Self {
        Self {
            client: server.operator(),
        }
    }

    pub async fn set_kind_rules(&self, rules: &Value) {
        let set = self
            .client
            .send_json(Method::PUT, "/api/dispatch/routes", rules)
            .await;
        set.unwrap();
    }

    pub async fn create_request(&self, kind: &str, title: &str, priority: &str) -> Request {
        let body = json!({ "title": title, "body": "Please.", "kind": kind, "priority": priority });
        let created = self
            .client
            .send_json(Method::POST, "/api/requests", &body)
            .await;
        created.unwrap().data().unwrap()
    }

    /// Approves requests in one call.
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

    pub async fn create_approved(&self, kind: &str, title: &str) -> Request {
        let request = self.create_request(kind, title, "P2").await;
        self.approve(&[&request]).await;
        request
    }

    /// Posts to `/api/requests/ID/ACTION`.
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

    pub async fn get_request(&self, request: &Request) -> Request {
        let path = format!("/api/requests/{}", request.id);
        self.client.get(&path, &[]).await.unwrap().data().unwrap()
    }

    pub async fn wait_for_state(&self, request: &Request, state: RequestState) -> Request {
        let path = format!("/api/requests/{}", request.id);
        let query = [
            ("wait", TIMEOUT.to_owned()),
            ("state", state.as_str().to_owned()),
        ];
        let found = self.client.get(&path, &query).await.unwrap();
        let found: Request = found.data().unwrap();
        assert_eq!(found.state, state, "{found:?}");
        found
    }
}
