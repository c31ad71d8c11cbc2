//! Changes: the fields that create or update an agent.

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::agent::{Agent, Isolation, OutputForm, Provider};
use super::environment::Environment;
use super::name::AgentName;
use super::role::Role;
use super::skill::Skill;
use crate::domain::text::field::{absent, present, present_distinct};
use crate::domain::{Minutes, Text};

/// A partial update of an agent. Absent fields keep their value, or get the default for a new agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields, expecting = "an agent")]
#[schema(example = json!({
    "provider": "command", "program": "/usr/local/bin/review", "roles": ["verification"], "skills": ["rust"], "maxSessionDuration": 30
}))]
pub struct AgentChange {
    /// The name of the agent, which must equal the name in the path.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(nullable = false)]
    pub name: Option<AgentName>,
    /// The Markdown file with the system prompt. Default: `agents/NAME.md`; none for a `command`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<String>, nullable = false, max_length = 4096, pattern = "^\\s*$|^[^\\x00]*[^/\\x00]\\.[mM][dD]$")]
    pub spec_path: Option<Text>,
    /// The tools that the agent may use.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<String>, nullable = false, max_length = 32768)]
    pub allowed_tools: Option<Text>,
    /// The permission mode of the agent's program. Default: `default`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<String>, nullable = false, max_length = 4096)]
    pub permission_mode: Option<Text>,
    /// The program type of the agent. Default: `claude-code`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(nullable = false)]
    pub provider: Option<Provider>,
    /// The model; null for the provider's default.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 4096, pattern = "\\S")]
    pub model: Option<Option<Text>>,
    /// The program; null for the provider's default.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<String>, min_length = 1, max_length = 4096, pattern = "^(/[^\\x00]*|[^/\\x00]*[^\\s/\\x00][^/\\x00]*)$")]
    pub program: Option<Option<Text>>,
    /// Additional command line arguments.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<Vec<String>>, nullable = false, max_items = 1000)]
    pub arguments: Option<Vec<Text>>,
    /// Additional environment variables, all of them. Null keeps the value that the agent has.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<BTreeMap<String, Option<String>>>, nullable = false)]
    pub environment: Option<Environment>,
    /// The part of the output of a `command` that is the final message: `all` (default), `last_line` or `json:FIELD`.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<String>, nullable = false, pattern = "^(all|last_line|json:[^\\x00]+)$")]
    pub output_form: Option<OutputForm>,
    /// The time limit of a run in seconds; null for the server's limit.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 31_536_000)]
    pub max_seconds: Option<Option<u64>>,
    /// The limit of a run without output in seconds; null for the server's limit.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<u64>, minimum = 1, maximum = 31_536_000)]
    pub idle_seconds: Option<Option<u64>>,
    /// Whether the agent accepts hand-offs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(nullable = false)]
    pub available: Option<bool>,
    /// The roles of the agent.
    #[serde(
        default,
        deserialize_with = "present_distinct",
        skip_serializing_if = "absent"
    )]
    #[schema(nullable = false)]
    pub roles: Option<Vec<Role>>,
    /// The skills of the agent.
    #[serde(
        default,
        deserialize_with = "present_distinct",
        skip_serializing_if = "absent"
    )]
    #[schema(nullable = false)]
    pub skills: Option<Vec<Skill>>,
    /// The upper limit of a run in minutes, which no other limit can exceed; null for none.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 525_600)]
    pub max_session_duration: Option<Option<Minutes>>,
    /// A short description of the agent's responsibilities.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<String>, nullable = false, max_length = 4096)]
    pub responsibilities: Option<Text>,
    /// The isolation of the agent's runs; null for the server's default.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<Isolation>)]
    pub isolation: Option<Option<Isolation>>,
}

impl AgentChange {
    pub fn into_new(self, name: AgentName) -> Agent {
        let text = |text: String| Text::try_from(text).expect("a name has no NUL");
        let spec_path = match self.provider.unwrap_or_default() {
            Provider::Command => Text::default(),
            _ => text(format!("agents/{name}.md")),
        };
        let new = Agent {
            name,
            spec_path,
            allowed_tools: Text::default(),
            permission_mode: text("default".to_owned()),
            provider: Provider::default(),
            model: None,
            program: None,
            arguments: Vec::new(),
            environment: Environment::default(),
            output_form: OutputForm::default(),
            max_seconds: None,
            idle_seconds: None,
            available: true,
            roles: Vec::new(),
            skills: Vec::new(),
            max_session_duration: None,
            responsibilities: Text::default(),
            isolation: None,
        };
        self.apply_to(new)
    }

    /// Applies the change to an agent, which keeps its name.
    #[must_use]
    pub fn apply_to(self, agent: Agent) -> Agent {
        Agent {
            name: agent.name,
            spec_path: self.spec_path.unwrap_or(agent.spec_path),
            allowed_tools: self.allowed_tools.unwrap_or(agent.allowed_tools),
            permission_mode: self.permission_mode.unwrap_or(agent.permission_mode),
            provider: self.provider.unwrap_or(agent.provider),
            model: self.model.unwrap_or(agent.model),
            program: self.program.unwrap_or(agent.program),
            arguments: self.arguments.unwrap_or(agent.arguments),
            environment: match self.environment {
                Some(environment) => environment.with_values_of(&agent.environment),
                None => agent.environment,
            },
            output_form: self.output_form.unwrap_or(agent.output_form),
            max_seconds: self.max_seconds.unwrap_or(agent.max_seconds),
            idle_seconds: self.idle_seconds.unwrap_or(agent.idle_seconds),
            available: self.available.unwrap_or(agent.available),
            roles: self.roles.unwrap_or(agent.roles),
            skills: self.skills.unwrap_or(agent.skills),
            max_session_duration: self
                .max_session_duration
                .unwrap_or(agent.max_session_duration),
            responsibilities: self.responsibilities.unwrap_or(agent.responsibilities),
            isolation: self.isolation.unwrap_or(agent.isolation),
        }
    }
}

/// The capabilities of an agent, as declared by the agent or set by the operator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    expecting = "capabilities"
)]
#[schema(example = json!({ "roles": ["testing"], "skills": ["python", "qa"], "maxSessionDuration": 45 }))]
pub struct Capabilities {
    /// The roles of the agent.
    #[serde(
        default,
        deserialize_with = "present_distinct",
        skip_serializing_if = "absent"
    )]
    #[schema(nullable = false)]
    pub roles: Option<Vec<Role>>,
    /// The skills of the agent.
    #[serde(
        default,
        deserialize_with = "present_distinct",
        skip_serializing_if = "absent"
    )]
    #[schema(nullable = false)]
    pub skills: Option<Vec<Skill>>,
    /// The upper limit of a run in minutes; null for none. A run may only lower the limit of its own agent.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<u32>, minimum = 1, maximum = 525_600)]
    pub max_session_duration: Option<Option<Minutes>>,
    /// A short description of the agent's responsibilities.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(value_type = Option<String>, nullable = false, max_length = 4096)]
    pub responsibilities: Option<Text>,
    /// Whether the agent accepts hand-offs.
    #[serde(default, deserialize_with = "present", skip_serializing_if = "absent")]
    #[schema(nullable = false)]
    pub available: Option<bool>,
}

impl From<Capabilities> for AgentChange {
    fn from(offered: Capabilities) -> Self {
        Self {
            roles: offered.roles,
            skills: offered.skills,
            max_session_duration: offered.max_session_duration,
            responsibilities: offered.responsibilities,
            available: offered.available,
            ..Self::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn change(json: serde_json::Value) -> AgentChange {
        serde_json::from_value(json).unwrap()
    }

    fn new_agent(json: serde_json::Value) -> Agent {
        change(json).into_new("mine".parse().unwrap())
    }

    #[test]
    fn absent_fields_of_a_new_agent_get_defaults() {
        let agent = new_agent(json!({}));
        assert_eq!(agent.spec_path.as_str(), "agents/mine.md");
        assert_eq!(agent.permission_mode.as_str(), "default");
        assert_eq!(agent.provider, Provider::ClaudeCode);
        assert!(agent.available);
        // A plain program has no system prompt.
        assert_eq!(
            new_agent(json!({ "provider": "command" }))
                .spec_path
                .as_str(),
            ""
        );
    }

    #[test]
    fn absent_fields_stay_and_null_clears() {
        let agent = new_agent(
            json!({ "model": "m", "program": "p", "maxSeconds": 5, "roles": ["testing"] }),
        );
        let changed = change(json!({ "model": null, "maxSeconds": 6 })).apply_to(agent.clone());
        let expected = Agent {
            model: None,
            max_seconds: Some(6),
            ..agent.clone()
        };
        assert_eq!(changed, expected);
        assert_eq!(change(json!({})).apply_to(agent.clone()), agent);
    }

    #[test]
    fn every_key_of_an_agent_can_be_set() {
        let agent = new_agent(json!({
            "specPath": "s.md", "allowedTools": "t", "permissionMode": "plan", "provider": "codex", "model": "m",
            "program": "p", "arguments": ["a"], "environment": { "K": "v" }, "outputForm": "last_line", "maxSeconds": 1,
            "idleSeconds": 2, "available": false, "roles": ["testing"], "skills": ["qa"], "maxSessionDuration": 3,
            "responsibilities": "r",
        }));
        let again = change(serde_json::to_value(&agent).unwrap());
        assert_eq!(again.into_new(agent.name.clone()), agent);
    }

    #[test]
    fn a_change_survives_the_wire() {
        let sent = json!({ "model": null, "program": "p", "roles": [], "environment": { "K": "v" }, "available": false });
        let change = change(sent.clone());
        assert_eq!(serde_json::to_value(change).unwrap(), sent);
    }

    #[test]
    fn required_fields_cannot_be_null() {
        for key in ["specPath", "provider", "arguments", "available", "roles"] {
            let json = json!({ key: null });
            assert!(
                serde_json::from_value::<AgentChange>(json).is_err(),
                "{key}"
            );
        }
    }
}
