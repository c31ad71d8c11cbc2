//! Requests: work that is left behind for later.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::{AgentName, HandoffId, RequestState, RunId, TaskId, Text, Timestamp, id};

/// The longest kind.
const MAX_KIND: usize = 64;

id::id! {
    /// The id of a request.
    RequestId
}

/// What kind of work a request asks for: `[a-z][a-z0-9-]*`, so that it can stand in a tag.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "String")]
#[schema(value_type = String, pattern = "^[a-z][a-z0-9-]*$", max_length = 64, example = "implementation")]
pub struct Kind(String);

/// Says why a word cannot be a kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "must be a kind of work such as `implementation`: small letters, digits and `-`, beginning with a letter, at most {MAX_KIND}"
)]
pub struct IllegalKind;

impl Kind {
    /// Reads a kind, if it has the legal form.
    pub fn parse(kind: impl Into<String>) -> Result<Self, IllegalKind> {
        let kind = kind.into();
        let is_legal =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        if kind.len() > MAX_KIND
            || !kind.starts_with(|c: char| c.is_ascii_lowercase())
            || !kind.bytes().all(is_legal)
        {
            return Err(IllegalKind);
        }
        Ok(Self(kind))
    }

    /// Returns the word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Kind {
    type Error = IllegalKind;

    fn try_from(kind: String) -> Result<Self, Self::Error> {
        Self::parse(kind)
    }
}

impl std::str::FromStr for Kind {
    type Err = IllegalKind;

    fn from_str(kind: &str) -> Result<Self, Self::Err> {
        Self::parse(kind)
    }
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// How urgent a request is.
#[derive(
    Debug,
    Clone,
    Copy,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    ToSchema,
)]
pub enum Priority {
    /// Before everything else.
    P0,
    /// Soon.
    P1,
    /// In its turn.
    #[default]
    P2,
}

impl Priority {
    /// Every priority, the most urgent first.
    pub const ALL: [Self; 3] = [Self::P0, Self::P1, Self::P2];

    /// Returns the word that stands for it in JSON and tags.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::P0 => "P0",
            Self::P1 => "P1",
            Self::P2 => "P2",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.as_str() == word)
    }

    /// Returns the number that stands for it in SQL: the lower, the more urgent.
    pub const fn number(self) -> i64 {
        self as i64
    }

    /// Reads the number.
    pub fn from_number(number: i64) -> Option<Self> {
        Self::ALL
            .into_iter()
            .find(|priority| priority.number() == number)
    }
}

/// How much work somebody thinks it is. Nothing depends on it.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, ToSchema,
)]
pub enum Effort {
    /// Less than half an hour.
    S,
    /// Up to two hours.
    M,
    /// More than that.
    L,
}

impl Effort {
    /// Returns the letter that stands for it everywhere.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::S => "S",
            Self::M => "M",
            Self::L => "L",
        }
    }

    /// Reads the letter.
    pub fn parse(letter: &str) -> Option<Self> {
        [Self::S, Self::M, Self::L]
            .into_iter()
            .find(|effort| effort.as_str() == letter)
    }
}

/// What a request came from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub enum RequestSourceType {
    /// Whoever worked on a task noticed it.
    Task,
    /// It stands in a file.
    File,
    /// A person asked.
    #[default]
    Person,
}

impl RequestSourceType {
    /// Returns the word that stands for it in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::File => "file",
            Self::Person => "person",
        }
    }

    /// Reads the word.
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Task, Self::File, Self::Person]
            .into_iter()
            .find(|source| source.as_str() == word)
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
    fn a_kind_can_stand_in_a_tag() {
        for kind in ["fix", "my-kind2", "x"] {
            assert_eq!(Kind::parse(kind).unwrap().as_str(), kind);
        }
        let long = "x".repeat(MAX_KIND + 1);
        for kind in [
            "", "Fix", "2fix", "-fix", "a b", "a_b", "fix\n", "é", "../x", &long,
        ] {
            assert_eq!(Kind::parse(kind), Err(IllegalKind), "{kind:?}");
        }
    }

    #[test]
    fn words_and_numbers_are_read_as_they_are_written() {
        for priority in Priority::ALL {
            assert_eq!(Priority::parse(priority.as_str()), Some(priority));
            assert_eq!(Priority::from_number(priority.number()), Some(priority));
        }
        assert_eq!(Priority::from_number(3), None);
        assert_eq!(Priority::parse("p1"), None);
        assert_eq!(Effort::parse("M"), Some(Effort::M));
        assert_eq!(Effort::parse("XL"), None);
    }

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
