//! The type and the data of each kind of event, as stored and sent.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::event::EventType;
use super::kind::{AgentEvent, EventKind, ToolChange};
use crate::domain::{Correspondent, Kind, MailId, Merge, Outcome, RequestState, Text, Transition};

impl EventKind {
    /// Returns the type of the event and its details, which are all strings.
    pub fn into_parts(self) -> (EventType, BTreeMap<Cow<'static, str>, Text>) {
        let (event_type, data): (&str, Vec<(&str, String)>) = match self {
            Self::TaskCreated { description } => (
                "task_created",
                vec![("description", description.into_string())],
            ),
            Self::StatusChanged { from, to } => (
                "status_changed",
                vec![("from", from.as_str().into()), ("to", to.as_str().into())],
            ),
            Self::PlanningUpdated => ("planning_updated", vec![]),
            Self::TaskUpdated { changed } => {
                ("task_updated", vec![("changed", changed.join(", "))])
            }
            Self::TaskReady { agent_role } => (
                "task_ready",
                agent_role
                    .map(|role| ("agentRole", role.to_string()))
                    .into_iter()
                    .collect(),
            ),
            Self::NoSuitableAgent { reason } => {
                ("no_suitable_agent", vec![("reason", reason.into_string())])
            }
            Self::TaskBlocked { reason } => {
                ("task_blocked", vec![("reason", reason.into_string())])
            }
            Self::Reported {
                agent_name,
                result,
                summary,
            } => (
                "report_given",
                vec![
                    ("agentName", agent_name.to_string()),
                    ("result", result.as_str().to_owned()),
                    ("summary", summary.into_string()),
                ],
            ),
            Self::IncrementCreated { id, title } => (
                "increment_created",
                vec![
                    ("incrementId", id.to_string()),
                    ("title", title.into_string()),
                ],
            ),
            Self::IncrementRound {
                id,
                round,
                fix_task_id,
            } => (
                "increment_round",
                vec![
                    ("incrementId", id.to_string()),
                    ("round", round.to_string()),
                    ("fixTaskId", fix_task_id.to_string()),
                ],
            ),
            Self::IncrementDone { id } => ("increment_done", vec![("incrementId", id.to_string())]),
            Self::IncrementBlocked { id, reason } => (
                "increment_blocked",
                vec![
                    ("incrementId", id.to_string()),
                    ("reason", reason.into_string()),
                ],
            ),
            Self::IncrementResumed { id } => {
                ("increment_resumed", vec![("incrementId", id.to_string())])
            }
            Self::HandoffStarted { agent_name } => (
                "agent_handoff_started",
                vec![("agentName", agent_name.to_string())],
            ),
            Self::HandoffEnded {
                agent_name,
                outcome: Outcome::Completed,
                output,
            } => (
                "agent_handoff_completed",
                vec![
                    ("agentName", agent_name.to_string()),
                    ("outputLength", output.characters().to_string()),
                ],
            ),
            Self::HandoffEnded {
                agent_name,
                outcome,
                output,
            } => (
                match outcome {
                    Outcome::Completed | Outcome::Failed => "agent_handoff_failed",
                    Outcome::Cancelled => "agent_handoff_cancelled",
                    Outcome::TimedOut => "agent_handoff_timed_out",
                    Outcome::Interrupted => "agent_handoff_interrupted",
                },
                vec![
                    ("agentName", agent_name.to_string()),
                    ("reason", output.into_string()),
                ],
            ),
            Self::AnswerMissed {
                agent_name,
                task_id,
                handoff_id,
            } => (
                "answer_missed",
                vec![
                    ("agentName", agent_name.to_string()),
                    ("taskId", task_id.to_string()),
                    ("handoffId", handoff_id.to_string()),
                ],
            ),
            Self::ChildTaskCreated {
                task_id,
                agent_name,
            } => (
                "child_task_created",
                vec![
                    ("taskId", task_id.to_string()),
                    ("agentName", agent_name.to_string()),
                ],
            ),
            Self::ContextMerged(Merge { added, replaced }) => (
                "context_merged",
                vec![
                    ("added", added.join(", ")),
                    ("replaced", replaced.join(", ")),
                ],
            ),
            Self::Tool { name, change } => (
                match change {
                    ToolChange::Created => "tool_created",
                    ToolChange::Changed => "tool_changed",
                    ToolChange::Deleted => "tool_deleted",
                },
                vec![("name", name.to_string())],
            ),
            Self::Agent { name, event } => {
                let name = ("name", name.to_string());
                match event {
                    AgentEvent::Created => ("agent_created", vec![name]),
                    AgentEvent::Changed(keys) => {
                        ("agent_changed", vec![name, ("changed", keys.join(", "))])
                    }
                    AgentEvent::Deleted => ("agent_deleted", vec![name]),
                }
            }
            Self::RequestCreated {
                title,
                kind,
                priority,
            } => (
                "request_created",
                vec![
                    ("title", title.into_string()),
                    ("kind", kind.to_string()),
                    ("priority", priority.as_str().to_owned()),
                ],
            ),
            Self::RequestMoved(moved) => request_moved(moved),
            Self::JobStarted { job_id } => {
                ("request_job_started", vec![("jobId", job_id.into_string())])
            }
            Self::RequestEdited { title } => {
                ("request_edited", vec![("title", title.into_string())])
            }
            Self::RequestWithdrawn { file } => {
                ("request_withdrawn", vec![("file", file.into_string())])
            }
            Self::RequestRestored { file } => {
                ("request_restored", vec![("file", file.into_string())])
            }
            Self::RequestTagIgnored {
                file,
                state,
                reason,
            } => (
                "request_tag_ignored",
                vec![
                    ("file", file.into_string()),
                    ("state", state.as_str().to_owned()),
                    ("reason", reason.to_owned()),
                ],
            ),
            Self::RequestEnding { file } => ("request_ending", vec![("file", file.into_string())]),
            Self::RequestTagLate { file } => {
                ("request_tag_late", vec![("file", file.into_string())])
            }
            Self::RoutesChanged { kinds } => {
                let kinds: Vec<_> = kinds.iter().map(Kind::as_str).collect();
                ("dispatch_routes_changed", vec![("kinds", kinds.join(", "))])
            }
            Self::AlertRaised { id, message, by } => (
                "alert_raised",
                vec![
                    ("alertId", id.to_string()),
                    ("message", message.into_string()),
                    ("by", by.into_string()),
                ],
            ),
            Self::AlertResolved { id, by } => (
                "alert_resolved",
                vec![("alertId", id.to_string()), ("by", by.into_string())],
            ),
            Self::MailSent {
                id,
                mail_type,
                from,
                to,
                subject,
            } => {
                let to: Vec<_> = to.iter().map(Correspondent::as_str).collect();
                (
                    "mail_sent",
                    vec![
                        ("mailId", id.to_string()),
                        ("type", mail_type.as_str().to_owned()),
                        ("from", from.to_string()),
                        ("to", to.join(", ")),
                        ("subject", subject.into_string()),
                    ],
                )
            }
            Self::MailDelivered {
                id,
                recipient,
                handoff_id,
            } => {
                let mut data = of_mail(&id, &recipient);
                data.push(("handoffId", handoff_id.to_string()));
                ("mail_delivered", data)
            }
            Self::MailRead { id, recipient } => ("mail_read", of_mail(&id, &recipient)),
            Self::MailAcknowledged { id, recipient } => {
                ("mail_acknowledged", of_mail(&id, &recipient))
            }
            Self::RunStarted { agent_name } => {
                ("run_started", vec![("agentName", agent_name.to_string())])
            }
            Self::RunRequeued { agent_name, reason } => (
                "run_requeued",
                vec![
                    ("agentName", agent_name.to_string()),
                    ("reason", reason.into_string()),
                ],
            ),
            Self::ProcessesLeft { run_id, count } => (
                "processes_left",
                vec![("runId", run_id.to_string()), ("count", count.to_string())],
            ),
            Self::MessageAdded {
                message_type,
                content,
            } => (
                "message_added",
                vec![
                    ("type", message_type.as_str().to_owned()),
                    ("content", content.into_string()),
                ],
            ),
            Self::MessageQueued { message_id } => (
                "message_queued",
                vec![("messageId", message_id.to_string())],
            ),
            Self::MessageDelivered {
                message_id,
                handoff_id,
            } => (
                "message_delivered",
                vec![
                    ("messageId", message_id.to_string()),
                    ("handoffId", handoff_id.to_string()),
                ],
            ),
            Self::MessageReturned { message_id } => (
                "message_returned",
                vec![("messageId", message_id.to_string())],
            ),
            Self::MessageTakenBack { message_id } => (
                "message_taken_back",
                vec![("messageId", message_id.to_string())],
            ),
            Self::MessageMoved {
                message_id,
                task_id,
            } => (
                "message_moved",
                vec![
                    ("messageId", message_id.to_string()),
                    ("taskId", task_id.to_string()),
                ],
            ),
            Self::AttachmentAdded { filename, size } => (
                "attachment_added",
                vec![
                    ("filename", filename.to_string()),
                    ("size", size.to_string()),
                ],
            ),
            Self::AttachmentRemoved { filename } => (
                "attachment_removed",
                vec![("filename", filename.to_string())],
            ),
        };
        let data = data
            .into_iter()
            .map(|(key, value)| {
                (
                    Cow::Borrowed(key),
                    Text::try_from(value).expect("texts, names and numbers have no NUL"),
                )
            })
            .collect();
        (EventType(Cow::Borrowed(event_type)), data)
    }
}

/// Derives the event type from the transition.
fn request_moved(moved: Transition) -> (&'static str, Vec<(&'static str, String)>) {
    let event_type = match (moved.from, moved.to) {
        (Some(RequestState::Claimed), RequestState::Delegated) | (_, RequestState::Needs) => {
            "request_requeued"
        }
        (_, RequestState::Delegated) => "request_approved",
        (_, RequestState::Next) => "request_next",
        (_, RequestState::Claimed) => "request_claimed",
        (_, RequestState::Done) => "request_done",
    };
    let mut data = vec![
        ("to", moved.to.as_str().to_owned()),
        ("by", moved.by.into_string()),
    ];
    data.extend(moved.from.map(|from| ("from", from.as_str().to_owned())));
    data.extend(moved.reason.map(|reason| ("reason", reason.into_string())));
    (event_type, data)
}

fn of_mail(id: &MailId, recipient: &Correspondent) -> Vec<(&'static str, String)> {
    vec![
        ("mailId", id.to_string()),
        ("recipient", recipient.to_string()),
    ]
}
