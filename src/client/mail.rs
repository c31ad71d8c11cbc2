//! Mail.

use serde::Serialize;

use super::{Mailbox, Replied};
use crate::api::{MailInput, MarkInput};
use crate::domain::Mail;

/// Filters of the list of mail.
#[derive(Debug, Default, Serialize)]
pub struct MailList {
    pub to: Option<String>,
    pub thread: Option<String>,
    /// Lists mail that is unread or not acknowledged.
    pub pending: bool,
    pub overdue: bool,
    #[serde(rename = "q")]
    pub words: Option<String>,
    pub limit: Option<u32>,
    pub after: Option<String>,
}

impl Mailbox<'_> {
    pub async fn send(&self, input: &MailInput) -> Replied<Mail> {
        self.0.post(&["mail"], input).await
    }

    pub async fn list(&self, list: &MailList) -> Replied<Vec<Mail>> {
        self.0.fetch(&["mail"], list).await
    }

    pub async fn get(&self, id: &str) -> Replied<Mail> {
        self.0.fetch(&["mail", id], &()).await
    }

    pub async fn acknowledge(&self, id: &str, input: &MarkInput) -> Replied<Mail> {
        self.0.post(&["mail", id, "ack"], input).await
    }

    pub async fn mark_read(&self, id: &str, input: &MarkInput) -> Replied<Mail> {
        self.0.post(&["mail", id, "read"], input).await
    }
}
