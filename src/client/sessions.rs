//! Sessions: conversations that move between agents.

use serde::Serialize;

use super::{Replied, Sessions};
use crate::api::{Count, SessionHandoffStarted};
use crate::domain::{ConversationHistory, Session, SessionHandoff};

/// A conversation that moves. Its history is sent as it is written, because it may hold characters that no text can hold.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionMoveInput {
    pub from_agent: String,
    pub to_agent: String,
    pub reason: String,
    pub user_intent: String,
    pub conversation_history: ConversationHistory,
    pub harness_trace_id: Option<String>,
    /// Whether Chorus runs the target; if not, the move is only recorded.
    pub invoke: bool,
}

impl Sessions<'_> {
    pub async fn list(&self, limit: u32, after: Option<&str>) -> Replied<Vec<Session>> {
        let query = (("limit", limit), ("after", after));
        self.0.fetch(&["sessions"], &query).await
    }

    pub async fn get(&self, id: &str) -> Replied<Session> {
        self.0.fetch(&["sessions", id], &()).await
    }

    pub async fn hand_off(
        &self,
        id: &str,
        input: &SessionMoveInput,
    ) -> Replied<SessionHandoffStarted> {
        self.0.post(&["sessions", id, "handoffs"], input).await
    }

    pub async fn handoffs(&self, id: &str, after: Option<&str>) -> Replied<Vec<SessionHandoff>> {
        let query = [("after", after)];
        self.0.fetch(&["sessions", id, "handoffs"], &query).await
    }

    /// Returns nothing for a session that never moved.
    pub async fn last_handoff(&self, id: &str) -> Replied<Option<SessionHandoff>> {
        let segments = ["sessions", id, "handoffs", "last"];
        self.0.fetch(&segments, &()).await
    }

    pub async fn count_handoffs(
        &self,
        id: &str,
        from: Option<&str>,
        to: Option<&str>,
    ) -> Replied<Count> {
        let query = [("from", from), ("to", to)];
        let segments = ["sessions", id, "handoffs", "count"];
        self.0.fetch(&segments, &query).await
    }
}
