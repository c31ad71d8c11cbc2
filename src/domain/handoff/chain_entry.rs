//! Entries of a task's agent chain.

use serde::ser::SerializeStruct;
use serde::{Deserialize, Serialize, Serializer};
use utoipa::ToSchema;

use super::door::Door;
use super::id::HandoffId;
use super::outcome::Outcome;
use super::report::Report;
use super::trace::TraceId;
use crate::domain::{AgentName, ConversationHistory, Text, Timestamp};

/// The end of a hand-off.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandoffEnd {
    pub at: Timestamp,
    pub outcome: Outcome,
    /// The final message or the error.
    pub output: Text,
}

/// The request behind a hand-off.
#[derive(Debug, Clone, PartialEq)]
pub struct HandoffRequest {
    /// The prompt as the caller wrote it.
    pub prompt: Text,
    pub reason: Option<Text>,
    /// The hand-off whose agent handed off.
    pub from_handoff_id: Option<HandoffId>,
    /// `None` if the hand-off starts its own trace.
    pub trace_id: Option<TraceId>,
    /// The conversation, for a hand-off of a session.
    pub moved: Option<MovedConversation>,
    pub report: Option<Report>,
}

/// The conversation that moved with a hand-off of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MovedConversation {
    pub history: ConversationHistory,
    /// The trace id of the harness that leads the conversation.
    pub harness_trace_id: Option<Text>,
    /// Whether Chorus runs the agent.
    pub is_invoked: bool,
    /// Whether the previous agent still had control; `None` in archives of earlier versions.
    pub takes_control: Option<bool>,
}

/// A hand-off in a task's agent chain.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(try_from = "ChainEntryWire")]
pub struct ChainEntry {
    pub id: HandoffId,
    pub agent_name: AgentName,
    pub from_agent: Option<AgentName>,
    pub mode: Door,
    pub started_at: Timestamp,
    /// `None` while the hand-off is open.
    pub end: Option<HandoffEnd>,
    /// Present in archives only.
    pub request: Option<HandoffRequest>,
}

impl ChainEntry {
    pub const fn is_open(&self) -> bool {
        self.end.is_none()
    }

    fn wire_end(
        end: Option<&HandoffEnd>,
    ) -> (Option<Timestamp>, &str, Option<Outcome>, Option<&Text>) {
        match end {
            None => (None, "", None, None),
            Some(HandoffEnd {
                at,
                outcome,
                output,
            }) => {
                let error = (*outcome != Outcome::Completed).then_some(output);
                (Some(*at), output.as_str(), Some(*outcome), error)
            }
        }
    }
}

impl Serialize for ChainEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (completed_at, output, outcome, error) = Self::wire_end(self.end.as_ref());
        let mut entry = serializer.serialize_struct("ChainEntry", 17)?;
        entry.serialize_field("agentName", &self.agent_name)?;
        entry.serialize_field("startedAt", &self.started_at)?;
        entry.serialize_field("completedAt", &completed_at)?;
        entry.serialize_field("output", output)?;
        entry.serialize_field("id", &self.id)?;
        entry.serialize_field("fromAgent", &self.from_agent)?;
        entry.serialize_field("mode", &self.mode)?;
        entry.serialize_field("outcome", &outcome)?;
        entry.serialize_field("error", &error)?;
        if let Some(HandoffRequest {
            prompt,
            reason,
            from_handoff_id,
            trace_id,
            moved,
            report,
        }) = &self.request
        {
            entry.serialize_field("reason", reason)?;
            entry.serialize_field("prompt", prompt)?;
            entry.serialize_field("fromHandoffId", from_handoff_id)?;
            entry.serialize_field("traceId", trace_id)?;
            if let Some(MovedConversation {
                history,
                harness_trace_id,
                is_invoked,
                takes_control,
            }) = moved
            {
                entry.serialize_field("conversationHistory", history)?;
                entry.serialize_field("harnessTraceId", harness_trace_id)?;
                entry.serialize_field("invoked", is_invoked)?;
                if let Some(takes_control) = takes_control {
                    entry.serialize_field("takesControl", takes_control)?;
                }
            }
            if let Some(report) = report {
                entry.serialize_field("report", report)?;
            }
        }
        entry.end()
    }
}

/// A hand-off in a task's agent chain.
#[derive(Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an entry of an agent chain")]
#[schema(as = ChainEntry)]
pub(crate) struct ChainEntryWire {
    /// The agent that works, or worked.
    agent_name: AgentName,
    /// The start time.
    started_at: Timestamp,
    /// The end time; null while the hand-off is open.
    #[schema(required)]
    completed_at: Option<Timestamp>,
    /// The final message or the error; empty while the hand-off is open.
    output: Text,
    /// The id of the hand-off.
    #[serde(default = "HandoffId::new")]
    #[schema(required)]
    id: HandoffId,
    /// The agent that handed off, or the agent whose work a routed hand-off continues; null if there is none.
    #[schema(required)]
    from_agent: Option<AgentName>,
    /// The way in which the hand-off was started.
    #[serde(default)]
    #[schema(required)]
    mode: Door,
    /// The outcome.
    #[schema(required)]
    outcome: Option<Outcome>,
    /// The error.
    #[schema(required)]
    #[expect(dead_code, reason = "an accepted key that repeats `output`")]
    error: Option<Text>,
    // Archives only; the API has these in the hand-off itself.
    #[schema(ignore)]
    reason: Option<Text>,
    #[schema(ignore)]
    prompt: Option<Text>,
    #[schema(ignore)]
    from_handoff_id: Option<HandoffId>,
    #[schema(ignore)]
    trace_id: Option<TraceId>,
    #[schema(ignore)]
    conversation_history: Option<ConversationHistory>,
    #[schema(ignore)]
    harness_trace_id: Option<Text>,
    #[schema(ignore)]
    invoked: Option<bool>,
    #[schema(ignore)]
    takes_control: Option<bool>,
    #[schema(ignore)]
    report: Option<Report>,
}

#[derive(Debug, thiserror::Error)]
pub enum ContradictoryEntry {
    #[error("a hand-off without `completedAt` is open and must not have `outcome` or `output`")]
    EndWithoutTime,
    #[error("`reason` requires a `prompt`")]
    ReasonWithoutPrompt,
}

impl TryFrom<ChainEntryWire> for ChainEntry {
    type Error = ContradictoryEntry;

    fn try_from(wire: ChainEntryWire) -> Result<Self, Self::Error> {
        let end = match (wire.completed_at, wire.outcome) {
            (Some(at), outcome) => Some(HandoffEnd {
                at,
                outcome: outcome.unwrap_or(Outcome::Completed),
                output: wire.output,
            }),
            (None, None) if wire.output.as_str().is_empty() => None,
            (None, _) => return Err(ContradictoryEntry::EndWithoutTime),
        };
        let (harness_trace_id, invoked) = (wire.harness_trace_id, wire.invoked);
        let takes_control = wire.takes_control;
        let moved = wire.conversation_history.map(|history| MovedConversation {
            history,
            harness_trace_id,
            is_invoked: invoked.unwrap_or(true),
            takes_control,
        });
        let request = match (wire.prompt, wire.reason) {
            (Some(prompt), reason) => Some(HandoffRequest {
                prompt,
                reason,
                from_handoff_id: wire.from_handoff_id,
                trace_id: wire.trace_id,
                moved,
                report: wire.report,
            }),
            (None, None) => None,
            (None, Some(_)) => return Err(ContradictoryEntry::ReasonWithoutPrompt),
        };
        Ok(Self {
            id: wire.id,
            agent_name: wire.agent_name,
            from_agent: wire.from_agent,
            mode: wire.mode,
            started_at: wire.started_at,
            end,
            request,
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::text;

    /// Generates chain entries of every shape on the wire.
    pub fn any_entry() -> impl Strategy<Value = ChainEntry> {
        let end = (0..i64::MAX, 0..5_usize, text::any_text());
        let end = end.prop_map(|(at, outcome, output)| HandoffEnd {
            at: Timestamp::from_millis(at),
            outcome: Outcome::ALL[outcome],
            output,
        });
        let request = (text::any_text(), proptest::option::of(text::any_text())).prop_map(
            |(prompt, reason)| HandoffRequest {
                prompt,
                reason,
                from_handoff_id: Some(HandoffId::new()),
                trace_id: None,
                moved: None,
                report: None,
            },
        );
        let name =
            || "[A-Za-z0-9_-][A-Za-z0-9._-]{0,20}".prop_map(|name| AgentName::parse(name).unwrap());
        (
            name(),
            proptest::option::of(name()),
            0..i64::MAX,
            proptest::option::of(end),
            proptest::option::of(request),
        )
            .prop_map(
                |(agent_name, from_agent, started_at, end, request)| ChainEntry {
                    id: HandoffId::new(),
                    agent_name,
                    from_agent,
                    mode: Door::Delegate,
                    started_at: Timestamp::from_millis(started_at),
                    end,
                    request,
                },
            )
    }

    proptest! {
        #[test]
        fn an_entry_survives_the_wire(entry in any_entry()) {
            let json = serde_json::to_string(&entry).unwrap();
            prop_assert_eq!(serde_json::from_str::<ChainEntry>(&json).unwrap(), entry);
        }
    }

    #[test]
    fn the_four_documented_keys_are_enough() {
        let entry: ChainEntry = serde_json::from_str(
            r#"{"agentName": "qa", "startedAt": 1, "completedAt": 2, "output": "fine"}"#,
        )
        .unwrap();
        let end = entry.end.unwrap();
        assert_eq!(
            (end.at.as_millis(), end.outcome, end.output.as_str()),
            (2, Outcome::Completed, "fine")
        );
    }

    #[test]
    fn an_open_entry_has_no_end() {
        for json in [
            r#"{"agentName": "qa", "startedAt": 1, "completedAt": null, "output": "fine"}"#,
            r#"{"agentName": "qa", "startedAt": 1, "completedAt": null, "output": "", "outcome": "failed"}"#,
        ] {
            assert!(serde_json::from_str::<ChainEntry>(json).is_err(), "{json}");
        }
    }
}
