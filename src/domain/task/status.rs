//! The status of a task, and its changes by hand-offs.

use serde::de::value::MapAccessDeserializer;
use serde::{Deserialize, Deserializer, Serialize};
use utoipa::ToSchema;

use crate::domain::Text;
use crate::domain::text::wire_enum::wire_enum;

/// The status of a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, ToSchema)]
#[serde(tag = "type", rename_all = "camelCase")]
pub enum Status {
    /// No agent has worked on the task yet.
    Pending,
    /// An agent works on the task.
    Active,
    /// The last hand-off has ended; the caller decides the next step.
    Waiting,
    /// The task is done.
    Completed,
    /// The task was given up.
    Failed {
        /// The reason for the failure.
        message: Text,
    },
}

wire_enum! {
    /// The type of a status, without the message of a failure.
    pub enum StatusName {
        /// No agent has worked on the task yet.
        Pending = "pending",
        /// An agent works on the task.
        Active = "active",
        /// The last hand-off has ended; the caller decides the next step.
        Waiting = "waiting",
        /// The task is done.
        Completed = "completed",
        /// The task was given up.
        Failed = "failed",
    }
}

impl Status {
    /// Whether the task is completed or failed.
    pub const fn is_ended(&self) -> bool {
        matches!(self, Self::Completed | Self::Failed { .. })
    }

    /// Returns `None` for a message with any status other than `failed`.
    pub fn new(name: StatusName, message: Option<Text>) -> Option<Self> {
        match (name, message) {
            (StatusName::Pending, None) => Some(Self::Pending),
            (StatusName::Active, None) => Some(Self::Active),
            (StatusName::Waiting, None) => Some(Self::Waiting),
            (StatusName::Completed, None) => Some(Self::Completed),
            (StatusName::Failed, message) => Some(Self::Failed {
                message: message.unwrap_or_default(),
            }),
            (_, Some(_)) => None,
        }
    }

    pub const fn name(&self) -> StatusName {
        match self {
            Self::Pending => StatusName::Pending,
            Self::Active => StatusName::Active,
            Self::Waiting => StatusName::Waiting,
            Self::Completed => StatusName::Completed,
            Self::Failed { .. } => StatusName::Failed,
        }
    }

    pub const fn failure_message(&self) -> Option<&Text> {
        match self {
            Self::Failed { message } => Some(message),
            _ => None,
        }
    }

    #[must_use]
    pub fn after_handoff_started(self) -> Self {
        match self {
            Self::Pending | Self::Waiting => Self::Active,
            Self::Active | Self::Completed | Self::Failed { .. } => self,
        }
    }

    /// Returns `waiting` for every outcome: the caller decides the next step. A status that was set during the hand-off stays.
    #[must_use]
    pub fn after_handoff_ended(self) -> Self {
        match self {
            Self::Active => Self::Waiting,
            Self::Pending | Self::Waiting | Self::Completed | Self::Failed { .. } => self,
        }
    }
}

/// Accepts a bare word (`"completed"`) or an object (`{"type": "failed", "message": "…"}`).
impl<'de> Deserialize<'de> for Status {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(StatusVisitor)
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct StatusObject {
    r#type: StatusName,
    #[serde(default)]
    message: Option<Text>,
}

struct StatusVisitor;

impl<'de> serde::de::Visitor<'de> for StatusVisitor {
    type Value = Status;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a status: pending, active, waiting, completed, failed, or an object with that as `type`")
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<Self::Value, E> {
        let name = StatusName::parse(word)
            .ok_or_else(|| E::invalid_value(serde::de::Unexpected::Str(word), &self))?;
        Ok(Status::new(name, None).expect("the message is optional for every status"))
    }

    fn visit_map<A: serde::de::MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        let StatusObject { r#type, message } =
            StatusObject::deserialize(MapAccessDeserializer::new(map))?;
        Status::new(r#type, message)
            .ok_or_else(|| serde::de::Error::custom("only the status `failed` may have a message"))
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::text::any_text;

    /// Generates any status.
    pub fn any_status() -> impl Strategy<Value = Status> {
        (0..5_usize, any_text()).prop_map(|(index, message)| {
            let name = StatusName::ALL[index];
            Status::new(name, (name == StatusName::Failed).then_some(message)).unwrap()
        })
    }

    proptest! {
        #[test]
        fn a_status_survives_the_wire(status in any_status()) {
            let json = serde_json::to_string(&status).unwrap();
            prop_assert_eq!(serde_json::from_str::<Status>(&json).unwrap(), status);
        }

        #[test]
        fn a_started_handoff_keeps_an_ended_status(status in any_status()) {
            let expected = match status.name() {
                StatusName::Pending | StatusName::Waiting | StatusName::Active => StatusName::Active,
                ended => ended,
            };
            prop_assert_eq!(status.clone().after_handoff_started().name(), expected);
            let after = match status.name() {
                StatusName::Active => Status::Waiting,
                _ => status.clone(),
            };
            prop_assert_eq!(status.after_handoff_ended(), after);
        }
    }

    #[test]
    fn a_bare_word_is_a_status() {
        assert_eq!(
            serde_json::from_str::<Status>("\"completed\"").unwrap(),
            Status::Completed
        );
        assert_eq!(
            serde_json::from_str::<Status>("\"failed\"").unwrap(),
            Status::Failed {
                message: Text::default()
            }
        );
    }

    #[test]
    fn an_invalid_status_is_refused() {
        for json in [
            "\"done\"",
            "3",
            "null",
            "[]",
            r#"{"type":"nope"}"#,
            r#"{"message":"x"}"#,
            r#"{"type":"pending","message":"x"}"#,
            r#"{"type":"failed","message":"x","more":1}"#,
        ] {
            assert!(serde_json::from_str::<Status>(json).is_err(), "{json}");
        }
    }
}
