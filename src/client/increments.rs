//! Increments.

use reqwest::Method;
use serde::Serialize;

use super::{Client, Replied};
use crate::api::IncrementInput;
use crate::domain::{Increment, IncrementState, IncrementTasks};

pub struct Increments<'a>(&'a Client);

impl Client {
    pub const fn increments(&self) -> Increments<'_> {
        Increments(self)
    }
}

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
        let request = self.0.at(Method::POST, &["increments", id, "retry"]);
        self.0.exchange(request).await
    }
}
