//! Events: the lines of a task's history.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{
    AgentName, AlertId, Correspondent, Filename, HandoffId, IncrementId, Kind, MailId, MailType,
    Merge, MessageId, MessageType, Outcome, Priority, ReportResult, RequestId, RequestState, Role,
    StatusName, TaskId, Text, Timestamp, ToolName, Transition,
};

/// A task's events, oldest first.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct History {
    /// The events.
    pub events: Vec<Event>,
}

impl History {
    /// Leaves out the numbers, which only mean something in the database that gave them.
    #[must_use]
    pub fn without_numbers(mut self) -> Self {
        for event in &mut self.events {
            event.number = None;
        }
        self
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an event")]
pub struct Event {
    /// When it happened.
    pub timestamp: Timestamp,
    /// What happened.
    pub event_type: EventType,
    /// The details.
    #[schema(value_type = std::collections::BTreeMap<String, String>)]
    pub data: BTreeMap<Cow<'static, str>, Text>,
    /// The hand-off that it is about; absent where it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub handoff_id: Option<HandoffId>,
    /// The request that it is about; absent where it is about none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub request_id: Option<RequestId>,
    /// Its place among all events; absent in an archive, where the place in the file counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub number: Option<i64>,
    /// The task that it is about; absent where the surroundings say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub task_id: Option<TaskId>,
    /// The first task of the chain that the task belongs to, or the task itself; absent where `taskId` is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub master_task_id: Option<TaskId>,
}

/// The name of what happened, such as `task_created`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, example = "task_created")]
pub struct EventType(Cow<'static, str>);

/// Says that an event has no type.
#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("must be a word without NUL characters")]
pub struct IllegalEventType;

impl EventType {
    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for EventType {
    type Error = IllegalEventType;

    fn try_from(word: String) -> Result<Self, Self::Error> {
        if word.is_empty() || word.contains('\0') {
            return Err(IllegalEventType);
        }
        Ok(Self(word.into()))
    }
}

/// What Chorus itself records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventKind {
    /// A task was made.
    TaskCreated {
        /// What is to be done.
        description: Text,
    },
    /// Somebody set the status.
    StatusChanged {
        /// What it was.
        from: StatusName,
        /// What it is.
        to: StatusName,
    },
    /// Somebody set planning fields.
    PlanningUpdated,
    /// Somebody set what a task needs.
    TaskUpdated {
        /// What was set.
        changed: Vec<&'static str>,
    },
    /// All that a task waited for has ended as it must.
    TaskReady {
        /// Who is to work on it.
        agent_role: Option<Role>,
    },
    /// Nobody suits a task.
    NoSuitableAgent {
        /// Who is missing.
        reason: Text,
    },
    /// A person must look at a task before it goes on.
    TaskBlocked {
        /// Why.
        reason: Text,
    },
    /// An agent said what came out of its work.
    Reported {
        /// Who.
        agent_name: AgentName,
        /// What came out.
        result: ReportResult,
        /// It in a sentence.
        summary: Text,
    },
    /// An increment was made.
    IncrementCreated {
        /// Which.
        id: IncrementId,
        /// What it is.
        title: Text,
    },
    /// An increment is mended and tested again.
    IncrementRound {
        /// Which.
        id: IncrementId,
        /// The round that begins.
        round: u32,
        /// The task that mends it.
        fix_task_id: TaskId,
    },
    /// An increment is verified.
    IncrementDone {
        /// Which.
        id: IncrementId,
    },
    /// A person must look at an increment before it goes on.
    IncrementBlocked {
        /// Which.
        id: IncrementId,
        /// Why.
        reason: Text,
    },
    /// A person has let an increment go on.
    IncrementResumed {
        /// Which.
        id: IncrementId,
    },
    /// An agent was asked.
    HandoffStarted {
        /// Which.
        agent_name: AgentName,
    },
    /// A hand-off ended.
    HandoffEnded {
        /// Who was asked.
        agent_name: AgentName,
        /// How it ended.
        outcome: Outcome,
        /// The final message, or what went wrong.
        output: Text,
    },
    /// An agent handed its task on; the work goes on in a child task.
    ChildTaskCreated {
        /// The child.
        task_id: TaskId,
        /// Who was asked.
        agent_name: AgentName,
    },
    /// Context came with a hand-off.
    ContextMerged(Merge),
    /// A hand-off tool was made, changed or deleted.
    Tool {
        /// Which.
        name: ToolName,
        /// What was done.
        change: ToolChange,
    },
    /// An agent was made, changed or deleted.
    Agent {
        /// Which.
        name: AgentName,
        /// What was done.
        event: AgentEvent,
    },
    /// A request was made.
    RequestCreated {
        /// What is to be done.
        title: Text,
        /// What kind of work it is.
        kind: Kind,
        /// How urgent it is.
        priority: Priority,
    },
    /// A request changed its state.
    RequestMoved(Transition),
    /// The command of an asynchronous route has started a job elsewhere.
    JobStarted {
        /// What the command calls it.
        job_id: Text,
    },
    /// What a file says of a request changed, and with it what is to be done.
    RequestEdited {
        /// What is to be done.
        title: Text,
    },
    /// The tag of a request was removed from its file.
    RequestWithdrawn {
        /// The file.
        file: Text,
    },
    /// The tag of a request is back.
    RequestRestored {
        /// The file.
        file: Text,
    },
    /// What a file says of a request does not count.
    RequestTagIgnored {
        /// The file.
        file: Text,
        /// What it says.
        state: RequestState,
        /// Why that does not count.
        reason: &'static str,
    },
    /// Somebody set who gets requests of which kind.
    RoutesChanged {
        /// The kinds that have a route.
        kinds: Vec<Kind>,
    },
    /// Something must be seen by a person.
    AlertRaised {
        /// Which alert.
        id: AlertId,
        /// What must be seen.
        message: Text,
        /// Who raised it.
        by: Text,
    },
    /// An alert was resolved.
    AlertResolved {
        /// Which alert.
        id: AlertId,
        /// Who resolved it.
        by: Text,
    },
    /// Somebody wrote to somebody.
    MailSent {
        /// Which mail.
        id: MailId,
        /// What it is about.
        mail_type: MailType,
        /// Who sent it.
        from: Correspondent,
        /// Who gets it.
        to: Vec<Correspondent>,
        /// What it says in one line.
        subject: Text,
    },
    /// A mail was put into the prompt of a hand-off.
    MailDelivered {
        /// Which mail.
        id: MailId,
        /// To whom.
        recipient: Correspondent,
        /// The hand-off.
        handoff_id: HandoffId,
    },
    /// A mail was read.
    MailRead {
        /// Which mail.
        id: MailId,
        /// By whom.
        recipient: Correspondent,
    },
    /// A mail was acknowledged.
    MailAcknowledged {
        /// Which mail.
        id: MailId,
        /// By whom.
        recipient: Correspondent,
    },
    /// A run's process was started.
    RunStarted {
        /// Who works.
        agent_name: AgentName,
    },
    /// An agent said or did something.
    MessageAdded {
        /// What kind of line it is.
        message_type: MessageType,
        /// What it says, or how it begins.
        content: Text,
    },
    /// A message came for whoever works next.
    MessageQueued {
        /// Which.
        message_id: MessageId,
    },
    /// A file came.
    AttachmentAdded {
        /// Its name.
        filename: Filename,
        /// How many bytes it has.
        size: u64,
    },
    /// A file went.
    AttachmentRemoved {
        /// Its name.
        filename: Filename,
    },
}

/// What was done to a tool.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ToolChange {
    /// It was made.
    Created,
    /// It was changed.
    Changed,
    /// It was deleted.
    Deleted,
}

/// What was done to an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentEvent {
    /// It was made.
    Created,
    /// These keys of it were changed.
    Changed(Vec<String>),
    /// It was deleted.
    Deleted,
}

impl EventKind {
    /// Returns the event's type and its details, all of them strings.
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
                    Text::try_from(value).expect("made of texts, names and numbers"),
                )
            })
            .collect();
        (EventType(Cow::Borrowed(event_type)), data)
    }
}

/// Names a change of a request's state by what it means.
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
