//! Increments.

use reqwest::Method;
use serde::Serialize;

use super::{Increments, Replied};
use crate::api::IncrementInput;
use crate::domain::{Increment, IncrementState, IncrementTasks};

/// Filters of the list of increments.
#[derive(Debug, Default, Serialize)]
pub struct IncrementList {
    pub state: Option<IncrementState>,
    pub limit: Option<u32>,
    pub after: Option<String>,
}

impl Increments<'_> {
    pub async fn create(&self, input: &IncrementInput) -> Replied<IncrementTasks> {
        self.0.post(&["increments"], input).await
    }

    pub async fn list(&self, list: &IncrementList) -> Replied<Vec<Increment>> {
        self.0.fetch(&["increments"], list).await
    }

    pub async fn get(&self, id: &str) -> Replied<IncrementTasks> {
        self.0.fetch(&["increments", id], &()).await
    }

    pub async fn retry(&self, id: &str) -> Replied<IncrementTasks> {
        self.0
            .call(Method::POST, &["increments", id, "retry"])
            .await
    }
}
