//! Requests: work left for later.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::kind::Kind;
use super::state::RequestState;
use super::weight::{Effort, Priority};
use crate::domain::text::id;
use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{AgentName, HandoffId, RunId, TaskId, Text, Timestamp};

id::id! {
    /// The id of a request.
    RequestId
}

wire_enum! {
    /// The kind of source of a request.
    #[derive(Default)]
    pub enum RequestSourceType {
        /// Noticed during work on a task.
        Task = "task",
        /// Written as a tag in a file.
        File = "file",
        /// Created by a person.
        #[default]
        Person = "person",
    }
}

/// The source of a request: a task, a line of a file, or a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a source, such as {\"sourceType\": \"person\"}"
)]
#[schema(example = json!({ "sourceType": "file", "taskId": null, "file": "/work/notes.md", "line": 12, "userId": null }))]
pub struct RequestSource {
    /// The type of the source.
    pub source_type: RequestSourceType,
    /// The task during which the work was noticed.
    #[serde(default)]
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The file with the tag of the request.
    #[serde(default)]
    #[schema(required, value_type = Option<String>)]
    pub file: Option<Text>,
    /// The line of the tag, from 1.
    #[serde(default)]
    #[schema(required, minimum = 1)]
    pub line: Option<u32>,
    /// The person that created the request.
    #[serde(default)]
    #[schema(required, value_type = Option<String>)]
    pub user_id: Option<Text>,
}

impl RequestSource {
    /// Checks that the fields match the type.
    pub fn check(&self) -> Result<(), &'static str> {
        match self.source_type {
            RequestSourceType::Task if self.task_id.is_none() => {
                Err("a source of type `task` requires `taskId`")
            }
            RequestSourceType::File if self.file.as_ref().is_none_or(Text::is_blank) => {
                Err("a source of type `file` requires `file`")
            }
            RequestSourceType::File | RequestSourceType::Person if self.task_id.is_some() => {
                Err("only a source of type `task` may have `taskId`")
            }
            RequestSourceType::Task | RequestSourceType::Person
                if self.file.is_some() || self.line.is_some() =>
            {
                Err("only a source of type `file` may have `file` and `line`")
            }
            _ if self.line == Some(0) => Err("`line` must be 1 or more"),
            _ => Ok(()),
        }
    }
}

/// A time-limited claim on a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The agent that holds the lease.
    pub agent: AgentName,
    /// The fencing token of the claim. A smaller token belongs to a lost claim.
    pub fencing: u32,
    /// The expiry of the lease. A heartbeat extends it; the server extends the lease of an agent that it runs.
    pub expires_at: Timestamp,
}

/// A change of state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Transition {
    /// The previous state; null for a new request.
    #[schema(required)]
    pub from: Option<RequestState>,
    /// The new state.
    pub to: RequestState,
    /// The name of the agent, person or file that changed the state.
    #[schema(value_type = String)]
    pub by: Text,
    /// The time of the change.
    pub at: Timestamp,
    /// The reason, if one was stated.
    #[schema(required, value_type = Option<String>)]
    pub reason: Option<Text>,
}

/// The recovery from a failed claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    /// The time of the recovery.
    pub date: Timestamp,
    /// The failure.
    #[schema(value_type = String)]
    pub reason: Text,
    /// The failed run, if there was one.
    #[schema(required)]
    pub earlier_run: Option<RunId>,
    /// The recovery action.
    #[schema(value_type = String)]
    pub action: Text,
}

/// Work left for later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a request")]
pub struct Request {
    /// The id of the request.
    pub id: RequestId,
    /// The work in one line.
    #[schema(value_type = String)]
    pub title: Text,
    /// The full description of the work.
    #[schema(value_type = String)]
    pub body: Text,
    /// The kind of work.
    pub kind: Kind,
    /// The state of the request.
    pub state: RequestState,
    /// The urgency of the request.
    pub priority: Priority,
    /// The estimated amount of work.
    #[schema(required)]
    pub effort: Option<Effort>,
    /// The source of the request.
    pub source: RequestSource,
    /// The task of the work.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The response; null until the request is done.
    #[schema(required, value_type = Option<String>)]
    pub response: Option<Text>,
    /// The number of claims.
    pub attempts: u32,
    /// The current claim.
    #[schema(required)]
    pub lease: Option<Lease>,
    /// The changes of state, oldest first.
    pub transitions: Vec<Transition>,
    /// The recoveries from failed claims, oldest first.
    pub recovery: Vec<Recovery>,
    /// The time of creation.
    pub created_at: Timestamp,
    /// The time of the last change.
    pub updated_at: Timestamp,
    /// The time of the last approval.
    #[serde(default)]
    #[schema(required)]
    pub approved_at: Option<Timestamp>,
    /// Whether all attempts have failed, so that the operator must decide.
    #[serde(default)]
    #[schema(required)]
    pub stuck: bool,
    /// The time at which the tag was removed from its file; null if the request is still wanted.
    #[serde(default)]
    #[schema(required)]
    pub withdrawn_at: Option<Timestamp>,
    /// The hand-off, if the dispatcher started one.
    #[serde(default)]
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// The id of the external job, for a route of mode `async`.
    #[serde(default)]
    #[schema(required, value_type = Option<String>)]
    pub job_id: Option<Text>,
    /// The working directory of the agent; null for a new directory.
    #[serde(default)]
    #[schema(required, value_type = Option<String>)]
    pub agent_workspace: Option<Text>,
}

impl Request {
    pub fn transition_count(&self) -> u32 {
        u32::try_from(self.transitions.len()).unwrap_or(u32::MAX)
    }

    /// Returns the transitions after the first `known` ones.
    pub fn transitions_after(&self, known: u32) -> &[Transition] {
        let known = usize::try_from(known).unwrap_or(usize::MAX);
        self.transitions.get(known..).unwrap_or_default()
    }
}

/// A request to create.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRequest {
    pub id: RequestId,
    pub title: Text,
    pub body: Text,
    pub kind: Kind,
    pub priority: Priority,
    pub effort: Option<Effort>,
    pub source: RequestSource,
    pub agent_workspace: Option<Text>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fields_of_a_source_match_its_type() {
        let task = RequestSource {
            source_type: RequestSourceType::Task,
            task_id: Some(TaskId::new()),
            ..RequestSource::default()
        };
        let file = RequestSource {
            source_type: RequestSourceType::File,
            file: Some("a.md".parse().unwrap()),
            line: Some(1),
            ..RequestSource::default()
        };
        assert_eq!(task.check(), Ok(()));
        assert_eq!(file.check(), Ok(()));
        assert_eq!(RequestSource::default().check(), Ok(()));
        for wrong in [
            RequestSource {
                task_id: None,
                ..task.clone()
            },
            RequestSource {
                file: None,
                ..file.clone()
            },
            RequestSource {
                file: Some(Text::default()),
                ..file.clone()
            },
            RequestSource {
                line: Some(0),
                ..file.clone()
            },
            RequestSource {
                source_type: RequestSourceType::Person,
                ..task
            },
            RequestSource {
                source_type: RequestSourceType::Person,
                ..file
            },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
