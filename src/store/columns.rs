//! The stored form of domain types: each is the text or the number of its wire format.

use super::row::{FromValue, Mismatch, unexpected};
use super::value::{ToValue, Value};
use crate::domain::{
    AgentName, AlertId, AttachmentId, Correspondent, DependencyOutcome, Door, Effort, EventType,
    Filename, HandoffId, IncrementId, IncrementState, Isolation, Kind, KindMode, MailId, MailType,
    MessageId, MessageType, Minutes, Outcome, OutputForm, Priority, Provider, ProviderSession,
    ReportResult, RequestId, RequestSourceType, RequestState, Role, RunId, RunState, SessionId,
    Skill, SpanId, Stage, StatusName, TaskId, TaskPriority, Text, ThreadId, ToolName, TraceId,
    Urgency,
};

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

macro_rules! write {
    ($($type:ty),+) => {
        $(impl ToValue for $type {
            fn to_value(&self) -> Value<'_> {
                Value::Text(self.as_str())
            }
        })+
    };
}

/// Reads validated types by `TryFrom<String>`.
macro_rules! read_forms {
    ($($type:ty),+ $(,)?) => {
        read!($($type),+ => |text: &str| Self::try_from(text.to_owned()).map_err(|error| error.to_string()));
    };
}

/// Reads enums by `parse`.
macro_rules! read_words {
    ($($type:ty),+ $(,)?) => {
        read!($($type),+ => |word: &str| Self::parse(word).ok_or_else(|| format!("unknown word {word:?}")));
    };
}

/// Reads and writes validated types.
macro_rules! forms {
    ($($type:ty),+ $(,)?) => {
        read_forms!($($type),+);
        write!($($type),+);
    };
}

/// Reads and writes enums.
macro_rules! words {
    ($($type:ty),+ $(,)?) => {
        read_words!($($type),+);
        write!($($type),+);
    };
}

/// Reads and writes bounded numbers.
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
    Isolation,
    MailType,
    MessageType,
    Door,
    Outcome,
    Provider,
    ReportResult,
    RequestSourceType,
    RequestState,
    RunState,
    KindMode,
    Stage,
    StatusName,
    Urgency,
);

read_forms!(OutputForm, Text);
write!(ProviderSession);
numbers!(Minutes, TaskPriority);

impl FromValue for Priority {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        let number = i64::from_value(value)?;
        Self::from_number(number).ok_or_else(|| format!("unknown priority {number}"))
    }
}

impl ToValue for Priority {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.number())
    }
}
