//! How the types of the domain are stored: each as the text or the number that it is written as.

use super::row::{FromValue, Mismatch, unexpected};
use super::value::{ToValue, Value};
use crate::domain::{
    AgentName, AlertId, AttachmentId, Correspondent, DependencyOutcome, Door, Effort, EventType,
    Filename, HandoffId, IncrementId, IncrementState, Kind, KindMode, MailId, MailType, MessageId,
    MessageType, Minutes, Outcome, OutputForm, Priority, Provider, ReportResult, RequestId,
    RequestSourceType, RequestState, Role, RunId, RunState, SessionId, Skill, SpanId, Stage,
    StatusName, TaskId, TaskPriority, Text, ThreadId, ToolName, TraceId, Urgency,
};

/// Reads a type from text by a function of the text.
macro_rules! read {
    ($($type:ty),+ => $read:expr) => {
        $(impl FromValue for $type {
            fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
                match value {
                    Value::Text(text) => $read(text),
                    other => Err(unexpected("text", other)),
                }
            }
        })+
    };
}

/// Writes types as the text that `as_str` returns.
macro_rules! write {
    ($($type:ty),+) => {
        $(impl ToValue for $type {
            fn to_value(&self) -> Value<'_> {
                Value::Text(self.as_str())
            }
        })+
    };
}

/// Reads types with a form of their own by `TryFrom<String>`.
macro_rules! read_forms {
    ($($type:ty),+ $(,)?) => {
        read!($($type),+ => |text: &str| Self::try_from(text.to_owned()).map_err(|error| error.to_string()));
    };
}

/// Reads words of a closed list by `parse`.
macro_rules! read_words {
    ($($type:ty),+ $(,)?) => {
        read!($($type),+ => |word: &str| Self::parse(word).ok_or_else(|| format!("unknown word {word:?}")));
    };
}

/// Reads and writes types with a form of their own.
macro_rules! forms {
    ($($type:ty),+ $(,)?) => {
        read_forms!($($type),+);
        write!($($type),+);
    };
}

/// Reads and writes words of a closed list.
macro_rules! words {
    ($($type:ty),+ $(,)?) => {
        read_words!($($type),+);
        write!($($type),+);
    };
}

/// Reads and writes numbers that have a range of their own.
macro_rules! numbers {
    ($($type:ty),+) => {
        $(
            impl FromValue for $type {
                fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
                    Self::new(u32::from_value(value)?).map_err(|error| error.to_string())
                }
            }

            impl ToValue for $type {
                fn to_value(&self) -> Value<'_> {
                    Value::Integer(self.get().into())
                }
            }
        )+
    };
}

forms!(
    AgentName,
    AlertId,
    AttachmentId,
    Correspondent,
    EventType,
    Filename,
    HandoffId,
    IncrementId,
    Kind,
    MailId,
    MessageId,
    RequestId,
    Role,
    RunId,
    SessionId,
    Skill,
    SpanId,
    TaskId,
    ThreadId,
    ToolName,
    TraceId,
);

words!(
    DependencyOutcome,
    Effort,
    IncrementState,
    MailType,
    MessageType,
    Door,
    Outcome,
    Provider,
    ReportResult,
    RequestSourceType,
    RequestState,
    KindMode,
    Stage,
    StatusName,
    Urgency,
);

read_forms!(OutputForm, Text);
read_words!(RunState);
numbers!(Minutes, TaskPriority);

impl FromValue for Priority {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        let number = i64::from_value(value)?;
        Self::from_number(number).ok_or_else(|| format!("there is no priority {number}"))
    }
}

impl ToValue for Priority {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.number())
    }
}
