//! Agents: the configured workers.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::environment::Environment;
use super::name::AgentName;
use super::role::Role;
use super::skill::Skill;
use crate::domain::text::field::distinct;
use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{Minutes, Text};

/// A configured worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an agent")]
pub struct Agent {
    /// The name of the agent.
    pub name: AgentName,
    /// The Markdown file with the system prompt.
    pub spec_path: Text,
    /// The tools that the agent may use.
    pub allowed_tools: Text,
    /// The permission mode of the agent's program.
    pub permission_mode: Text,
    /// The program type of the agent.
    #[serde(default)]
    #[schema(required)]
    pub provider: Provider,
    /// The model; null for the provider's default.
    #[serde(default)]
    #[schema(required)]
    pub model: Option<Text>,
    /// The program; null for the provider's default.
    #[serde(default)]
    #[schema(required)]
    pub program: Option<Text>,
    /// Additional command line arguments.
    #[serde(default)]
    #[schema(required)]
    pub arguments: Vec<Text>,
    /// Additional environment variables. Only the operator sees their values; for others, and without a value, they are null.
    #[serde(default)]
    #[schema(required, value_type = std::collections::BTreeMap<String, Option<String>>)]
    pub environment: Environment,
    /// The part of the output of a `command` that is the final message.
    #[serde(default)]
    #[schema(required, value_type = String, example = "all")]
    pub output_form: OutputForm,
    /// The time limit of a run in seconds; null for the server's limit.
    #[serde(default)]
    #[schema(required)]
    pub max_seconds: Option<u64>,
    /// The limit of a run without output in seconds; null for the server's limit.
    #[serde(default)]
    #[schema(required)]
    pub idle_seconds: Option<u64>,
    /// Whether the agent accepts hand-offs.
    #[serde(default = "is_available")]
    #[schema(required)]
    pub available: bool,
    /// The roles of the agent.
    #[serde(default, deserialize_with = "distinct")]
    #[schema(required)]
    pub roles: Vec<Role>,
    /// The skills of the agent.
    #[serde(default, deserialize_with = "distinct")]
    #[schema(required)]
    pub skills: Vec<Skill>,
    /// The upper limit of a run in minutes, which no other limit can exceed.
    #[serde(default)]
    #[schema(required)]
    pub max_session_duration: Option<Minutes>,
    /// A short description of the agent's responsibilities.
    #[serde(default)]
    #[schema(required, value_type = String)]
    pub responsibilities: Text,
    /// The isolation of the agent's runs; null for the server's default.
    #[serde(default)]
    #[schema(required)]
    pub isolation: Option<Isolation>,
}

impl Agent {
    /// Returns the time limit of a run in seconds and its origin; `server` is the default.
    pub fn run_limit(&self, server: u64) -> (u64, RunLimit) {
        let own = self.max_seconds.map(|own| (own, RunLimit::MaxSeconds));
        let (seconds, limit) = own.unwrap_or((server, RunLimit::Server));
        match self.max_session_duration {
            Some(session) if session.seconds() < seconds => {
                (session.seconds(), RunLimit::MaxSessionDuration)
            }
            _ => (seconds, limit),
        }
    }
}

/// The origin of a run's time limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLimit {
    /// The agent's `maxSeconds`.
    MaxSeconds,
    /// The agent's `maxSessionDuration`.
    MaxSessionDuration,
    Server,
}

const fn is_available() -> bool {
    true
}

/// The part of a program's output that is its final message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OutputForm {
    #[default]
    All,
    /// The last line that is not blank.
    LastLine,
    /// This field of the last line that is a JSON object with such a field.
    JsonField(String),
}

#[derive(Debug, Clone, Copy, thiserror::Error)]
#[error("must be `all`, `last_line` or `json:FIELD`")]
pub struct UnknownForm;

impl TryFrom<String> for OutputForm {
    type Error = UnknownForm;

    fn try_from(form: String) -> Result<Self, Self::Error> {
        match form.as_str() {
            "all" => Ok(Self::All),
            "last_line" => Ok(Self::LastLine),
            other => match other.strip_prefix("json:") {
                Some(field) if !field.is_empty() && !field.contains('\0') => {
                    Ok(Self::JsonField(field.to_owned()))
                }
                _ => Err(UnknownForm),
            },
        }
    }
}

impl From<OutputForm> for String {
    fn from(form: OutputForm) -> Self {
        match form {
            OutputForm::All => "all".to_owned(),
            OutputForm::LastLine => "last_line".to_owned(),
            OutputForm::JsonField(field) => format!("json:{field}"),
        }
    }
}

wire_enum! {
    /// The type of program that runs an agent.
    #[derive(Default)]
    pub enum Provider {
        /// Claude Code.
        #[default]
        ClaudeCode = "claude-code",
        /// Codex.
        Codex = "codex",
        /// OpenCode.
        OpenCode = "opencode",
        /// Gemini CLI.
        Gemini = "gemini",
        /// Any program.
        Command = "command",
    }
}

wire_enum! {
    /// How far an agent's processes are kept from the server's files.
    #[derive(Default)]
    pub enum Isolation {
        /// The agent has the rights of the server's user.
        #[default]
        Unmasked = "none",
        /// The data directory is hidden from the agent, except the files of its own run and workspace.
        Masked = "masked",
    }
}

impl Provider {
    /// Returns the default program; a `command` has none.
    pub const fn binary(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("claude"),
            Self::Codex => Some("codex"),
            Self::OpenCode => Some("opencode"),
            Self::Gemini => Some("gemini"),
            Self::Command => None,
        }
    }
}

/// Finds an agent by an inexact name: surrounding quotes and case are ignored, and `_` or a space counts as `-`.
pub fn match_agent_name<'a>(asked: &str, known: &'a [AgentName]) -> Option<&'a AgentName> {
    let plain = |name: &str| name.to_ascii_lowercase().replace(['_', ' '], "-");
    let is_wrapping = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '@');
    let asked = plain(asked.trim_matches(is_wrapping));
    known.iter().find(|name| plain(name.as_str()) == asked)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_limit_ends_a_run() {
        use RunLimit::{MaxSeconds, MaxSessionDuration, Server};
        for (seconds, minutes, limit) in [
            (None, None, (3600, Server)),
            (Some(7200), None, (7200, MaxSeconds)),
            (None, Some(30), (1800, MaxSessionDuration)),
            (None, Some(120), (3600, Server)),
            (Some(7200), Some(90), (5400, MaxSessionDuration)),
            (Some(60), Some(90), (60, MaxSeconds)),
            (Some(60), Some(1), (60, MaxSeconds)),
        ] {
            let mut agent: Agent = serde_json::from_str(
                r#"{"name": "a", "specPath": "", "allowedTools": "", "permissionMode": ""}"#,
            )
            .unwrap();
            agent.max_seconds = seconds;
            agent.max_session_duration = minutes.map(|minutes| Minutes::new(minutes).unwrap());
            assert_eq!(agent.run_limit(3600), limit, "{seconds:?} {minutes:?}");
        }
    }

    #[test]
    fn names_are_matched_leniently() {
        let known = ["developer", "developer-review"].map(|name| AgentName::parse(name).unwrap());
        for asked in [
            "developer-review",
            "Developer Review",
            "'developer_review'",
            " `DEVELOPER-REVIEW`\n",
        ] {
            assert_eq!(match_agent_name(asked, &known), Some(&known[1]), "{asked}");
        }
        for asked in ["", "dev", "developer--review", "developer-review2"] {
            assert_eq!(match_agent_name(asked, &known), None, "{asked}");
        }
    }
}
