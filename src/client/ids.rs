//! Ids by their beginning.

use serde::Serialize;

use super::{Ids, Replied};
use crate::domain::{FoundId, Noun};

#[derive(Debug, Serialize)]
pub struct IdList<'a> {
    pub noun: Noun,
    pub prefix: &'a str,
    pub limit: u32,
}

impl Ids<'_> {
    pub async fn list(&self, list: &IdList<'_>) -> Replied<Vec<FoundId>> {
        self.0.fetch(&["ids"], list).await
    }
}
