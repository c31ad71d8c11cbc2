//! Files that describe agents by their roles, in YAML or JSON.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::ui::Failure;
use crate::domain::{AgentChange, Minutes, Provider, Text};

/// The agents of a file, by name.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RolesFile {
    #[serde(alias = "agentRoles")]
    agent_roles: BTreeMap<String, Described>,
}

/// An agent, as such a file describes it.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Described {
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
pub(super) fn read(text: &str, from: &str) -> Result<Vec<(String, AgentChange)>, Failure> {
    let text = text.trim_start_matches('\u{feff}');
    let file: RolesFile = if text.trim_start().starts_with('{') {
        serde_json::from_str(text).map_err(|error| wrong(from, &error))?
    } else {
        serde_saphyr::from_str(text).map_err(|error| wrong(from, &first_line(&error)))?
    };
    let mut agents = Vec::new();
    for (name, described) in file.agent_roles {
        let change = change(&name, described);
        let change = change.map_err(|problem| wrong(from, &format!("{name}: {problem}")))?;
        agents.push((name, change));
    }
    Ok(agents)
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
fn change(name: &str, described: Described) -> Result<AgentChange, String> {
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
        let [(name, change)] = &read(yaml, "r.yaml").unwrap()[..] else {
            panic!("one agent");
        };
        assert_eq!(name, "fixing-specialist");
        assert_eq!(
            fields(change),
            r#"{"roles":["fixing","bug-fixes","patches"],"skills":["debugging","problem-solving"],"maxSessionDuration":90,"responsibilities":"Fix it"}"#
        );
        assert_eq!(fields(&read(json, "r.json").unwrap()[0].1), fields(change));
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
