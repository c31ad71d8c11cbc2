//! Agents: the configured workers.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::name::AgentName;
use super::role::Role;
use super::skill::Skill;
use crate::domain::text::given::distinct;
use crate::domain::text::wire_enum::wire_enum;
use crate::domain::{Minutes, Text};

/// A configured worker.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", expecting = "an agent")]
pub struct Agent {
    /// Its name.
    pub name: AgentName,
    /// The Markdown file that tells it what it is.
    pub spec_path: Text,
    /// The tools that it may use.
    pub allowed_tools: Text,
    /// How it asks for permission.
    pub permission_mode: Text,
    /// What runs it.
    #[serde(default)]
    #[schema(required)]
    pub provider: Provider,
    /// The model that it uses, if not the provider's own choice.
    #[serde(default)]
    #[schema(required)]
    pub model: Option<Text>,
    /// The program, if not the provider's own.
    #[serde(default)]
    #[schema(required)]
    pub program: Option<Text>,
    /// What the program is started with beside what the provider says.
    #[serde(default)]
    #[schema(required)]
    pub arguments: Vec<Text>,
    /// What is added to its environment. Not for secrets: everybody who reads agents sees it.
    #[serde(default)]
    #[schema(required, value_type = std::collections::BTreeMap<String, String>)]
    pub environment: BTreeMap<Text, Text>,
    /// What of the output of a `command` is its final message.
    #[serde(default)]
    #[schema(required, value_type = String, example = "all")]
    pub output_form: OutputForm,
    /// How many seconds a run may take; the server's limit if it is not given.
    #[serde(default)]
    #[schema(required)]
    pub max_seconds: Option<u64>,
    /// How many seconds a run may be silent; the server's limit if it is not given.
    #[serde(default)]
    #[schema(required)]
    pub idle_seconds: Option<u64>,
    /// Whether it takes hand-offs now.
    #[serde(default = "is_available")]
    #[schema(required)]
    pub available: bool,
    /// The parts that it plays.
    #[serde(default, deserialize_with = "distinct")]
    #[schema(required)]
    pub roles: Vec<Role>,
    /// What it is good at.
    #[serde(default, deserialize_with = "distinct")]
    #[schema(required)]
    pub skills: Vec<Skill>,
    /// How many minutes a run may take at most, whatever else is allowed.
    #[serde(default)]
    #[schema(required)]
    pub max_session_duration: Option<Minutes>,
    /// What it is there for, in a few words.
    #[serde(default)]
    #[schema(required, value_type = String)]
    pub responsibilities: Text,
}

impl Agent {
    /// Returns how many seconds a run may take, where the server allows so many, and what says so.
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

/// What ends a run that takes too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLimit {
    /// The agent's `maxSeconds`.
    MaxSeconds,
    /// The agent's `maxSessionDuration`.
    MaxSessionDuration,
    /// The server's own limit.
    Server,
}

const fn is_available() -> bool {
    true
}

/// What of a program's output is its final message.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum OutputForm {
    /// All of it.
    #[default]
    All,
    /// The last line that is not blank.
    LastLine,
    /// This field of the last line that is a JSON object with such a field.
    JsonField(String),
}

/// Says that a form of output is not known.
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
    /// The program that runs an agent, with its command line and output format.
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

impl Provider {
    /// Returns the program that it starts, if it is always the same one.
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

/// Finds the agent that a model or a person meant: quotes around the name, its case, and `_` or a space for `-` do
/// not matter.
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
