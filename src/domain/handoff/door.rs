//! Doors: the five ways to ask for a hand-off.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

/// Which door a hand-off came through.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Mode)]
pub enum Door {
    /// The asker waits and gets the final message back.
    #[default]
    Delegate,
    /// The asker's task completes and a child task goes on.
    Transfer,
    /// The work was left behind and approved by a person.
    Request,
    /// A role was asked for, and the router chose the agent.
    Route,
    /// A conversation moved.
    Session,
}

impl Door {
    /// Returns the word that stands for it in JSON and SQL.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Delegate => "delegate",
            Self::Transfer => "transfer",
            Self::Request => "request",
            Self::Route => "route",
            Self::Session => "session",
        }
    }

    /// Reads the word that stands for it.
    pub fn parse(word: &str) -> Option<Self> {
        [
            Self::Delegate,
            Self::Transfer,
            Self::Request,
            Self::Route,
            Self::Session,
        ]
        .into_iter()
        .find(|mode| mode.as_str() == word)
    }
}
