//! Requests: work that is left behind for later.

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

/// Where a request came from: a task, a line of a file, or a person.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "a source, such as {\"sourceType\": \"person\"}"
)]
#[schema(example = json!({ "sourceType": "file", "taskId": null, "file": "/work/notes.md", "line": 12, "userId": null }))]
pub struct RequestSource {
    /// Which of the three.
    pub source_type: RequestSourceType,
    /// The task on which somebody worked who noticed it.
    #[serde(default)]
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// The file in which it stands.
    #[serde(default)]
    #[schema(required, value_type = Option<String>)]
    pub file: Option<Text>,
    /// The line, from 1.
    #[serde(default)]
    #[schema(required, minimum = 1)]
    pub line: Option<u32>,
    /// Who asked.
    #[serde(default)]
    #[schema(required, value_type = Option<String>)]
    pub user_id: Option<Text>,
}

impl RequestSource {
    /// Says what does not fit together.
    pub fn check(&self) -> Result<(), &'static str> {
        match self.source_type {
            RequestSourceType::Task if self.task_id.is_none() => {
                Err("a source of type `task` needs a taskId")
            }
            RequestSourceType::File if self.file.as_ref().is_none_or(Text::is_blank) => {
                Err("a source of type `file` needs a file")
            }
            RequestSourceType::File | RequestSourceType::Person if self.task_id.is_some() => {
                Err("only a source of type `task` has a taskId")
            }
            RequestSourceType::Task | RequestSourceType::Person
                if self.file.is_some() || self.line.is_some() =>
            {
                Err("only a source of type `file` has a file and a line")
            }
            _ if self.line == Some(0) => Err("lines count from 1"),
            _ => Ok(()),
        }
    }
}

/// The right to work on a request, for a time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// Who has it.
    pub agent: AgentName,
    /// Which claim it is. Whoever shows an older number has lost it.
    pub fencing: u32,
    /// When it ends, unless a heartbeat extends it. The server extends that of an agent that it runs.
    pub expires_at: Timestamp,
}

/// A change of state.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
pub struct Transition {
    /// Where it was; null for its beginning.
    #[schema(required)]
    pub from: Option<RequestState>,
    /// Where it is.
    pub to: RequestState,
    /// Who moved it.
    #[schema(value_type = String)]
    pub by: Text,
    /// When.
    pub at: Timestamp,
    /// Why, if somebody said so.
    #[schema(required, value_type = Option<String>)]
    pub reason: Option<Text>,
}

/// What was done about a claim that came to nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct Recovery {
    /// When.
    pub date: Timestamp,
    /// What went wrong.
    #[schema(value_type = String)]
    pub reason: Text,
    /// The run that came to nothing, if there was one.
    #[schema(required)]
    pub earlier_run: Option<RunId>,
    /// What was done.
    #[schema(value_type = String)]
    pub action: Text,
}

/// Work that is left behind for later.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "a request")]
pub struct Request {
    /// Its id.
    pub id: RequestId,
    /// What is to be done, in a line.
    #[schema(value_type = String)]
    pub title: Text,
    /// What is to be done.
    #[schema(value_type = String)]
    pub body: Text,
    /// What kind of work it is.
    pub kind: Kind,
    /// Where it stands.
    pub state: RequestState,
    /// How urgent it is.
    pub priority: Priority,
    /// How much work somebody thinks it is.
    #[schema(required)]
    pub effort: Option<Effort>,
    /// Where it came from.
    pub source: RequestSource,
    /// The task on which it is worked, or was.
    #[schema(required)]
    pub task_id: Option<TaskId>,
    /// What came of it, once it is done.
    #[schema(required, value_type = Option<String>)]
    pub response: Option<Text>,
    /// How often it was claimed.
    pub attempts: u32,
    /// Who has it, while it is claimed.
    #[schema(required)]
    pub lease: Option<Lease>,
    /// Its life, oldest first.
    pub transitions: Vec<Transition>,
    /// What was done about claims that came to nothing, oldest first.
    pub recovery: Vec<Recovery>,
    /// When it was made.
    pub created_at: Timestamp,
    /// When it changed last.
    pub updated_at: Timestamp,
    /// When it was approved last.
    #[serde(default)]
    #[schema(required)]
    pub approved_at: Option<Timestamp>,
    /// Whether it has failed as often as it may, and a person must look at it.
    #[serde(default)]
    #[schema(required)]
    pub stuck: bool,
    /// When its tag was removed from its file: nobody wants it any more.
    #[serde(default)]
    #[schema(required)]
    pub withdrawn_at: Option<Timestamp>,
    /// The hand-off that works on it, if the dispatcher began one.
    #[serde(default)]
    #[schema(required)]
    pub handoff_id: Option<HandoffId>,
    /// What the command of an asynchronous route calls the job.
    #[serde(default)]
    #[schema(required, value_type = Option<String>)]
    pub job_id: Option<Text>,
    /// The working directory of whoever works on it; null for one of its own.
    #[serde(default)]
    #[schema(required, value_type = Option<String>)]
    pub agent_workspace: Option<Text>,
}

/// A request to be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewRequest {
    /// Its id.
    pub id: RequestId,
    /// What is to be done, in a line.
    pub title: Text,
    /// What is to be done.
    pub body: Text,
    /// What kind of work it is.
    pub kind: Kind,
    /// How urgent it is.
    pub priority: Priority,
    /// How much work somebody thinks it is.
    pub effort: Option<Effort>,
    /// Where it came from.
    pub source: RequestSource,
    /// The working directory of whoever works on it.
    pub agent_workspace: Option<Text>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_what_belongs_to_it() {
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
