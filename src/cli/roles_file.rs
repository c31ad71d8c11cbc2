//! Files that describe agents: one agent as the API shows it, in JSON, or several by their roles, in YAML or JSON.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::ui::Failure;
use crate::domain::{AgentChange, Minutes, Provider, Text};

/// The agents of a file, by name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RolesFile {
    #[serde(alias = "agentRoles")]
    agent_roles: BTreeMap<String, DescribedRole>,
}

/// An agent that a file describes.
#[derive(Debug)]
pub(super) struct Described {
    pub name: String,
    pub change: AgentChange,
    /// The provider of a new agent for which nobody names one.
    pub default_provider: Option<Provider>,
}

/// An agent, as a file of roles describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct DescribedRole {
    skills: Option<Vec<String>>,
    #[serde(alias = "typicalTasks")]
    typical_tasks: Option<Vec<String>>,
    #[serde(alias = "preferred_roles", alias = "preferredRoles")]
    roles: Option<Vec<String>>,
    #[serde(alias = "maxSessionDuration")]
    max_session_duration: Option<u32>,
    responsibilities: Option<String>,
    provider: Option<String>,
    model: Option<String>,
    program: Option<String>,
    arguments: Option<Vec<String>>,
    #[serde(alias = "specPath", alias = "spec")]
    spec_path: Option<String>,
    #[serde(alias = "allowedTools")]
    allowed_tools: Option<String>,
    #[serde(alias = "permissionMode")]
    permission_mode: Option<String>,
    available: Option<bool>,
}

/// Reads the agents of a file, by name. `from` names the file in errors.
pub(super) fn read(text: &str, from: &str) -> Result<Vec<Described>, Failure> {
    let text = text.trim_start_matches('\u{feff}');
    if let Some(agent) = read_agent(text) {
        return agent.map(|agent| vec![agent]).map_err(|problem| {
            Failure::usage(format!("{from}: {problem}"))
                .with_hint("the file describes one agent, as `chorus export` writes it")
        });
    }
    let file: RolesFile = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| wrong(from, &error))?
    } else {
        serde_saphyr::from_str(text).map_err(|error| wrong(from, &first_line(&error)))?
    };
    let mut agents = Vec::new();
    for (name, described) in file.agent_roles {
        let change = change(&name, described);
        let change = change.map_err(|problem| wrong(from, &format!("{name}: {problem}")))?;
        agents.push(Described {
            name,
            change,
            default_provider: None,
        });
    }
    Ok(agents)
}

/// Reads the JSON of one agent. Returns `None` for a file of another form.
fn read_agent(text: &str) -> Option<Result<Described, String>> {
    let json: Map<String, Value> = serde_json::from_str(text).ok()?;
    if !json.contains_key("name") || json.contains_key("agent_roles") {
        return None;
    }
    let change = serde_json::from_value::<AgentChange>(Value::Object(json));
    Some(change.map_err(|error| error.to_string()).map(|change| {
        let name = change.name.as_ref().map(ToString::to_string);
        Described {
            name: name.unwrap_or_default(),
            change,
            default_provider: Some(Provider::default()),
        }
    }))
}

/// Returns an error of the YAML parser without its picture of the file.
fn first_line(error: &serde_saphyr::Error) -> String {
    let text = error.to_string();
    let line = text.lines().next().unwrap_or_default();
    line.trim_start_matches("error: ").to_owned()
}

fn wrong(from: &str, problem: &dyn std::fmt::Display) -> Failure {
    Failure::usage(format!("{from}: {problem}")).with_hint(
        "the file needs the key `agent_roles`, with an agent below each name: skills, typical_tasks, max_session_duration, responsibilities",
    )
}

/// Returns the fields that a file gives. The roles of an agent are its typical tasks, and the role in a name such as
/// `testing-specialist`.
fn change(name: &str, described: DescribedRole) -> Result<AgentChange, String> {
    let named = name.strip_suffix("-specialist").map(str::to_owned);
    let roles = match (described.roles, described.typical_tasks) {
        (Some(roles), _) => Some(roles),
        (None, Some(tasks)) => Some(named.into_iter().chain(tasks).collect()),
        (None, None) => None,
    };
    let provider = described.provider.map(|word| {
        Provider::parse(&word).ok_or_else(|| {
            let known = Provider::ALL.map(Provider::as_str);
            format!("provider: {word} must be one of {}", known.join(", "))
        })
    });
    let minutes = described.max_session_duration.map(|minutes| {
        Minutes::new(minutes).map_err(|error| format!("max_session_duration: {error}"))
    });
    Ok(AgentChange {
        roles: words("roles", roles)?,
        skills: words("skills", described.skills)?,
        max_session_duration: minutes.transpose()?.map(Some),
        responsibilities: described.responsibilities.map(Text::lossy),
        provider: provider.transpose()?,
        model: described.model.map(|model| Some(Text::lossy(model))),
        program: described.program.map(|program| Some(Text::lossy(program))),
        arguments: described
            .arguments
            .map(|all| all.into_iter().map(Text::lossy).collect()),
        spec_path: described.spec_path.map(Text::lossy),
        allowed_tools: described.allowed_tools.map(Text::lossy),
        permission_mode: described.permission_mode.map(Text::lossy),
        available: described.available,
        ..AgentChange::default()
    })
}

/// Parses words, and drops repeated ones.
fn words<T: std::str::FromStr<Err: std::fmt::Display> + PartialEq>(
    what: &str,
    words: Option<Vec<String>>,
) -> Result<Option<Vec<T>>, String> {
    let Some(words) = words else {
        return Ok(None);
    };
    let mut parsed = Vec::new();
    for word in words {
        let read = word
            .trim()
            .parse::<T>()
            .map_err(|error| format!("{what}: {word:?} {error}"))?;
        if !parsed.contains(&read) {
            parsed.push(read);
        }
    }
    Ok(Some(parsed))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(change: &AgentChange) -> String {
        serde_json::to_string(change).unwrap()
    }

    #[test]
    fn yaml_and_json_describe_the_same_agents() {
        let yaml = "agent_roles:\n  fixing-specialist:\n    skills: [debugging, problem-solving]\n    typical_tasks: [bug-fixes, patches]\n    max_session_duration: 90  # minutes\n    responsibilities: \"Fix it\"\n";
        let json = r#"{"agentRoles": {"fixing-specialist": {"skills": ["debugging", "problem-solving"],
            "typicalTasks": ["bug-fixes", "patches"], "maxSessionDuration": 90, "responsibilities": "Fix it"}}}"#;
        let [Described { name, change, .. }] = &read(yaml, "r.yaml").unwrap()[..] else {
            panic!("one agent");
        };
        assert_eq!(name, "fixing-specialist");
        assert_eq!(
            fields(change),
            r#"{"roles":["fixing","bug-fixes","patches"],"skills":["debugging","problem-solving"],"maxSessionDuration":90,"responsibilities":"Fix it"}"#
        );
        assert_eq!(
            fields(&read(json, "r.json").unwrap()[0].change),
            fields(change)
        );
    }

    #[test]
    fn a_file_of_one_agent_is_read() {
        let json = r#"{"name":"developer","specPath":"agents/developer.md","allowedTools":"Bash(file-tools *)","permissionMode":"bypassPermissions"}"#;
        let [agent] = &read(json, "developer.json").unwrap()[..] else {
            panic!("one agent");
        };
        assert_eq!(agent.name, "developer");
        assert_eq!(agent.default_provider, Some(Provider::ClaudeCode));
        assert_eq!(fields(&agent.change), json);
        for (text, place) in [
            (r#"{"name": "a", "color": 1}"#, "color"),
            (r#"{"name": "../a"}"#, "a.json"),
            (r#"{"name": 3}"#, "a.json"),
        ] {
            let message = read(text, "a.json").unwrap_err().message;
            assert!(message.contains(place), "{text}: {message}");
        }
    }

    #[test]
    fn a_mistake_is_named_with_its_place() {
        for (text, place) in [
            ("agent_roles:\n  a:\n    skils: [x]\n", "skils"),
            (
                "agent_roles:\n  a:\n    skills: [\"a b\"]\n",
                "a: skills: \"a b\"",
            ),
            (
                "agent_roles:\n  a:\n    max_session_duration: 0\n",
                "a: max_session_duration",
            ),
            (
                "agent_roles:\n  a:\n    provider: chatty\n",
                "a: provider: chatty",
            ),
            ("roles: {}\n", "roles"),
            ("{\"agent_roles\": 3}", "invalid type"),
        ] {
            let message = read(text, "r.yaml").unwrap_err().message;
            assert!(message.starts_with("r.yaml: "), "{message}");
            assert!(message.contains(place), "{text}: {message}");
        }
    }
}
