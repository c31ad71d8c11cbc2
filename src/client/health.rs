//! The health of the server.

use reqwest::Method;
use serde_json::Value;

use super::{Client, Replied};

impl Client {
    /// Checks that the server can write to its database.
    pub async fn ready(&self) -> Replied<Value> {
        self.exchange(self.request(Method::GET, "/readyz")).await
    }
}
