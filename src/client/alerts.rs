//! Alerts.

use reqwest::Method;
use serde::Serialize;

use super::{Alerts, Replied};
use crate::api::AlertInput;
use crate::domain::Alert;

/// Filters of the list of alerts.
#[derive(Debug, Default, Serialize)]
pub struct AlertList {
    /// Lists resolved alerts, too.
    pub resolved: bool,
    pub limit: Option<u32>,
    pub after: Option<String>,
}

impl Alerts<'_> {
    pub async fn create(&self, input: &AlertInput) -> Replied<Alert> {
        self.0.post(&["alerts"], input).await
    }

    pub async fn list(&self, list: &AlertList) -> Replied<Vec<Alert>> {
        self.0.fetch(&["alerts"], list).await
    }

    pub async fn resolve(&self, id: &str) -> Replied<Alert> {
        self.0.call(Method::POST, &["alerts", id, "resolve"]).await
    }
}
