//! Validation of agents, so that errors appear at configuration time instead of at the first run.

use std::path::Path;

use super::agent::{Agent, Provider};
use super::permissions::Permissions;
use crate::domain::{Problems, Refusal, Text};

/// Names of other actors and senders. An agent with such a name would be confused with them.
const RESERVED: [&str; 5] = ["operator", "router", "anonymous", "dispatcher", "chorus"];

/// Environment variables that Chorus sets for every agent process.
pub const OWN_ENVIRONMENT: [&str; 8] = [
    "CHORUS_URL",
    "CHORUS_TASK_ID",
    "CHORUS_HANDOFF_ID",
    "CHORUS_AGENT",
    "CHORUS_RUN",
    "CHORUS_TOKEN",
    "TRACEPARENT",
    "PATH",
];

/// The limit of arguments, and of environment variables.
const MOST_ARGUMENTS: usize = 1000;

/// The limit of all arguments, or of the whole environment, in bytes. Linux accepts 128 KiB in one argument.
const LARGEST_ARGUMENTS: usize = 100 * 1024;

const LONGEST_TOOLS: usize = 32 * 1024;

/// The limit of a path, a model or a permission mode in bytes.
const LONGEST_WORD: usize = 4 * 1024;

const LONGEST_RESPONSIBILITIES: usize = 4 * 1024;

/// One year.
const MOST_SECONDS: u64 = 365 * 24 * 60 * 60;

impl Agent {
    /// Checks the name of a new agent. Existing agents may keep a reserved name.
    pub fn check_new_name(&self) -> Problems {
        let mut problems = Problems::default();
        let is_it = |word: &&str| self.name.as_str().eq_ignore_ascii_case(word);
        if let Some(word) = RESERVED.into_iter().find(is_it) {
            problems.add("name", format!("{word} is reserved; choose another name"));
        }
        problems
    }

    /// Validates the agent. The caller checks that its spec file exists.
    pub fn check(&self) -> Problems {
        let mut problems = self.check_without_values();
        for name in self.variables_without_value() {
            problems.add("environment", format!("{name} has no value; give one"));
        }
        problems
    }

    /// Validates an agent of an archive, where environment variables need no values.
    pub fn check_without_values(&self) -> Problems {
        let mut problems = Problems::default();
        // Only Markdown files, so that a caller who sets a spec cannot read other files of the data directory.
        let is_spec = Path::new(self.spec_path.as_str())
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case("md"));
        let is_without = self.provider == Provider::Command && self.spec_path.is_blank();
        if !is_spec && !is_without {
            problems.add(
                "specPath",
                format!(
                    "must be a Markdown file below the data directory, such as agents/{}.md",
                    self.name
                ),
            );
        }
        if self.provider == Provider::Command && self.program.is_none() {
            problems.add("program", "is required for the provider command");
        }
        // A relative path would be resolved in the working directory of a task.
        let is_relative = |program: &Text| {
            let path = Path::new(program.as_str());
            path.is_relative() && program.as_str().contains('/')
        };
        if self.program.as_ref().is_some_and(is_relative) {
            problems.add(
                "program",
                "must be an absolute path or the name of a program on PATH",
            );
        }
        for (field, word) in [("program", &self.program), ("model", &self.model)] {
            if word.as_ref().is_some_and(Text::is_blank) {
                problems.add(
                    field,
                    "must not be empty; use null for the provider's default",
                );
            }
        }
        for (field, text, longest) in [
            ("specPath", Some(&self.spec_path), LONGEST_WORD),
            ("allowedTools", Some(&self.allowed_tools), LONGEST_TOOLS),
            ("permissionMode", Some(&self.permission_mode), LONGEST_WORD),
            ("model", self.model.as_ref(), LONGEST_WORD),
            ("program", self.program.as_ref(), LONGEST_WORD),
            (
                "responsibilities",
                Some(&self.responsibilities),
                LONGEST_RESPONSIBILITIES,
            ),
        ] {
            if text.is_some_and(|text| text.as_str().len() > longest) {
                problems.add(field, format!("must not be longer than {longest} bytes"));
            }
        }
        problems
            .0
            .extend(Permissions::of(self).err().unwrap_or_default().0);
        self.check_process(&mut problems);
        for (field, seconds) in [
            ("maxSeconds", self.max_seconds),
            ("idleSeconds", self.idle_seconds),
        ] {
            if seconds.is_some_and(|seconds| !(1..=MOST_SECONDS).contains(&seconds)) {
                problems.add(
                    field,
                    format!("must be 1 to {MOST_SECONDS}; use null for the server's limit"),
                );
            }
        }
        problems
    }

    /// Checks the limits that the operating system sets for a new process.
    fn check_process(&self, problems: &mut Problems) {
        let arguments = self.arguments.iter().map(|text| text.as_str().len());
        let environment = self.environment.0.iter();
        let environment = environment.map(|(name, value)| {
            name.as_str().len() + value.as_ref().map_or(0, |value| value.as_str().len())
        });
        for (field, count, bytes) in [
            ("arguments", self.arguments.len(), arguments.sum::<usize>()),
            ("environment", self.environment.0.len(), environment.sum()),
        ] {
            if count > MOST_ARGUMENTS {
                problems.add(field, format!("must have at most {MOST_ARGUMENTS} entries"));
            }
            if bytes > LARGEST_ARGUMENTS {
                problems.add(
                    field,
                    format!("must have at most {LARGEST_ARGUMENTS} bytes in total"),
                );
            }
        }
        for name in self.environment.0.keys().map(Text::as_str) {
            let is_illegal = |c: char| c == '=' || c.is_whitespace() || c.is_control();
            if name.is_empty() || name.contains(is_illegal) {
                problems.add(
                    "environment",
                    format!("{name:?} is not a valid variable name; use one word without `=`"),
                );
            } else if OWN_ENVIRONMENT.contains(&name) {
                problems.add("environment", format!("{name} is reserved: Chorus sets it"));
            }
        }
    }

    /// Checks a change that a run makes to its own agent: it may lower `maxSessionDuration`, but not raise it.
    pub fn check_own_change(&self, announced: &Self) -> Result<(), Refusal> {
        let raised = self.max_session_duration.filter(|limit| {
            announced
                .max_session_duration
                .is_none_or(|asked| asked > *limit)
        });
        match raised {
            Some(limit) => Err(Refusal::SessionLimitRaised {
                agent: self.name.clone(),
                limit,
            }),
            None => Ok(()),
        }
    }

    /// Lists the JSON keys whose values differ.
    pub fn differing_keys(&self, other: &Self) -> Vec<String> {
        let json = |agent: &Self| serde_json::to_value(agent).expect("an agent is JSON");
        let (mine, others) = (json(self), json(other));
        let keys = mine.as_object().into_iter().flatten();
        keys.filter(|(key, value)| others[key.as_str()] != **value)
            .map(|(key, _)| key.clone())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::change::AgentChange;
    use super::*;

    fn agent(json: serde_json::Value) -> Agent {
        let change: AgentChange = serde_json::from_value(json).unwrap();
        change.into_new("mine".parse().unwrap())
    }

    fn fields(json: serde_json::Value) -> Vec<String> {
        let problems = agent(json).check().0;
        problems.into_iter().map(|problem| problem.field).collect()
    }

    #[test]
    fn errors_of_the_first_run_are_found_early() {
        let nothing: [&str; 0] = [];
        assert_eq!(fields(json!({})), nothing);
        assert_eq!(
            fields(json!({ "provider": "command", "program": "sh" })),
            nothing
        );
        let many: Vec<_> = (0..=MOST_ARGUMENTS).map(|n| n.to_string()).collect();
        let long = |bytes: usize| "x".repeat(bytes + 1);
        for (json, field) in [
            (json!({ "provider": "command" }), "program"),
            (json!({ "provider": "command", "program": " " }), "program"),
            (json!({ "model": "" }), "model"),
            (json!({ "specPath": " " }), "specPath"),
            (json!({ "specPath": "operator.token" }), "specPath"),
            (
                json!({ "provider": "command", "program": "sh", "specPath": "md" }),
                "specPath",
            ),
            (json!({ "maxSeconds": 0 }), "maxSeconds"),
            (json!({ "maxSeconds": u64::MAX }), "maxSeconds"),
            (json!({ "idleSeconds": 0 }), "idleSeconds"),
            (json!({ "arguments": many }), "arguments"),
            (
                json!({ "arguments": [long(LARGEST_ARGUMENTS)] }),
                "arguments",
            ),
            (
                json!({ "environment": { "A": long(LARGEST_ARGUMENTS) } }),
                "environment",
            ),
            (json!({ "environment": { "": "x" } }), "environment"),
            (json!({ "environment": { "A=B": "x" } }), "environment"),
            (json!({ "environment": { "A\nB": "x" } }), "environment"),
            (
                json!({ "environment": { "CHORUS_TOKEN": "x" } }),
                "environment",
            ),
            (
                json!({ "responsibilities": long(LONGEST_RESPONSIBILITIES) }),
                "responsibilities",
            ),
            (
                json!({ "allowedTools": long(LONGEST_TOOLS) }),
                "allowedTools",
            ),
        ] {
            assert_eq!(fields(json), [field]);
        }
    }

    #[test]
    fn a_run_may_lower_its_limit_but_not_raise_it() {
        let limited = |minutes: Option<u32>| agent(json!({ "maxSessionDuration": minutes }));
        for (before, after, is_allowed) in [
            (None, None, true),
            (None, Some(10), true),
            (Some(10), Some(10), true),
            (Some(10), Some(9), true),
            (Some(10), Some(11), false),
            (Some(10), None, false),
        ] {
            let checked = limited(before).check_own_change(&limited(after));
            assert_eq!(checked.is_ok(), is_allowed, "{before:?} {after:?}");
        }
    }

    #[test]
    fn differing_keys_are_json_keys() {
        let one = agent(json!({ "roles": ["testing"], "maxSessionDuration": 3 }));
        let other = agent(json!({ "roles": ["fixing"] }));
        assert_eq!(one.differing_keys(&other), ["roles", "maxSessionDuration"]);
        assert_eq!(one.differing_keys(&one), [""; 0]);
    }
}
