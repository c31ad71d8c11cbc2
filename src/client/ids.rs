//! Ids by their beginning or end.

use serde::Serialize;

use super::{Ids, Replied};
use crate::domain::{FoundId, Noun};

#[derive(Debug, Serialize)]
pub struct IdList<'a> {
    pub noun: Noun,
    /// The beginning.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prefix: Option<&'a str>,
    /// The beginning; if no id begins with it, the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<&'a str>,
    pub limit: u32,
}

impl Ids<'_> {
    pub async fn list(&self, list: &IdList<'_>) -> Replied<Vec<FoundId>> {
        self.0.fetch(&["ids"], list).await
    }
}
