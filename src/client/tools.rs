//! Hand-off tools.

use reqwest::Method;

use super::{Input, Replied, Tools};
use crate::domain::Tool;

impl Tools<'_> {
    pub async fn create(&self, tool: &Input<Tool>) -> Replied<Tool> {
        self.0.post(&["tools"], tool).await
    }

    pub async fn list(&self) -> Replied<Vec<Tool>> {
        self.0.fetch(&["tools"], &()).await
    }

    pub async fn get(&self, name: &str) -> Replied<Tool> {
        self.0.fetch(&["tools", name], &()).await
    }

    /// Replaces the whole tool.
    pub async fn replace(&self, name: &str, tool: &Input<Tool>) -> Replied<Tool> {
        self.0.put(&["tools", name], tool).await
    }

    pub async fn delete(&self, name: &str) -> Replied<Tool> {
        self.0.call(Method::DELETE, &["tools", name]).await
    }
}
