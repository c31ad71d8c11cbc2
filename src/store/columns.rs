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

/// Types with a form of their own: read by `TryFrom<String>`, written by `as_str`.
macro_rules! forms {
    ($($type:ty),+ $(,)?) => {
        $(
            impl FromValue for $type {
                fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
                    match value {
                        Value::Text(text) => {
                            Self::try_from(text.to_owned()).map_err(|error| error.to_string())
                        }
                        other => Err(unexpected("text", other)),
                    }
                }
            }

            impl ToValue for $type {
                fn to_value(&self) -> Value<'_> {
                    Value::Text(self.as_str())
                }
            }
        )+
    };
}

/// Words of a closed list: read by `parse`, written by `as_str`.
macro_rules! words {
    ($($type:ty),+ $(,)?) => {
        $(
            impl FromValue for $type {
                fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
                    match value {
                        Value::Text(word) => {
                            Self::parse(word).ok_or_else(|| format!("unknown word {word:?}"))
                        }
                        other => Err(unexpected("text", other)),
                    }
                }
            }

            impl ToValue for $type {
                fn to_value(&self) -> Value<'_> {
                    Value::Text(self.as_str())
                }
            }
        )+
    };
}

/// Types that are read by `TryFrom<String>` alone.
macro_rules! read_forms {
    ($($type:ty),+ $(,)?) => {
        $(
            impl FromValue for $type {
                fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
                    match value {
                        Value::Text(text) => {
                            Self::try_from(text.to_owned()).map_err(|error| error.to_string())
                        }
                        other => Err(unexpected("text", other)),
                    }
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

impl FromValue for RunState {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        match value {
            Value::Text(word) => Self::parse(word).ok_or_else(|| format!("unknown word {word:?}")),
            other => Err(unexpected("text", other)),
        }
    }
}

impl FromValue for Minutes {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        Self::new(u32::from_value(value)?).map_err(|error| error.to_string())
    }
}

impl ToValue for Minutes {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.get().into())
    }
}

impl FromValue for TaskPriority {
    fn from_value(value: Value<'_>) -> Result<Self, Mismatch> {
        Self::new(u32::from_value(value)?).map_err(|error| error.to_string())
    }
}

impl ToValue for TaskPriority {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(self.get().into())
    }
}

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
